//! What was typed into jobs: lines are judged whole, by the program that reads them, with the
//! lines before that moved it or gave it names.
//!
//! The command that is judged is the job's own with the lines as its input, so that the job's
//! language is whatever its program reads: a shell, Python, SQL, or nothing that runs.

use std::collections::HashMap;

use parking_lot::Mutex;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::jobs::{JobId, JobView, TypedBy};

/// Ends the text in the command that is judged; a line of it ends the judgement, not the job's.
const MARK: &str = "PETASOS_TYPED";
/// So many lines of a job are remembered.
const LINES_MAX: usize = 256;
/// A program is asked for a secret with one of these words.
const SECRETS: [&str; 5] = ["password", "passphrase", "passcode", "pin:", "token:"];
/// Keys that a terminal takes as the end of what was typed: Enter and the end of input.
const ENDS: [char; 3] = ['\n', '\r', '\u{4}'];
/// Keys that change no text: suspend, clear the screen, start and stop output.
const IDLE_KEYS: [char; 4] = ['\u{1a}', '\u{c}', '\u{11}', '\u{13}'];

/// What each job was given so far.
#[derive(Debug, Default)]
pub(super) struct Typed(Mutex<HashMap<JobId, Lines>>);

#[derive(Debug, Default, Clone)]
struct Lines {
    /// Lines that later ones depend on.
    before: Vec<String>,
    /// Lines that the program may not have taken as a whole yet.
    pending: String,
    /// The line that is not ended yet.
    open: String,
    /// Whether a block of lines goes on.
    in_block: bool,
    /// The keys of the terminal may mean something else than they usually do.
    keys_changed: bool,
    /// How often something was typed.
    times: u64,
}

/// How a job was when input for it was judged.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    /// How often it was typed to before.
    times: u64,
    /// Its terminal hid the input.
    hidden: bool,
    view: JobView,
}

impl Typed {
    /// What this input would do, and how the job is now. A line that is not ended does nothing yet;
    /// what is typed while the terminal hides it is judged and never recorded.
    pub(super) fn effects(
        &self,
        job: &JobId,
        view: &JobView,
        input: &Input<'_>,
    ) -> (Effects, Judged) {
        let mut lines = self.0.lock().get(job).cloned().unwrap_or_default();
        let hidden = is_hidden(view);
        let judged = Judged { times: lines.times, hidden, view: view.clone() };
        let effects = if lines.take(view, input) {
            let script = lines.script(view.command.trim());
            Effects::one(Effect::Command { script, cwd: (&view.cwd).into() })
        } else {
            Effects::none()
        };
        (if hidden { effects.and(Effect::HiddenInput) } else { effects }, judged)
    }

    /// Notes what is typed, nothing of what the terminal hid. Not when something else was typed
    /// since this was judged: together they may be a line that nobody judged.
    pub(super) fn note(&self, job: &JobId, judged: &Judged, input: &Input<'_>) -> bool {
        let mut jobs = self.0.lock();
        let lines = jobs.entry(job.clone()).or_default();
        if lines.times != judged.times {
            return false;
        }
        lines.times += 1;
        if judged.hidden {
            lines.open.clear();
            return true;
        }
        let goes_on = |text: &str| is_shell(&judged.view.command) && !unfinished(text).is_empty();
        if lines.take(&judged.view, input) && !goes_on(&lines.pending) {
            lines.settle();
        }
        true
    }
}

/// What is given to a job.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input<'a> {
    /// Text and keys, as they are.
    Keys(&'a str),
    /// A line and Enter.
    Line(&'a str),
    /// The end of all input.
    End,
}

impl Lines {
    /// Takes input; says whether the program can have read a whole line.
    fn take(&mut self, view: &JobView, input: &Input<'_>) -> bool {
        let (text, end) = match *input {
            Input::Keys(text) => (text, ""),
            Input::Line(text) => (text, "\n"),
            Input::End if self.open.is_empty() => return false,
            Input::End => ("", "\n"),
        };
        self.keys_changed |= ["stty", "bind"].iter().any(|word| view.command.contains(word));
        let mut ended = false;
        for key in text.chars().chain(end.chars()) {
            ended |= self.press(key, view.typed_by != TypedBy::Pipe && !self.keys_changed);
        }
        ended
    }

    /// One key; says whether it ended a line.
    fn press(&mut self, key: char, on_terminal: bool) -> bool {
        match key {
            '\n' => return self.end_line(),
            key if on_terminal && ENDS.contains(&key) => return self.end_line(),
            key if on_terminal && IDLE_KEYS.contains(&key) => {}
            '\u{8}' | '\u{7f}' if on_terminal => drop(self.open.pop()),
            // Interrupting a program ends its line and what it still waited for.
            '\u{3}' if on_terminal => {
                self.open.clear();
                self.pending.clear();
            }
            '\u{15}' if on_terminal => self.open.clear(),
            // Other keys move within the line or bring back another one: the text is not known
            // then, and is judged as such.
            key => self.open.push(key),
        }
        false
    }

    fn end_line(&mut self) -> bool {
        let line = std::mem::take(&mut self.open);
        let is_blank = line.trim().is_empty();
        self.keys_changed |= line.contains("stty") || line.contains("bind");
        self.pending.push_str(&line);
        self.pending.push('\n');
        // An empty line is an answer, unless it ends a block.
        !is_blank || self.pending.trim().contains('\n')
    }

    /// The command that does what the job would do with these lines.
    fn script(&self, command: &str) -> String {
        let before: String = self.before.iter().flat_map(|line| [line, "\n"]).collect();
        // A block that goes on is judged as if it ended here.
        let rest = if is_shell(command) { unfinished(&self.pending) } else { String::new() };
        let text = format!("{before}{}{rest}", self.pending);
        if text.contains(MARK) || command.contains(MARK) {
            return text;
        }
        if command.contains('\n') || command.contains("<<") {
            return format!("{{ {command}\n}} <<'{MARK}'\n{text}{MARK}");
        }
        format!("{command} <<'{MARK}'\n{text}{MARK}")
    }

    /// The lines were taken: what later ones depend on is kept.
    fn settle(&mut self) {
        for line in std::mem::take(&mut self.pending).lines() {
            let keeps = changes_state(line) || self.in_block;
            let trimmed = line.trim_end();
            let opens = trimmed.ends_with([':', '{', '(', '\\']);
            let is_inner = line.starts_with([' ', '\t']);
            self.in_block = keeps && (opens || self.in_block && (is_inner || !ends_block(trimmed)));
            if keeps && self.before.len() < LINES_MAX {
                self.before.push(line.to_owned());
            }
        }
    }
}

fn ends_block(line: &str) -> bool {
    line.is_empty() || line.starts_with(['}', ')']) || !line.starts_with([' ', '\t'])
}

/// Whether the terminal hides what is typed now, or asks for something that nobody may see.
fn is_hidden(view: &JobView) -> bool {
    let question = view.needs_input.as_deref().unwrap_or_default().to_lowercase();
    view.typed_by == TypedBy::HiddenLine || SECRETS.iter().any(|word| question.contains(word))
}

/// Whether a line moves a program or gives it names that later lines use.
fn changes_state(line: &str) -> bool {
    const WORDS: [&str; 21] = [
        "cd", "pushd", "popd", "alias", "unalias", "export", "declare", "typeset", "function",
        "source", ".", "set", "shopt", "read", "import", "from", "def", "class", "const", "let",
        "var",
    ];
    let mut words = line.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    WORDS.contains(&first) || first.contains('=') || first.contains("()") || second == "="
}

/// Whether the last program of a command is a shell that reads lines.
fn is_shell(command: &str) -> bool {
    const SHELLS: [&str; 7] = ["bash", "sh", "dash", "zsh", "ksh", "ash", "ssh"];
    let last = command.rsplit(['|', ';', '&', '\n']).next().unwrap_or_default();
    let first = last.split_whitespace().find(|word| !word.contains('=')).unwrap_or_default();
    SHELLS.contains(&first.rsplit('/').next().unwrap_or_default())
}

/// What is missing at the end of a shell's lines: the ends of its blocks, quotes and lists.
fn unfinished(text: &str) -> String {
    let mut open: Vec<&str> = Vec::new();
    let mut first = true;
    for word in text.replace(';', " ; ").replace('\n', " \n ").split([' ', '\t']) {
        match word {
            "" => continue,
            "if" if first => open.push("then :; fi"),
            "for" | "while" | "until" | "select" if first => open.push("do :; done"),
            "case" if first => open.push("esac"),
            "then" if first => replace(&mut open, ":; fi"),
            "do" if first => replace(&mut open, ":; done"),
            "fi" | "done" | "esac" | "}" if first => drop(open.pop()),
            word if word == "{" || word.ends_with("(){") => open.push(":; }"),
            _ => {}
        }
        first = matches!(word, "\n" | ";" | "&&" | "||" | "|" | "{" | "then" | "do" | "else" | "!")
            || word.ends_with("()")
            || first && matches!(word, "if" | "while" | "until" | "elif");
    }
    let trimmed = text.trim_end();
    let mut rest = String::new();
    for quote in ['\'', '"'] {
        if text.matches(quote).count() % 2 == 1 {
            rest.push(quote);
        }
    }
    if ["&&", "||", "|", "\\"].iter().any(|end| trimmed.ends_with(end)) {
        rest.push_str("true");
    }
    for end in open.iter().rev() {
        rest.push('\n');
        rest.push_str(end);
    }
    if rest.is_empty() { rest } else { format!("{rest}\n") }
}

fn replace<'a>(open: &mut [&'a str], end: &'a str) {
    if let Some(last) = open.last_mut() {
        *last = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_goes_on_is_known_by_what_it_lacks() {
        for (text, rest) in [
            ("echo a\n", ""),
            ("echo if for do\n", ""),
            ("for n in a b; do\n", "\n:; done\n"),
            ("for n in a b; do\n  echo $n\ndone\n", ""),
            ("if true\n", "\nthen :; fi\n"),
            ("if true; then\necho x\n", "\n:; fi\n"),
            ("f() {\n", "\n:; }\n"),
            ("f() {\n rm x\n}\n", ""),
            ("while read x; do if true; then\n", "\n:; fi\n:; done\n"),
            ("echo 'a\n", "'\n"),
            ("make &&\n", "true\n"),
        ] {
            assert_eq!(unfinished(text), rest, "{text:?}");
        }
    }

    #[test]
    fn the_last_program_tells_the_language() {
        for (command, shell) in [
            ("bash", true),
            ("A=1 /bin/sh -i", true),
            ("stty -echo; bash --norc", true),
            ("python3 -i", false),
            ("bash | tee x", false),
        ] {
            assert_eq!(is_shell(command), shell, "{command}");
        }
    }
}
