//! Passwords for `sudo`: where one comes from, and how it reaches the command.
//!
//! Only a `sudo` that is a command word counts, never text that mentions it. A password is typed
//! into the command's input; it is never part of the command and never shown.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::environment::{Environment, Isolation, Launch, Program, Step};
use petasos_contract::terminal::{Passwords, SudoNote};
use petasos_contract::{CallContext, Secret, SessionId, wait};

/// How long a person has to type.
const ASK_FOR: Duration = Duration::from_secs(45);
/// How long `sudo -n true` may take.
const PROBE_FOR: Duration = Duration::from_secs(3);

/// Passwords that people typed, by session.
#[derive(Debug, Default)]
pub(crate) struct Sudo(Mutex<HashMap<SessionId, Secret>>);

/// Where a password came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Setting,
    Person,
}

/// A command made ready for `sudo`.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) script: String,
    /// The lines to be typed, before any other input.
    pub(crate) typed: Vec<u8>,
    pub(crate) password: Option<(Secret, Origin)>,
}

impl Sudo {
    /// Drops the password of a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.0.lock().remove(session);
    }

    /// Makes a command ready; unchanged when it has no `sudo` or no password is to be had.
    pub(crate) async fn prepare(
        &self,
        script: String,
        environment: &dyn Environment,
        passwords: Option<&dyn Passwords>,
        cx: &CallContext,
    ) -> Prepared {
        let places = command_words(&script);
        let plain = |script| Prepared { script, typed: Vec::new(), password: None };
        if places.is_empty() {
            return plain(script);
        }
        let Some((password, origin)) = self.password(environment, passwords, cx).await else {
            return plain(script);
        };
        let line = format!("{}\n", password.expose());
        Prepared {
            typed: line.repeat(places.len()).into_bytes(),
            script: rewritten(&script, &places),
            password: Some((password, origin)),
        }
    }

    async fn password(
        &self,
        environment: &dyn Environment,
        passwords: Option<&dyn Passwords>,
        cx: &CallContext,
    ) -> Option<(Secret, Origin)> {
        if let Some(variable) = cx.settings.variable("SUDO_PASSWORD") {
            return Some((variable.value.clone(), Origin::Setting));
        }
        if let Some(known) = self.0.lock().get(&cx.session).cloned() {
            return Some((known, Origin::Person));
        }
        if environment.facts().isolation == Isolation::Host && needs_none(environment, cx).await {
            return None;
        }
        let asked = passwords.filter(|_| cx.attended)?.ask("[sudo] password", cx);
        let typed =
            wait::until(Instant::now() + ASK_FOR, "a sudo password", asked).await.ok()??;
        if typed.expose().is_empty() {
            return None;
        }
        self.0.lock().insert(cx.session.clone(), typed.clone());
        Some((typed, Origin::Person))
    }

    /// Reads in the output whether the password was taken.
    pub(crate) fn judge(
        &self,
        output: &str,
        used: Option<Origin>,
        cx: &CallContext,
    ) -> Option<SudoNote> {
        let refused =
            ["Sorry, try again", "incorrect password attempt", "no password was provided"];
        let needed = ["a password is required", "a terminal is required to read the password"];
        if refused.iter().any(|text| output.contains(text)) {
            return Some(match used {
                Some(Origin::Person) => {
                    self.0.lock().remove(&cx.session);
                    SudoNote::CacheCleared
                }
                Some(Origin::Setting) | None => SudoNote::Refused,
            });
        }
        let says_sudo = output.contains("sudo");
        (says_sudo && needed.iter().any(|text| output.contains(text))).then_some(SudoNote::Needed)
    }
}

/// Whether `sudo` works without a password right now.
async fn needs_none(environment: &dyn Environment, cx: &CallContext) -> bool {
    let argv = ["/usr/bin/sudo", "-n", "true"].map(str::to_owned).into();
    let launch = Launch::of(Program::Argv(argv), environment.facts().temp.clone());
    let probe = async {
        let mut process = environment.spawn(launch, cx).await.ok()?;
        let mut ignored = Vec::new();
        loop {
            match process.next(&mut ignored).await.ok()? {
                Step::Exited(exit) => return Some(exit.ending.code() == 0),
                Step::Output | Step::Errors | Step::Closed => ignored.clear(),
            }
        }
    };
    let probed = wait::until(Instant::now() + PROBE_FOR, "sudo -n true", probe).await;
    probed.ok().flatten().unwrap_or(false)
}

/// The byte ranges of every `sudo` that is a command word.
fn command_words(script: &str) -> Vec<std::ops::Range<usize>> {
    let mut words = Vec::new();
    // Most have none, and some are long.
    if !script.contains("sudo") {
        return words;
    }
    let mut at_command = true;
    let mut characters = script.char_indices().peekable();
    while let Some((start, character)) = characters.next() {
        match character {
            ' ' | '\t' => {}
            ';' | '|' | '&' | '(' | '{' | '\n' | '!' | '`' => at_command = true,
            '#' => while characters.next_if(|(_, next)| *next != '\n').is_some() {},
            '<' | '>' | ')' | '}' => at_command = character != '<' && character != '>',
            _ => {
                let (end, quoted) = word_end(character, start, &mut characters);
                let word = script.get(start..end).unwrap_or_default();
                let is_sudo = word == "sudo" || word.ends_with("/sudo");
                if at_command && is_sudo && !quoted {
                    words.push(start..end);
                }
                at_command = at_command && stays_at_command(word);
            }
        }
    }
    words
}

/// Consumes the rest of a word; says where it ends and whether any of it was quoted.
fn word_end(
    first: char,
    start: usize,
    characters: &mut std::iter::Peekable<std::str::CharIndices<'_>>,
) -> (usize, bool) {
    let mut end = start + first.len_utf8();
    let mut quote = matches!(first, '\'' | '"').then_some(first);
    let mut quoted = quote.is_some() || first == '\\';
    let mut escaped = first == '\\';
    while let Some((at, next)) = characters.peek().copied() {
        if quote.is_none() && !escaped && " \t\n;|&()<>".contains(next) {
            break;
        }
        characters.next();
        end = at + next.len_utf8();
        match (quote, next) {
            _ if escaped => escaped = false,
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None | Some('"'), '\\') => (escaped, quoted) = (true, true),
            (None, '\'' | '"') => (quote, quoted) = (Some(next), true),
            _ => {}
        }
    }
    (end, quoted)
}

/// Words after which a command still comes.
fn stays_at_command(word: &str) -> bool {
    let assignment = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    });
    let keyword = ["if", "then", "else", "elif", "do", "while", "until", "time", "env", "nohup"];
    assignment || keyword.contains(&word)
}

fn rewritten(script: &str, places: &[std::ops::Range<usize>]) -> String {
    let mut text = String::with_capacity(script.len() + places.len() * 8);
    let mut from = 0;
    for place in places {
        text.push_str(script.get(from..place.end).unwrap_or_default());
        text.push_str(" -S -p ''");
        from = place.end;
    }
    text.push_str(script.get(from..).unwrap_or_default());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_command_words_are_given_a_password() {
        let rows = [
            ("sudo ls", "sudo -S -p '' ls"),
            ("a && sudo b | sudo c", "a && sudo -S -p '' b | sudo -S -p '' c"),
            ("FOO=1 /usr/bin/sudo x", "FOO=1 /usr/bin/sudo -S -p '' x"),
            ("if true; then sudo x; fi", "if true; then sudo -S -p '' x; fi"),
            ("echo $(sudo id)", "echo $(sudo -S -p '' id)"),
            ("echo sudo", "echo sudo"),
            ("echo 'sudo ls'; grep \"sudo\" x", "echo 'sudo ls'; grep \"sudo\" x"),
            ("# sudo\nls", "# sudo\nls"),
            ("pseudo x", "pseudo x"),
        ];
        for (script, expected) in rows {
            assert_eq!(rewritten(script, &command_words(script)), expected);
        }
    }
}
