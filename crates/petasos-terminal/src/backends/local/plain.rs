//! Whether a command plainly leaves its shell's exports as they were. Then the shell need not tell
//! them at its end.
//!
//! Only lists and pipes of programs count, with redirections and here-documents. Whatever is not
//! understood at a glance may change the directory or the exports.

use std::iter::Peekable;
use std::str::Chars;

/// Words that are no programs, but for those that change nothing.
#[rustfmt::skip]
const NO_PROGRAMS: &[&str] = &[
    ".", "[[", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen",
    "complete", "compopt", "continue", "coproc", "declare", "dirs", "disown", "do", "done", "elif",
    "else", "enable", "esac", "eval", "exec", "exit", "export", "fc", "fg", "fi", "for", "function",
    "getopts", "hash", "help", "history", "if", "in", "jobs", "let", "local", "logout", "mapfile",
    "popd", "printf", "pushd", "read", "readarray", "readonly", "return", "select", "set", "shift",
    "shopt", "source", "suspend", "then", "time", "times", "trap", "type", "typeset", "ulimit",
    "umask", "unalias", "unset", "until", "wait", "while",
];

/// Whether it only starts programs.
pub(super) fn only_starts_programs(command: &str) -> bool {
    let reader = Reader { rest: command.chars().peekable(), documents: Vec::new() };
    reader.commands().is_some()
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    /// The lines that end the documents which begin on the next line.
    documents: Vec<Document>,
}

struct Document {
    end: String,
    /// Nothing in it is expanded.
    is_quoted: bool,
    /// Tabs before a line do not count.
    has_tabs: bool,
}

/// A word without its quotes.
#[derive(Default)]
struct Word {
    text: String,
    is_quoted: bool,
    /// What it comes to is only known to the shell.
    is_expanded: bool,
}

impl Reader<'_> {
    /// Reads to the end; nothing when there is more to it.
    fn commands(mut self) -> Option<()> {
        let mut is_first = true;
        while let Some(&letter) = self.rest.peek() {
            match letter {
                ' ' | '\t' => drop(self.rest.next()),
                '#' => while self.rest.next_if(|next| *next != '\n').is_some() {},
                '\n' => {
                    self.rest.next();
                    self.skip_documents()?;
                    is_first = true;
                }
                ';' | '|' => {
                    self.rest.next();
                    is_first = true;
                }
                '&' => {
                    self.rest.next();
                    // `&>` and `&>>` are redirections.
                    is_first |= self.rest.peek() != Some(&'>');
                }
                '<' | '>' => self.redirection()?,
                '(' | ')' | '!' => return None,
                _ => {
                    let word = self.word()?;
                    // The number before a redirection is no word.
                    let is_number = !word.is_quoted && is_digits(&word.text);
                    if matches!(self.rest.peek(), Some('<' | '>')) {
                        if is_number {
                            continue;
                        }
                        // `{name}>file` puts a number into a variable.
                        if word.text.ends_with('}') {
                            return None;
                        }
                    }
                    if is_first && !word.is_program() {
                        return None;
                    }
                    is_first = false;
                }
            }
        }
        self.documents.is_empty().then_some(())
    }

    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        while let Some(letter) = self.rest.next_if(|next| !" \t\n;|&<>()".contains(*next)) {
            match letter {
                '`' | '\\' => return None,
                '$' => self.dollar(&mut word)?,
                '\'' => {
                    word.is_quoted = true;
                    while let Some(next) = self.rest.next_if(|next| *next != '\'') {
                        word.text.push(next);
                    }
                    self.rest.next()?;
                }
                '"' => {
                    word.is_quoted = true;
                    self.quoted(&mut word)?;
                }
                letter => word.text.push(letter),
            }
        }
        Some(word)
    }

    /// What stands between double quotes.
    fn quoted(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '`' => return None,
                '$' => self.dollar(word)?,
                '\\' => {
                    word.is_expanded = true;
                    word.text.extend(self.rest.next());
                }
                letter => word.text.push(letter),
            }
        }
    }

    /// A plain variable is none of our business; anything else may assign one.
    fn dollar(&mut self, word: &mut Word) -> Option<()> {
        word.is_expanded = true;
        (!matches!(self.rest.peek(), Some('(' | '{' | '[' | '\'' | '"'))).then_some(())
    }

    fn redirection(&mut self) -> Option<()> {
        let mut sign = String::new();
        while let Some(letter) = self.rest.next_if(|next| "<>&|".contains(*next)) {
            sign.push(letter);
        }
        let has_tabs = sign == "<<" && self.rest.next_if_eq(&'-').is_some();
        while self.rest.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
        let target = self.word()?;
        if sign == "<<" {
            let Word { text: end, is_quoted, is_expanded } = target;
            if is_expanded || end.is_empty() {
                return None;
            }
            self.documents.push(Document { end, is_quoted, has_tabs });
        }
        Some(())
    }

    /// The documents that begin here are text.
    fn skip_documents(&mut self) -> Option<()> {
        for document in std::mem::take(&mut self.documents) {
            loop {
                let line: String = self.rest.by_ref().take_while(|next| *next != '\n').collect();
                let shown = if document.has_tabs { line.trim_start_matches('\t') } else { &line };
                if shown == document.end {
                    break;
                }
                let is_text = document.is_quoted || !line.contains(['$', '`', '\\']);
                if !is_text || self.rest.peek().is_none() {
                    return None;
                }
            }
        }
        Some(())
    }
}

impl Word {
    /// Whether it names a program, as the first word of a command.
    fn is_program(&self) -> bool {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./+[:".contains(letter);
        !self.is_quoted
            && !self.is_expanded
            && self.text.chars().all(is_plain)
            && !NO_PROGRAMS.contains(&self.text.as_str())
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_their_redirections_leave_a_shell_alone() {
        for command in [
            "true",
            "ls -la | grep 'x; cd /' > out 2>&1",
            "sleep 0.5 && echo \"$HOME is 'home'\" || /usr/bin/false",
            "cat > gen.py <<'END'\ncd / && export X=1 $(x) `y`\nEND\nwc -c gen.py",
            "cat <<-E > a; ls\n\tplain text\n\tE\n# a comment: cd /\npwd",
            "make -j2 CC=gcc &> log; tail -n 3 log",
            "[ -f a ] && rm a",
            "",
        ] {
            assert!(only_starts_programs(command), "{command}");
        }
    }

    #[test]
    fn whatever_may_change_it_is_not_plain() {
        for command in [
            "cd /tmp",
            "ls; cd /tmp",
            "ls\ncd /tmp",
            "ls | cd /tmp",
            "export X=1",
            "X=1",
            "X=1 make",
            "'cd' /tmp",
            "c\\d /tmp",
            "$x /tmp",
            "eval cd /tmp",
            ". ./env",
            "source env",
            "(cd /tmp)",
            "{ cd /tmp; }",
            "! cd /tmp",
            "if true; then cd /tmp; fi",
            "f() { cd /; }",
            "echo ${HOME:=/x}",
            "echo \"${HOME:=/x}\"",
            "echo $((HOME=1))",
            "echo $(ls)",
            "echo `ls`",
            "printf -v HOME x",
            "read HOME < file",
            "cat <<E\n${HOME:=/x}\nE",
            "cat <<E\nno end",
            "cat <<E\ntext\nE\ncd /tmp",
            "exec ls",
            "echo 'open",
            "cat <(ls)",
            "set -a",
            "time ls",
            "> out cd /tmp",
            "2> out cd /tmp",
            "[[ HOME=5 -eq 5 ]]",
            "echo {HOME}>/dev/null",
            "cat <<\"E\\F\"\nEF\ncd /tmp\nE\\F",
        ] {
            assert!(!only_starts_programs(command), "{command}");
        }
    }
}
