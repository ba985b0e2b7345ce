//! What program text prints, where that can be seen in full, and what it hands to a
//! shell that it starts: texts that are written, not run by themselves.

use super::Language;
use super::compute;
use super::evaluate::Value;
use super::scan::Token;
use super::walk::Walker;
use crate::flow::value::{Stream, Taint};
use crate::shell::normalise::UNKNOWN;
use crate::words::lists;

/// Longest text that is followed.
const PRINTED_MAX: usize = 1 << 14;

/// Names that print and do not end the line.
const PLAIN: &str = "sys.stdout.write process.stdout.write $stdout.write STDOUT.write io.write putStr \
    $stdout.print STDOUT.print";

/// Whether a name prints, and whether it ends the line.
fn prints(name: &str, language: Language) -> Option<bool> {
    Some(match (name, language) {
        ("print", Language::Python | Language::Awk | Language::Other) => true,
        ("print", _) | ("printf", Language::Perl | Language::Awk | Language::Php) => false,
        ("say" | "puts" | "console.log" | "println" | "putStrLn" | "IO.puts" | "echo.line", _) => {
            true
        }
        ("echo", Language::Php) => false,
        (name, _) if lists(PLAIN, name) => false,
        ("STDOUT.puts" | "$stdout.puts", _) => true,
        _ => return None,
    })
}

/// Names that write to a process or hand it text.
pub(super) fn feeds(name: &str) -> bool {
    lists(
        "input stdin_data communicate write puts print fwrite fputs end sendline say \
                printf send",
        name.rsplit(['.', '>']).next().unwrap_or_default(),
    )
}

impl Walker<'_, '_, '_> {
    /// Takes note of what a call prints.
    pub(super) fn note_printed(&mut self, name: &str, args: &[Value]) {
        if !self.engine.captured {
            return;
        }
        let Some(line) = prints(name, self.language) else { return };
        let mut text = match args.split_first() {
            // Letters by their codes are there to hide something.
            Some((format, _)) if name == "printf" && format.text().contains("%c") => {
                UNKNOWN.to_string()
            }
            Some((format, rest)) if name == "printf" => {
                compute::formatted(&format.text(), rest).text()
            }
            _ => args.iter().map(Value::text).collect::<Vec<_>>().join(" "),
        };
        if line && !text.ends_with('\n') {
            text.push('\n');
        }
        if self.printed.len() + text.len() <= PRINTED_MAX {
            self.printed.push_str(&text);
        } else {
            self.printed.push(UNKNOWN);
        }
    }

    /// What the text prints: known only when it does nothing but print.
    pub(super) fn printed_stream(&self) -> Stream {
        if self.printed.is_empty() || self.printed.contains(UNKNOWN) {
            return Stream::unknown(Taint::PROGRAM);
        }
        let plain = self.reader.tokens.iter().all(|token| match token {
            Token::Name(name) => {
                prints(name, self.language).is_some()
                    || lists("BEGIN END import use strict", name)
                    || self.reader.constants.contains_key(name)
            }
            Token::Command(_) => false,
            _ => true,
        });
        let taint = if plain { Taint::NONE } else { Taint::PROGRAM.with(Taint::OPAQUE) };
        Stream { text: Some(self.printed.clone()), taint }
    }

    /// Texts that the program writes to what it started.
    pub(super) fn fed(&mut self) -> String {
        let mut text = String::new();
        if !self.engine.charge(self.reader.tokens.len() * 8, self.span) {
            return text;
        }
        for (at, token) in self.reader.tokens.iter().enumerate() {
            let Token::Name(name) = token else { continue };
            if !feeds(name) || text.len() > PRINTED_MAX {
                continue;
            }
            let found =
                self.reader.tokens.iter().skip(at + 1).take(4).find_map(|token| match token {
                    Token::Text(found) => Some(found),
                    _ => None,
                });
            if let Some(found) = found {
                text.push_str(found);
                text.push('\n');
            }
        }
        if self.language == Language::Awk
            && let Some(stdin) = &self.reader.stdin
        {
            text.push_str(stdin);
        }
        text
    }
}

/// Whether a command is nothing but a shell, so that what it reads is what it runs.
pub(super) fn is_bare_shell(command: &str) -> bool {
    let mut words = command.trim_matches('|').split_whitespace();
    let name = words.next().unwrap_or_default();
    lists("sh bash zsh dash ksh ash", name.rsplit('/').next().unwrap_or_default())
        && words.all(|word| matches!(word, "-s" | "-x" | "-e" | "-"))
}
