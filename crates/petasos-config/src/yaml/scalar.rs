//! What a written word means: a switch, a number, nothing, or itself.
//!
//! The rules are those of the YAML 1.1 writer that existing homes were written with (`yes`, `on`,
//! `010`), so that a file means here what it meant there. Whoever expects text asks for the text.

use serde_json::{Number, Value};

/// A word as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// Neither quoted nor a block, so that it may mean more than its text.
    pub(crate) plain: bool,
    /// Written as a block of lines after `|` or `>`.
    pub(crate) block: bool,
}

impl Scalar {
    /// A word that may mean more than its text.
    pub(crate) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), plain: true, block: false }
    }

    /// A text that means itself.
    pub(crate) fn text(text: String) -> Self {
        Self { text, plain: false, block: false }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// The value, when nothing says what is expected.
    pub(crate) fn value(&self) -> Value {
        if !self.plain {
            return Value::String(self.text.clone());
        }
        if self.is_null() {
            return Value::Null;
        }
        if let Some(on) = yaml_switch(&self.text) {
            return Value::Bool(on);
        }
        number(&self.text).map_or_else(|| Value::String(self.text.clone()), Value::Number)
    }

    /// What it is called in a message.
    pub(crate) fn shape(&self) -> &'static str {
        match self.value() {
            Value::Null => "nothing",
            Value::Bool(_) => "a switch",
            Value::Number(_) => "a number",
            _ => "text",
        }
    }
}

fn yaml_switch(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// A number, when the text is one.
pub(crate) fn number(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    integer(digits, negative).or_else(|| float(digits, negative))
}

fn integer(digits: &str, negative: bool) -> Option<Number> {
    let clean = digits.replace('_', "");
    let radix = |prefix: &str, radix| {
        let rest = clean.strip_prefix(prefix)?;
        rest.bytes()
            .all(|b| b.is_ascii_hexdigit())
            .then(|| u64::from_str_radix(rest, radix).ok())?
    };
    let size = if clean == "0" {
        0
    } else if let Some(found) = radix("0x", 16).or_else(|| radix("0b", 2)) {
        found
    } else if let Some(found) = radix("0o", 8).or_else(|| radix("0", 8)) {
        found
    } else if clean.starts_with(|c: char| ('1'..='9').contains(&c)) {
        clean.bytes().all(|b| b.is_ascii_digit()).then(|| clean.parse().ok())??
    } else {
        return None;
    };
    if negative { Some(0_i64.checked_sub_unsigned(size)?.into()) } else { Some(size.into()) }
}

/// With a point, as the old writer has it: `1e3` without one is a name.
fn float(digits: &str, negative: bool) -> Option<Number> {
    let clean = digits.replace('_', "");
    let shaped = clean.contains('.')
        && clean.bytes().any(|b| b.is_ascii_digit())
        && clean.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let size: f64 = shaped.then(|| clean.parse().ok())??;
    Number::from_f64(if negative { -size } else { size })
}

/// Whether every reader takes the text, unquoted, for itself: also the ones with more switches and
/// numbers than ours.
pub(crate) fn is_safe_plain(text: &str) -> bool {
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return false };
    let letters = (first.is_ascii_alphabetic() || matches!(first, '/' | '_'))
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.'));
    let lower = text.to_ascii_lowercase();
    let word = matches!(
        lower.as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" | "null" | "nan" | "inf"
    );
    letters && !word
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_plain_word_means_what_the_old_writer_meant() {
        let cases = [
            ("", json!(null)),
            ("~", json!(null)),
            ("yes", json!(true)),
            ("Off", json!(false)),
            ("y", json!("y")),
            ("n", json!("n")),
            ("180", json!(180)),
            ("-3", json!(-3)),
            ("+7", json!(7)),
            ("1_000", json!(1000)),
            ("010", json!(8)),
            ("0o17", json!(15)),
            ("0x1F", json!(31)),
            ("08", json!("08")),
            ("2.0", json!(2.0)),
            (".5", json!(0.5)),
            ("1.5e+3", json!(1500.0)),
            ("1e3", json!("1e3")),
            ("12:30", json!("12:30")),
            ("1.2.3", json!("1.2.3")),
            ("-", json!("-")),
            (".inf", json!(".inf")),
            ("99999999999999999999", json!("99999999999999999999")),
        ];
        for (text, value) in cases {
            let scalar = Scalar::plain(text);
            assert_eq!(scalar.value(), value, "{text:?}");
        }
    }

    #[test]
    fn a_word_that_some_reader_takes_for_something_else_is_quoted() {
        for word in ["y", "NO", "on", "", "12:30", "010", "-x", "a: b", "a#b", "null", "é", "a b"]
        {
            assert!(!is_safe_plain(word), "{word:?}");
        }
        for word in ["local", "hermes-cli", "/usr/bin/env", "gpt-4.1", "a_b"] {
            assert!(is_safe_plain(word), "{word:?}");
        }
    }
}
