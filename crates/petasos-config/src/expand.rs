//! `${NAME}` and `${env:NAME}` inside a value, filled in from the variables of the snapshot.
//!
//! A name that is not set stays as written, so that it is seen rather than turned into nothing.

/// A text with its references filled in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expanded {
    pub(crate) text: String,
    /// The variables that went in.
    pub(crate) used: Vec<String>,
    /// The names that are not set.
    pub(crate) missing: Vec<String>,
}

/// Fills in a text; `None` when it has no reference.
pub(crate) fn expand<'a>(text: &str, lookup: impl Fn(&str) -> Option<&'a str>) -> Option<Expanded> {
    if !text.contains("${") {
        return None;
    }
    let mut found = Expanded { text: String::new(), used: Vec::new(), missing: Vec::new() };
    let mut seen = false;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        found.text.push_str(before);
        let Some((inner, tail)) = after.split_once('}').filter(|(inner, _)| is_reference(inner))
        else {
            found.text.push_str("${");
            rest = after;
            continue;
        };
        seen = true;
        let name = inner.strip_prefix("env:").unwrap_or(inner);
        if let Some(value) = lookup(name) {
            found.text.push_str(value);
            found.used.push(name.to_owned());
        } else {
            found.text.push_str("${");
            found.text.push_str(inner);
            found.text.push('}');
            found.missing.push(name.to_owned());
        }
        rest = tail;
    }
    found.text.push_str(rest);
    seen.then_some(found)
}

fn is_reference(inner: &str) -> bool {
    let name = inner.strip_prefix("env:").unwrap_or(inner);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text, how many went in, how many are missing.
    type Found = Option<(&'static str, usize, usize)>;

    #[test]
    fn references_are_filled_in_and_unset_ones_stay() {
        let lookup = |name: &str| match name {
            "A" => Some("one"),
            "EMPTY" => Some(""),
            _ => None,
        };
        let cases: [(&str, Found); 9] = [
            ("plain", None),
            ("$A", None),
            ("${A}", Some(("one", 1, 0))),
            ("x${env:A}y${A}", Some(("xoneyone", 2, 0))),
            ("${EMPTY}.", Some((".", 1, 0))),
            ("${NOPE}-${A}", Some(("${NOPE}-one", 1, 1))),
            ("${A", None),
            ("${}", None),
            ("${a-b}${${A}", Some(("${a-b}${one", 1, 0))),
        ];
        for (text, expected) in cases {
            let found = expand(text, lookup);
            let shown = found.as_ref().map(|f| (f.text.as_str(), f.used.len(), f.missing.len()));
            assert_eq!(shown, expected, "{text}");
        }
    }
}
