//! What a person types becomes a query that FTS5 cannot misread, and the words to mark.

/// A query in FTS5's own language, with the words it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Terms {
    /// For the index of words.
    Words {
        /// The expression.
        expression: String,
        /// What to mark in snippets.
        marks: Vec<String>,
    },
    /// For the index of three-letter pieces.
    Pieces {
        /// The expression.
        expression: String,
        /// What to mark in snippets.
        marks: Vec<String>,
    },
    /// Too short for either: looked for as it is.
    Plain(String),
    /// Nothing to look for.
    Nothing,
}

/// Reads a query: phrases in quotes stay together, `AND`, `OR` and `NOT` between terms are kept,
/// a trailing `*` means a beginning, everything else is plain text.
pub(crate) fn read(query: &str) -> Terms {
    let query = query.trim();
    if query.chars().any(is_dense) {
        return dense(query);
    }
    let mut expression = String::new();
    let mut marks = Vec::new();
    let mut joint: Option<&str> = None;
    for piece in pieces(query) {
        match piece {
            Piece::Joint(word) => joint = Some(word),
            Piece::Term { text, prefix } => {
                if !text.chars().any(char::is_alphanumeric) {
                    continue;
                }
                if !expression.is_empty() {
                    expression.push(' ');
                    expression.push_str(joint.unwrap_or("AND"));
                    expression.push(' ');
                }
                joint = None;
                expression.push_str(&quoted(&text));
                if prefix {
                    expression.push('*');
                }
                marks.push(text);
            }
        }
    }
    if expression.is_empty() {
        return if query.is_empty() { Terms::Nothing } else { Terms::Plain(query.to_owned()) };
    }
    Terms::Words { expression, marks }
}

enum Piece<'a> {
    Joint(&'a str),
    Term { text: String, prefix: bool },
}

fn pieces(query: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    for (at, part) in query.split('"').enumerate() {
        // Between the first and second quote, the third and fourth, … stands a phrase.
        if at % 2 == 1 && query.matches('"').count() > at {
            found.push(Piece::Term { text: part.to_owned(), prefix: false });
            continue;
        }
        for word in part.split_whitespace() {
            if matches!(word, "AND" | "OR" | "NOT") {
                found.push(Piece::Joint(word));
            } else {
                let text = word.trim_end_matches('*');
                found.push(Piece::Term { text: text.to_owned(), prefix: text.len() < word.len() });
            }
        }
    }
    found
}

/// Scripts that are written without spaces have no words for the index of words.
fn is_dense(letter: char) -> bool {
    matches!(u32::from(letter),
        0x2E80..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

fn dense(query: &str) -> Terms {
    let words: Vec<String> =
        query.split(|c: char| c.is_whitespace() || c == '"').map(str::to_owned).collect();
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| word.chars().count() < 3) {
        return Terms::Plain(query.replace('"', ""));
    }
    let expression = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" AND ");
    Terms::Pieces { expression, marks: words }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(query: &str) -> String {
        match read(query) {
            Terms::Words { expression, .. } => expression,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_query_cannot_be_misread() {
        for (query, expected) in [
            ("lamp", "\"lamp\""),
            ("lamp timer", "\"lamp\" AND \"timer\""),
            ("\"turn off\" lamp", "\"turn off\" AND \"lamp\""),
            ("lamp OR light", "\"lamp\" OR \"light\""),
            ("OR lamp NOT", "\"lamp\""),
            ("pre-commit v1.2", "\"pre-commit\" AND \"v1.2\""),
            ("deploy*", "\"deploy\"*"),
            ("stray \" quote", "\"stray\" AND \"quote\""),
            ("(a:b) ^x +", "\"(a:b)\" AND \"^x\""),
        ] {
            assert_eq!(words(query), expected, "{query}");
        }
        assert_eq!(read("  "), Terms::Nothing);
        assert_eq!(read("+-"), Terms::Plain("+-".to_owned()));
        assert!(matches!(read("データベース"), Terms::Pieces { .. }));
        assert_eq!(read("日本"), Terms::Plain("日本".to_owned()));
    }
}
