//! `ssh`: another machine, through the system's own `ssh` and a connection that commands share.
//!
//! The user's ssh configuration, agent, keys, jump hosts and list of known hosts count as they do
//! at the prompt. A command whose connection broke has an unknown outcome and is never run again;
//! the next one gets a new connection.

mod argv;
mod connection;
mod folder;
mod hostkeys;
mod pool;
mod reach;
mod session;
mod target;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::environment::{
    Capability, Ending, EnvError, Environment, Exports, Health, Isolation, Process, Stderr,
};
use petasos_contract::{BoxFuture, Settings};

use crate::backend::{BackendDef, Opening};
use crate::remote::{Carrier, HostPrograms, Order, Profile, Remote, capture, find_program};
use crate::settings::TerminalSettings;
use crate::sync::FileSync;
use connection::no;
use hostkeys::Checking;
use pool::Pool;
use session::Session;
use target::Target;

/// The backend.
pub(super) static BACKEND: BackendDef = BackendDef {
    name: "ssh",
    summary: "another machine, by the system's ssh",
    usable: |settings| {
        Target::of(settings)?;
        program(settings).map(drop)
    },
    reach: Some(|opening| Box::pin(reach::reach(opening))),
    open: |opening| Box::pin(open(opening)),
};

/// How long the other side may take for a small question.
const ANSWER: Duration = Duration::from_secs(15);
/// How long `ssh -G` may take; it asks nobody unless the configuration runs a program.
const QUERY: Duration = Duration::from_secs(10);

fn program(settings: &Settings) -> Result<std::path::PathBuf, String> {
    find_program(settings, &["ssh"])
        .ok_or_else(|| "there is no `ssh` on the search path: install an OpenSSH client".to_owned())
}

async fn open(opening: Opening<'_>) -> Result<Arc<dyn Environment>, EnvError> {
    let settings = opening.settings;
    let target = Target::of(settings).map_err(EnvError::Settings)?;
    let ssh = program(settings).map_err(|why| no(&why))?;
    let terminal = TerminalSettings::of(settings)?;
    let host = HostPrograms::new(opening, Exports::new()).await?;
    let own_list = settings.home().join("ssh_known_hosts");
    let query = plain(argv::query(&ssh, &target));
    let answer = capture(&Here(&host), query, QUERY).await?;
    if answer.code != 0 {
        return Err(no(&trouble::explain(&answer.errors, &target.label())));
    }
    let checking = Checking::of(&String::from_utf8_lossy(&answer.output), &own_list);
    if checking.keeps_own_list() {
        std::fs::create_dir_all(settings.home())
            .map_err(|error| no(&format!("no place to keep host keys: {error}")))?;
    }
    for notice in &checking.notices {
        tracing::warn!(place = %target.label(), "{notice}");
    }
    let label = target.label();
    let pool = Pool::new(host, ssh, target, checking)?;
    let sync = FileSync::of(settings);
    let carrier = Arc::new(Ssh { pool, sync, label: label.clone() });
    let profile = Profile {
        backend: "ssh",
        target: label,
        isolation: Isolation::Apart,
        cwd: terminal.cwd().map(str::to_owned),
        base: Exports::new(),
        capabilities: vec![Capability::Pty, Capability::Stdin, Capability::Detach],
        lifeline: true,
        ahead: true,
    };
    Remote::open(carrier, profile).await
}

/// The way to the machine.
struct Ssh {
    pool: Pool,
    sync: FileSync,
    label: String,
}

impl Carrier for Ssh {
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Box<dyn Process>, EnvError>> {
        Box::pin(async move {
            let seat = self.pool.seat().await?;
            let argv = seat.0.run(order.pty.is_some(), &line(&order));
            let is_terminal = order.pty.is_some();
            let order = Order { argv, variables: Vec::new(), ..order };
            let process = self.pool.host.start(order).await?;
            Ok(Box::new(Session::new(process, seat, &self.label, is_terminal)) as _)
        })
    }

    fn judge<'a>(
        &'a self,
        ending: Ending,
        _noise: &'a str,
    ) -> BoxFuture<'a, Result<Ending, EnvError>> {
        // A broken connection was told apart by the session before it came here.
        Box::pin(async move { Ok(ending) })
    }

    fn revive<'a>(&'a self, why: &'a EnvError) -> BoxFuture<'a, Result<(), EnvError>> {
        // The next start connects anew; when connecting itself just failed there is no hope.
        Box::pin(async move { if self.pool.is_shut_out() { Err(why.clone()) } else { Ok(()) } })
    }

    fn before(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(self.sync.before(self))
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(async move {
            let answer = capture(self, Order::script("exit 0", &[]), ANSWER).await;
            match answer {
                Err(error) => Health::Lost { reason: error.to_string() },
                Ok(answer) if answer.code != 0 => {
                    let reason = format!("its shell ends with {}: {}", answer.code, answer.errors);
                    Health::Lost { reason }
                }
                Ok(_) => {
                    let said = self.pool.said();
                    let unkept = said.into_iter().filter(|said| said.contains("Failed to add"));
                    let troubles = self.pool.checking.notices.iter().cloned().chain(unkept);
                    let troubles: Vec<String> = troubles.chain(self.sync.trouble()).collect();
                    if troubles.is_empty() {
                        return Health::Ready { detail: self.detail() };
                    }
                    Health::Degraded { reason: troubles.join("; ") }
                }
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            self.sync.back(self).await;
            self.pool.close().await;
            Ok(())
        })
    }
}

impl Ssh {
    fn detail(&self) -> String {
        let mut parts = vec![self.label.clone(), self.pool.checking.rule().to_owned()];
        parts.extend(self.pool.said());
        parts.join("; ")
    }
}

/// One line for the login shell there, whatever shell that is. It waits for our program and ends
/// as that did: by itself ssh does not tell which signal ended a program.
fn line(order: &Order) -> String {
    let mut words: Vec<String> =
        order.variables.iter().map(|(name, value)| format!("{name}={}", quote(value))).collect();
    words.extend(order.argv.iter().map(|word| quote(word)));
    format!("{}; exit", words.join(" "))
}

fn quote(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A program of this machine with nothing to read.
fn plain(argv: Vec<String>) -> Order {
    let (variables, stdin) = (Vec::new(), Vec::new());
    Order { argv, variables, stdin, open: false, stderr: Stderr::Apart, pty: None }
}

/// This machine as a target, for asking `ssh` itself something.
struct Here<'a>(&'a HostPrograms);

impl Carrier for Here<'_> {
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Box<dyn Process>, EnvError>> {
        Box::pin(self.0.start(order))
    }

    fn judge<'a>(
        &'a self,
        ending: Ending,
        _noise: &'a str,
    ) -> BoxFuture<'a, Result<Ending, EnvError>> {
        Box::pin(async move { Ok(ending) })
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(async { Health::Ready { detail: String::new() } })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async { Ok(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_login_shell_sees_one_program_and_its_words() {
        let mut order = Order::script("echo \"$1\"", &["it's", ""]);
        assert_eq!(line(&order), r#"sh -c 'echo "$1"' petasos 'it'\''s' ''; exit"#);
        order.variables = vec![("A".to_owned(), "b c".to_owned())];
        assert!(line(&order).starts_with("A='b c' sh "));
    }
}
