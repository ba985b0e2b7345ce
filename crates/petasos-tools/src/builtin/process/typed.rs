//! What was typed into jobs: lines are judged whole, by the program that reads them, with the
//! lines before that moved it or gave it names.

use std::collections::HashMap;

use parking_lot::Mutex;
use petasos_contract::jobs::{JobId, JobView};

/// Ends the text in the command that is judged; a line of it ends the judgement, not the job's.
const MARK: &str = "PETASOS_TYPED";
/// So many lines of a job are remembered.
const LINES_MAX: usize = 256;
/// A program is asked for a secret with one of these words.
const SECRETS: [&str; 5] = ["password", "passphrase", "passcode", "pin:", "token:"];

/// What each job was given so far.
#[derive(Debug, Default)]
pub(super) struct Typed(Mutex<HashMap<JobId, Lines>>);

#[derive(Debug, Default)]
struct Lines {
    /// Lines that later ones depend on.
    before: Vec<String>,
    /// The line that is not ended yet.
    open: String,
    /// How often something was typed.
    times: u64,
}

impl Typed {
    /// The command that does what this input would, and how often the job was typed to before.
    pub(super) fn script(&self, job: &JobId, view: &JobView, data: &str) -> (Option<String>, u64) {
        let jobs = self.0.lock();
        let known = jobs.get(job);
        (read(known, view, data), known.map_or(0, |lines| lines.times))
    }

    /// Notes what is typed. Not when something else was typed since this was judged: together they
    /// may be a line that nobody judged.
    pub(super) fn note(&self, job: &JobId, data: &str, times: u64) -> bool {
        let mut jobs = self.0.lock();
        let lines = jobs.entry(job.clone()).or_default();
        if lines.times != times {
            return false;
        }
        lines.add(data);
        true
    }
}

/// The command that does what this input would; nothing for keys and for answers that are hidden,
/// which are never shown and never recorded.
fn read(known: Option<&Lines>, view: &JobView, data: &str) -> Option<String> {
    let keys = data.chars().all(|letter| letter.is_control() && letter != '\n');
    let first = known.is_none_or(|lines| lines.times == 0);
    if keys || data.starts_with('\u{1b}') || first && asks_for_secret(view) {
        return None;
    }
    let mut text = String::new();
    if let Some(lines) = known {
        for line in &lines.before {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str(&lines.open);
    }
    text.push_str(data);
    let command = view.command.trim();
    if command.contains('\n') || command.contains("<<") || text.contains(MARK) {
        return Some(text);
    }
    Some(format!("{command} <<'{MARK}'\n{text}\n{MARK}"))
}

impl Lines {
    fn add(&mut self, data: &str) {
        self.times += 1;
        // Interrupting and erasing a line ends it.
        let data = match data.rsplit_once(['\u{3}', '\u{15}']) {
            Some((_, rest)) => {
                self.open.clear();
                rest
            }
            None => data,
        };
        self.open.push_str(data);
        while let Some((line, rest)) = self.open.split_once('\n') {
            let (line, rest) = (line.to_owned(), rest.to_owned());
            if changes_state(&line) && self.before.len() < LINES_MAX {
                self.before.push(line);
            }
            self.open = rest;
        }
    }
}

fn asks_for_secret(view: &JobView) -> bool {
    let question = view.needs_input.as_deref().unwrap_or_default().to_lowercase();
    SECRETS.iter().any(|word| question.contains(word))
}

/// Whether a line moves a shell or gives it names that later lines use.
fn changes_state(line: &str) -> bool {
    const WORDS: [&str; 14] = [
        "cd", "pushd", "popd", "alias", "unalias", "export", "declare", "typeset", "function",
        "source", ".", "set", "shopt", "read",
    ];
    let first = line.split_whitespace().next().unwrap_or_default();
    WORDS.contains(&first) || first.contains('=') || first.contains("()")
}
