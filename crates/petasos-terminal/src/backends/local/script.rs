//! The text around a command, and what its shell leaves at the end.
//!
//! Measured: a fresh `bash -c` that is handed the variables by `execve` and leaves them through
//! the builtin `export -p` costs a twentieth more than `bash -c true`; reading a snapshot file,
//! or a login shell, costs far more. A kept shell would be faster still, but `exit`, `exec` and
//! parallel calls would each need a way around.

use petasos_contract::environment::{Exports, Session};
use petasos_contract::path::TargetPath;

use crate::keeper::{SCRIPT_FD, STATE_FD};

/// The longest text that one argument may hold is 128 KiB; quoting may make it longer.
const ARGUMENT_BYTES_MAX: usize = 100_000;

/// The text for `bash -c`, and the text it reads when that is too long for an argument.
pub(super) struct Wrapped {
    pub(super) text: String,
    pub(super) apart: Option<Vec<u8>>,
}

/// Wraps a command; `prelude` holds functions, aliases and options of the login files.
pub(super) fn wrap(command: &str, prelude: &str) -> Wrapped {
    // `pwd` and `export` print what survives; a descriptor that the command closed is its choice.
    let leave = format!("{{ builtin pwd; builtin export -p; }} 2>/dev/null >&{STATE_FD}");
    // The trap is for `exit` and `set -e`; the end is for a command that has its own trap.
    let text = format!(
        "{prelude}trap '{{ set +xe; [ \"$__petasos_left\" ] || {leave}; }} 2>/dev/null' EXIT\n\
         eval {}\n\
         {{ __petasos_left=$?; set +xe; {leave}; }} 2>/dev/null\n\
         exit \"$__petasos_left\"\n",
        quote(command)
    );
    if text.len() <= ARGUMENT_BYTES_MAX {
        return Wrapped { text, apart: None };
    }
    Wrapped { text: format!(". /dev/fd/{SCRIPT_FD}"), apart: Some(text.into_bytes()) }
}

/// One word for a shell.
pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Variables that say something about one shell and nothing about the session.
const OF_ONE_SHELL: &[&str] = &["_", "SHLVL", "PWD", "TERM", "__petasos_left"];

/// Reads what a shell left: its directory, then its exports, against what it was given.
pub(super) fn session(left: &[u8], given: &Exports) -> Option<Session> {
    let text = String::from_utf8_lossy(left);
    let start = ["\ndeclare -", "\nexport "].iter().filter_map(|word| text.find(word)).min();
    let (cwd, exports) = match start {
        Some(at) => text.split_at_checked(at)?,
        None => (text.trim_end_matches('\n'), ""),
    };
    let mut exports = exported(exports.strip_prefix('\n').unwrap_or(exports));
    let counts = |name: &str| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        !OF_ONE_SHELL.contains(&name) && name.chars().all(plain)
    };
    // A shell that told nothing was cut short; it has not unset everything.
    let told = !exports.is_empty();
    let gone = |name: &&String| told && counts(name) && !exports.contains_key(*name);
    let unset = given.keys().filter(gone).cloned().collect();
    exports.retain(|name, value| counts(name) && given.get(name) != Some(value));
    let cwd = cwd.starts_with('/').then(|| TargetPath::new(cwd));
    Some(Session { cwd, exports, unset })
}

/// The variables in the output of `export -p`. Arrays and names without a value are left out.
pub(super) fn exported(text: &str) -> Exports {
    let mut exports = Exports::new();
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once(' ') {
        // `declare -x NAME="…"`, or `export NAME="…"` in POSIX mode.
        let body = match head {
            "declare" => tail.split_once(' ').map_or("", |(_, body)| body),
            "export" => tail,
            _ => break,
        };
        let (name, after) = name(body);
        let (value, after) = match after.strip_prefix('=') {
            Some(value) => quoted(value),
            None => (None, after),
        };
        if let Some(value) = value {
            exports.insert(name.to_owned(), value);
        }
        rest = after.split_once('\n').map_or("", |(_, next)| next);
    }
    exports
}

fn name(text: &str) -> (&str, &str) {
    let end = text.find(['=', '\n']).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// A value in double quotes or in `$'…'`; `None` for anything else.
fn quoted(text: &str) -> (Option<String>, &str) {
    if let Some(rest) = text.strip_prefix("$'") {
        return ansi_quoted(rest);
    }
    let Some(rest) = text.strip_prefix('"') else { return (None, text) };
    let mut value = String::new();
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (Some(value), rest.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(characters.next().map(|(_, next)| next)),
            other => value.push(other),
        }
    }
    (None, "")
}

fn ansi_quoted(rest: &str) -> (Option<String>, &str) {
    let mut value = Vec::new();
    let mut characters = rest.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' => {
                let value = String::from_utf8(value).ok();
                return (value, rest.get(at + 1..).unwrap_or_default());
            }
            '\\' => {
                let Some((_, kind)) = characters.next() else { break };
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
                            let digit = characters.peek().and_then(|(_, next)| next.to_digit(8));
                            let Some(digit) = digit else { break };
                            number = number * 8 + digit;
                            characters.next();
                        }
                        u8::try_from(number & 0xff).unwrap_or(0)
                    }
                    other => u8::try_from(other).unwrap_or(b'?'),
                };
                value.push(plain);
            }
            other => {
                let mut bytes = [0; 4];
                value.extend_from_slice(other.encode_utf8(&mut bytes).as_bytes());
            }
        }
    }
    (None, "")
}

/// The text that a login shell runs once, to learn what its files set up.
pub(super) fn survey(files: &[String]) -> String {
    let source = |file: &String| format!("[ -r {0} ] && . {0}\n", quote(file));
    let sources = files.iter().map(source).collect::<Vec<_>>().concat();
    format!(
        "{sources}{{ builtin export -p; printf '\\0'; builtin declare -f; printf '\\0'; \
         builtin alias -p; printf '\\0'; builtin shopt -p; builtin set +o; }} 2>/dev/null \
         >&{STATE_FD}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_come_back_as_they_were() {
        let text = "/tmp/a b\ndeclare -x A=\"1\"\ndeclare -x B=\"say \\\"hi\\\" \\$x \\\\\"\n\
                    declare -ix C=\"2\"\ndeclare -x UNSET\ndeclare -ax L=([0]=\"x\")\n\
                    declare -x N=$'a\\nb\\t\\'\\001'\ndeclare -x M=\"two\nlines\"\n";
        let given = [("A", "0"), ("C", "2"), ("GONE", "x"), ("SHLVL", "1")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let session = session(text.as_bytes(), &Exports::from(given)).unwrap();
        assert_eq!(session.unset, ["GONE"]);
        assert_eq!(session.cwd, Some(TargetPath::new("/tmp/a b")));
        let expected =
            [("A", "1"), ("B", "say \"hi\" $x \\"), ("M", "two\nlines"), ("N", "a\nb\t'\u{1}")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(session.exports, Exports::from(expected));
    }

    #[test]
    fn a_long_command_comes_by_descriptor() {
        assert!(wrap("true", "").apart.is_none());
        assert!(wrap(&"x".repeat(200_000), "").apart.is_some());
    }
}
