//! Scripts of `sed`, cut into commands: which text they run, which files they write,
//! what they put in place of what. Not an interpreter.

/// One command of a script that matters here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `s/from/to/flags`.
    Replace { from: String, to: String, flags: String },
    /// `e command`.
    Run(String),
    /// `w file`.
    Write(String),
    /// Anything else; what it prints is not followed.
    Other,
}

/// Files that a script writes.
pub(crate) fn written(script: &str) -> Vec<String> {
    steps(script)
        .into_iter()
        .filter_map(|step| match step {
            Step::Write(path) => Some(path.trim().to_owned()),
            Step::Replace { flags, .. } => {
                flags.split_once("w ").map(|(_, path)| path.trim().to_owned())
            }
            Step::Run(_) | Step::Other => None,
        })
        .filter(|path| !path.is_empty())
        .collect()
}

/// The commands of a script, addresses and braces taken off.
pub(crate) fn steps(script: &str) -> Vec<Step> {
    let mut reader = Reader { letters: script.chars().peekable() };
    let mut found = Vec::new();
    while reader.skip_to_command() {
        let Some(sign) = reader.letters.next() else { break };
        found.push(match sign {
            's' => {
                let from = reader.delimited();
                let (mark, to) = (from.0, reader.until(from.0));
                let flags = reader.flags();
                if mark == '\0' { Step::Other } else { Step::Replace { from: from.1, to, flags } }
            }
            'y' => {
                let (mark, _) = reader.delimited();
                reader.until(mark);
                Step::Other
            }
            'e' => Step::Run(reader.line()),
            'w' | 'W' => Step::Write(reader.line()),
            'a' | 'i' | 'c' | 'r' | 'R' | '#' | ':' | 'b' | 't' | 'T' => {
                reader.line();
                Step::Other
            }
            _ => Step::Other,
        });
    }
    found
}

struct Reader<'s> {
    letters: std::iter::Peekable<std::str::Chars<'s>>,
}

impl Reader<'_> {
    /// Past separators, braces and addresses; `false` at the end of the script.
    fn skip_to_command(&mut self) -> bool {
        while let Some(letter) = self.letters.peek().copied() {
            match letter {
                ' ' | '\t' | '\n' | ';' | '{' | '}' | ',' | '!' | '~' | '+' | '$' | '0'..='9' => {
                    self.letters.next();
                }
                '/' => {
                    self.letters.next();
                    self.until('/');
                    while self.letters.next_if(|flag| matches!(flag, 'I' | 'M')).is_some() {}
                }
                '\\' => {
                    self.letters.next();
                    let mark = self.letters.next().unwrap_or('/');
                    self.until(mark);
                }
                _ => return true,
            }
        }
        false
    }

    /// The delimiter that comes next, and the text up to the one after it.
    fn delimited(&mut self) -> (char, String) {
        let mark = self.letters.next().unwrap_or('\0');
        (mark, self.until(mark))
    }

    /// Text up to `mark`, escaped marks taken as they are meant.
    fn until(&mut self, mark: char) -> String {
        let mut text = String::new();
        while let Some(letter) = self.letters.next() {
            match letter {
                _ if letter == mark => break,
                '\\' => match self.letters.next() {
                    Some(next) if next == mark => text.push(next),
                    Some('n') => text.push('\n'),
                    Some(next) => {
                        text.push('\\');
                        text.push(next);
                    }
                    None => break,
                },
                _ => text.push(letter),
            }
        }
        text
    }

    fn flags(&mut self) -> String {
        let mut text = String::new();
        while let Some(letter) = self.letters.next_if(char::is_ascii_alphanumeric) {
            text.push(letter);
            if letter == 'w' {
                text.push_str(&self.line());
                break;
            }
        }
        text
    }

    /// The rest of the line, without the blanks in front.
    fn line(&mut self) -> String {
        let mut text = String::new();
        while let Some(letter) = self.letters.next_if(|letter| *letter != '\n') {
            text.push(letter);
        }
        if text.starts_with(' ') { text } else { format!(" {text}") }.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Step, steps, written};

    #[test]
    fn addresses_and_neighbours_do_not_hide_a_command() {
        let replace = |from: &str, to: &str, flags: &str| Step::Replace {
            from: from.to_owned(),
            to: to.to_owned(),
            flags: flags.to_owned(),
        };
        assert_eq!(steps("1!d;s/.*/ls/e"), [Step::Other, replace(".*", "ls", "e")]);
        assert_eq!(steps("/a/,$ s|x/y|z|g"), [replace("x/y", "z", "g")]);
        assert_eq!(steps("$e rm x"), [Step::Run(" rm x".to_owned())]);
    }

    #[test]
    fn written_files_are_found_in_commands_and_flags() {
        assert_eq!(written("w /etc/motd"), [" /etc/motd"].map(|path| path.trim().to_owned()));
        assert_eq!(written("s/a/b/w /etc/hosts"), ["/etc/hosts"]);
        assert!(written("s/w /x/").is_empty());
    }
}
