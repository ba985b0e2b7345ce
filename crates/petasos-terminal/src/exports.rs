//! What a shell left at its end: its directory and the output of `export -p`, in the quoting of
//! whichever shell it was.

use petasos_contract::environment::{Exports, Session};
use petasos_contract::path::TargetPath;

/// Variables that say something about one shell and nothing about the session.
const OF_ONE_SHELL: &[&str] = &["_", "SHLVL", "PWD", "TERM", "PETASOS_RUN"];
/// What our own variables in a shell begin with.
const OURS: &str = "__p";

/// Reads what a shell left, against what it was given.
pub(crate) fn session(left: &[u8], given: &Exports) -> Option<Session> {
    let text = String::from_utf8_lossy(left);
    let start = ["\ndeclare -", "\nexport "].iter().filter_map(|word| text.find(word)).min();
    let (cwd, rest) = match start {
        Some(at) => text.split_at_checked(at)?,
        None => (text.trim_end_matches(['\n', '\r']), ""),
    };
    let cwd = cwd.trim_end_matches('\r');
    let mut exports = exported(rest);
    let counts = |name: &str| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        !OF_ONE_SHELL.contains(&name) && !name.starts_with(OURS) && name.chars().all(plain)
    };
    // A shell that told nothing was cut short; it has not unset everything.
    let told = !exports.is_empty();
    let gone = |name: &&String| told && counts(name) && !exports.contains_key(*name);
    let unset = given.keys().filter(gone).cloned().collect();
    exports.retain(|name, value| counts(name) && given.get(name) != Some(value));
    let cwd = cwd.starts_with('/').then(|| TargetPath::new(cwd));
    Some(Session { cwd, exports, unset })
}

/// The variables in the output of `export -p` of any shell. Arrays and names without a value are
/// left out.
pub(crate) fn exported(text: &str) -> Exports {
    let mut exports = Exports::new();
    let mut rest = text.trim_start_matches(['\n', '\r']);
    while let Some((head, tail)) = rest.split_once(' ') {
        let body = match head {
            "declare" => tail.split_once(' ').map_or("", |(_, body)| body),
            "export" => tail,
            _ => break,
        };
        let end = body.find(['=', '\n']).unwrap_or(body.len());
        let (name, after) = body.split_at_checked(end).unwrap_or((body, ""));
        let (value, after) = match after.strip_prefix('=') {
            Some(word) => unquoted(word),
            None => (None, after),
        };
        if let Some(value) = value {
            exports.insert(name.trim().to_owned(), value);
        }
        rest = after.split_once('\n').map_or("", |(_, next)| next);
    }
    exports
}

/// One word of a shell without its quotes, up to the end of its line; `None` for an array.
fn unquoted(text: &str) -> (Option<String>, &str) {
    if text.starts_with('(') {
        return (None, text);
    }
    let mut value = Vec::new();
    let mut rest = text;
    loop {
        let mut characters = rest.chars();
        match characters.next() {
            None | Some('\n') => return (String::from_utf8(value).ok(), rest),
            Some('\'') => {
                let Some((inside, after)) = characters.as_str().split_once('\'') else {
                    return (None, "");
                };
                value.extend_from_slice(inside.as_bytes());
                rest = after;
            }
            Some('"') => rest = until_quote(characters.as_str(), &mut value, '"'),
            Some('$') if characters.as_str().starts_with('\'') => {
                rest = escaped(characters.as_str().trim_start_matches('\''), &mut value);
            }
            Some('\\') => {
                push(&mut value, characters.next());
                rest = characters.as_str();
            }
            other => {
                push(&mut value, other);
                rest = characters.as_str();
            }
        }
    }
}

fn push(value: &mut Vec<u8>, character: Option<char>) {
    let mut bytes = [0; 4];
    if let Some(character) = character {
        value.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
    }
}

fn until_quote<'a>(text: &'a str, value: &mut Vec<u8>, quote: char) -> &'a str {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => push(value, characters.next()),
            other if other == quote => break,
            other => push(value, Some(other)),
        }
    }
    characters.as_str()
}

/// The inside of `$'…'`.
fn escaped<'a>(text: &'a str, value: &mut Vec<u8>) -> &'a str {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' => break,
            '\\' => {
                let Some(kind) = characters.next() else { break };
                let plain = match kind {
                    'a' => 7,
                    'b' => 8,
                    'E' | 'e' => 27,
                    'f' => 12,
                    'n' => 10,
                    'r' => 13,
                    't' => 9,
                    'v' => 11,
                    '0'..='7' => {
                        let mut number = kind.to_digit(8).unwrap_or(0);
                        for _ in 0..2 {
                            let mut ahead = characters.clone();
                            let Some(digit) = ahead.next().and_then(|next| next.to_digit(8)) else {
                                break;
                            };
                            number = number * 8 + digit;
                            characters = ahead;
                        }
                        u8::try_from(number & 0xff).unwrap_or(b'?')
                    }
                    other => {
                        push(value, Some(other));
                        continue;
                    }
                };
                value.push(plain);
            }
            other => push(value, Some(other)),
        }
    }
    characters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shells_quoting_is_read() {
        let bash = "/tmp\ndeclare -x A=\"1\"\ndeclare -x N=$'a\\nb\\t\\'\\001'\n\
                    declare -x B=\"say \\\"hi\\\" \\$x\"\ndeclare -x U\ndeclare -ax L=([0]=\"x\")\n";
        let posix = "/tmp\nexport A='1'\nexport N='a\nb\t'\"'\"'\u{1}'\nexport B='say \"hi\" $x'\n\
                     export U\n";
        let other = "/tmp\nexport A=1\nexport N='a\nb\t'\\''\u{1}'\nexport B='say \"hi\" $x'\n";
        let given = [("A", "1"), ("GONE", "x"), ("SHLVL", "1")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        for text in [bash, posix, other] {
            let session = session(text.as_bytes(), &Exports::from(given.clone())).unwrap();
            assert_eq!(session.cwd, Some(TargetPath::new("/tmp")), "{text}");
            assert_eq!(session.unset, ["GONE"], "{text}");
            let expected = [("B", "say \"hi\" $x"), ("N", "a\nb\t'\u{1}")];
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(session.exports, Exports::from(expected), "{text}");
        }
    }
}
