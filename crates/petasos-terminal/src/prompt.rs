//! Tells when a program waits for somebody to type.
//!
//! It is a guess from what a person would see: an unfinished last line that asks, input that is
//! not shown, or a program that has taken the whole screen. A wrong guess costs a look, not work.

use std::time::Duration;

/// How long a terminal must be quiet before its last line counts as a question.
pub(crate) const QUIET: Duration = Duration::from_millis(400);

/// Words that end a question.
const ENDINGS: &[&str] =
    &["?", "$", ":", "[y/n]", "(y/n)", "(yes/no)", "(end)", "--more--", "continue", "key"];

/// Whether a line ends like a prompt. Signs that progress is drawn with count only where progress
/// has them not: `host%` and not `45%`, `mysql>` and not `==>`, `[default]` and not `[##  ]`.
fn ends_like_a_prompt(line: &str) -> bool {
    let mut signs = line.chars().rev();
    let (last, before) = (signs.next(), signs.next());
    match last {
        Some('%') => !before.is_none_or(|sign| sign.is_ascii_digit() || sign.is_whitespace()),
        Some('>') => !before.is_some_and(|sign| matches!(sign, '=' | '-' | '#')),
        Some('#') => !before.is_some_and(|sign| matches!(sign, '#' | '=' | '-' | '.')),
        Some(']') => {
            let inside = line.rsplit('[').next().unwrap_or_default();
            inside.chars().any(char::is_alphabetic)
        }
        // A shell or a language that waits for the rest.
        Some('.') => line == "...",
        _ => ENDINGS.iter().any(|ending| line.ends_with(ending)),
    }
}

/// What the terminal looks like to a person.
#[derive(Debug, Clone, Default)]
pub(crate) struct Screen {
    full: bool,
}

impl Screen {
    /// Looks at raw output for a program that takes or leaves the whole screen.
    pub(crate) fn see(&mut self, bytes: &[u8]) {
        // Most output has no escape at all, and looking for one is a hundred times faster.
        if !bytes.contains(&b'\x1b') {
            return;
        }
        let last = |needle: &[u8]| bytes.windows(needle.len()).rposition(|window| window == needle);
        match (last(b"\x1b[?1049h"), last(b"\x1b[?1049l")) {
            (None, None) => {}
            (taken, left) => self.full = taken > left,
        }
    }

    /// What the program asks, when it seems to.
    pub(crate) fn question(&self, last_line: &str, echoes: bool) -> Option<String> {
        if self.full {
            return Some("a program that fills the screen waits for keys".to_owned());
        }
        let line = last_line.rsplit(['\r', '\n']).next().unwrap_or_default();
        let asked = line.trim();
        if asked.is_empty() {
            return None;
        }
        let lower = asked.to_lowercase();
        let asks = !echoes || ends_like_a_prompt(&lower);
        asks.then(|| asked.chars().take(200).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_from_progress() {
        let rows = [
            ("Password: ", true, true),
            (">>> ", true, true),
            ("Proceed? [y/N] ", true, true),
            ("Are you sure (yes/no)? ", true, true),
            ("Enter passphrase for key", false, true),
            ("compiling crate 3 of 9", true, false),
            ("", true, false),
            ("fetching 20% of it", true, false),
            ("done.", true, false),
            ("Downloading 45%", true, false),
            ("Installing...", true, false),
            ("[==>  ]", true, false),
            ("[####......]", true, false),
            ("[3/10]", true, false),
            ("#######", true, false),
            ("=====>", true, false),
            ("host% ", true, true),
            ("root@host:~# ", true, true),
            ("mysql> ", true, true),
            ("... ", true, true),
            ("Name [default] ", true, true),
        ];
        for (line, echoes, expected) in rows {
            let asked = Screen::default().question(line, echoes).is_some();
            assert_eq!(asked, expected, "{line:?}");
        }
    }

    #[test]
    fn a_program_that_takes_the_screen_waits() {
        let mut screen = Screen::default();
        screen.see(b"\x1b[?1049h\x1b[2J~");
        assert!(screen.question("", true).is_some());
        screen.see(b"\x1b[?1049l");
        assert!(screen.question("", true).is_none());
    }
}
