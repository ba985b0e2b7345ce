//! What a program is given when it starts: its arguments, by the names that languages
//! have for them.

use super::evaluate::{Reader, Value};
use super::scan::Token;

impl Reader<'_> {
    /// `sys.argv[1]`, `$ARGV[0]`, `shift`: what the program was given.
    pub(super) fn given_argument(
        &self,
        name: &str,
        last: &str,
        at: usize,
    ) -> Option<(Value, usize)> {
        let arguments = self.given.as_ref()?;
        let value = |position: usize| {
            arguments.get(position).map_or(Value::Unknown, |arg| Value::Text(arg.text.clone()))
        };
        if self.loose && name == "shift" {
            return Some((value(0), at + 1));
        }
        // `ARGV.join(" ")`: all of them in one text.
        if last == "join" && (name == "ARGV.join" || name.ends_with("argv.join")) {
            let words: Vec<&str> = arguments.iter().map(|arg| arg.text.as_str()).collect();
            return Some((Value::Text(words.join(" ")), at + 4));
        }
        let first = match last.trim_start_matches(['$', '@']) {
            "argv" => 1,
            "ARGV" if self.loose => 0,
            // The first one of AWK is its own name.
            "ARGV" => 1,
            "slice" if name.ends_with("argv.slice") => 1,
            _ => return None,
        };
        let all = |from: usize| {
            Value::List(arguments.iter().skip(from).map(|arg| arg.text.clone()).collect())
        };
        match (self.tokens.get(at + 1), self.tokens.get(at + 2)) {
            (Some(Token::Sign('[')), Some(Token::Number(number))) => {
                let position = number.parse::<usize>().ok()?.checked_sub(first)?;
                // Behind the bracket that closes it.
                if self.tokens.get(at + 3) == Some(&Token::Sign(':')) {
                    return Some((all(position), at + 5));
                }
                Some((value(position), at + 4))
            }
            (Some(Token::Sign('(')), Some(Token::Number(number))) if last == "slice" => {
                Some((all(number.parse::<usize>().ok()?.saturating_sub(1)), at + 4))
            }
            (Some(Token::Sign('[' | '.')), _) => None,
            _ if last != "slice" => Some((all(0), at + 1)),
            _ => None,
        }
    }
}
