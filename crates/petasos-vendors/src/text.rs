//! Text cut to a length, encoded for an address, compared by likeness.

/// How alike two names must be to be offered in place of each other.
const LIKENESS: f64 = 0.6;

/// At most so many characters; what was cut is marked.
pub fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A part of an address: everything but letters, digits and `-_.~` is escaped.
pub fn encoded(text: &str) -> String {
    let mut coded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            coded.push(char::from(byte));
        } else {
            let digit = |half: u8| {
                char::from_digit(u32::from(half), 16).unwrap_or('0').to_ascii_uppercase()
            };
            coded.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    coded
}

/// The query of an address, from pairs that have a value.
pub fn query<'a>(pairs: impl IntoIterator<Item = (&'a str, Option<String>)>) -> String {
    let mut query = String::new();
    for (name, value) in pairs {
        if let Some(value) = value {
            query.push(if query.is_empty() { '?' } else { '&' });
            query.push_str(name);
            query.push('=');
            query.push_str(&encoded(&value));
        }
    }
    query
}

/// The names that are most like a wanted one, the best first.
pub fn alike<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let score = |name: &str| {
        let name = name.to_lowercase();
        let tail = name.rsplit('.').next().unwrap_or(&name).to_owned();
        let own = wanted.rsplit('.').next().unwrap_or(&wanted);
        let inside = !own.is_empty() && (tail.contains(own) || own.contains(tail.as_str()));
        let alike = strsim::jaro_winkler(&wanted, &name);
        if inside { alike + 1.0 } else { alike }
    };
    let mut scored: Vec<(f64, &str)> = names.into_iter().map(|name| (score(name), name)).collect();
    scored.retain(|(score, _)| *score >= LIKENESS);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(most).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_letters_and_escaped_by_bytes() {
        assert_eq!(cut("grün", 3), "grü…");
        assert_eq!(cut("grün", 4), "grün");
        assert_eq!(encoded("a/ü ~"), "a%2F%C3%BC%20~");
        assert_eq!(query([("a", Some("1 2".to_owned())), ("b", None)]), "?a=1%202");
    }

    #[test]
    fn the_likest_name_comes_first() {
        let names = ["light.kitchen", "light.kitchen_table", "lock.door"];
        assert_eq!(alike("light.kitchn", names, 1), ["light.kitchen"]);
        assert!(alike("zzz", names, 3).is_empty());
    }
}
