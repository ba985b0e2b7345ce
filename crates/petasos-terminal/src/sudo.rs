//! Passwords for `sudo`: where one comes from, and how it reaches `sudo` and nobody else.
//!
//! On this machine `sudo` asks for one through a helper that we answer (`askpass`), when and only
//! when it needs one. Elsewhere the shell hands the password to `sudo` before the command begins
//! (`ahead`). In neither case is it part of the command, of its input or of what is shown.

mod ahead;
mod askpass;
mod caller;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::environment::{Launch, Program, SandboxLevel};
use petasos_contract::terminal::{Passwords, SudoNote};
use petasos_contract::{CallContext, Secret, SessionId, wait};

pub(crate) use askpass::Askpass;

/// How long a person has to type.
const ASK_FOR: Duration = Duration::from_secs(45);

/// Passwords that people typed, by session.
type Cache = Arc<Mutex<HashMap<SessionId, Secret>>>;

/// What became of the password for one command: nothing until `sudo` got one.
type Given = Arc<Mutex<Option<(Secret, Origin)>>>;

/// Passwords that people typed, and how they are lent.
#[derive(Debug, Default)]
pub(crate) struct Sudo(Cache);

/// Where a password came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Setting,
    Person,
}

/// A command that may call `sudo`.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// What its shell reads before any other input.
    pub(crate) typed: Vec<u8>,
    /// Answers `sudo` for as long as it is held.
    pub(crate) askpass: Option<Askpass>,
    given: Given,
}

impl Prepared {
    /// Hides the password, should a program have shown it.
    pub(crate) fn hide(&self, output: String) -> String {
        match &*self.given.lock() {
            Some((password, _)) if !password.expose().is_empty() => {
                output.replace(password.expose(), petasos_redact::MARK)
            }
            _ => output,
        }
    }
}

impl Sudo {
    /// Drops the password of a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.0.lock().remove(session);
    }

    /// Makes a launch ready; unchanged when it has no `sudo` or no password is to be had.
    pub(crate) async fn prepare(
        &self,
        launch: &mut Launch,
        is_here: bool,
        passwords: Option<Arc<dyn Passwords>>,
        cx: &CallContext,
    ) -> Prepared {
        let calls = matches!(&launch.program, Program::Shell(script) if script.contains("sudo"));
        // Confined programs gain no rights, whatever password they have.
        if !calls || launch.sandbox.level != SandboxLevel::Off {
            return Prepared::default();
        }
        let purse = Purse {
            cache: Arc::clone(&self.0),
            passwords: passwords.filter(|_| cx.attended),
            given: Given::default(),
            cx: cx.clone(),
        };
        if !purse.may_hold_one() {
            return Prepared::default();
        }
        let given = Arc::clone(&purse.given);
        if !is_here {
            return ahead::prepare(launch, purse).await;
        }
        match Askpass::open(purse) {
            Ok(Some(askpass)) => {
                askpass.lend(launch);
                Prepared { askpass: Some(askpass), given, ..Prepared::default() }
            }
            Ok(None) => Prepared::default(),
            Err(error) => {
                tracing::warn!(%error, "sudo cannot ask for a password here");
                Prepared::default()
            }
        }
    }

    /// Reads in the output whether the password was taken.
    pub(crate) fn judge(
        &self,
        output: &str,
        prepared: &Prepared,
        cx: &CallContext,
    ) -> Option<SudoNote> {
        let refused =
            ["Sorry, try again", "incorrect password attempt", "no password was provided"];
        let needed = ["a password is required", "a terminal is required to read the password"];
        let says = |words: &[&str]| words.iter().any(|text| output.contains(text));
        let origin = prepared.given.lock().as_ref().map(|(_, origin)| *origin);
        match origin {
            Some(origin) if says(&refused) => Some(match origin {
                Origin::Person => {
                    self.forget(&cx.session);
                    SudoNote::CacheCleared
                }
                Origin::Setting => SudoNote::Refused,
            }),
            _ => {
                let wants = output.contains("sudo") && (says(&needed) || says(&refused));
                wants.then_some(SudoNote::Needed)
            }
        }
    }
}

/// Where the password of one command is taken from.
#[derive(Clone)]
struct Purse {
    cache: Cache,
    passwords: Option<Arc<dyn Passwords>>,
    given: Given,
    cx: CallContext,
}

impl Purse {
    /// Whether a password could be had at all.
    fn may_hold_one(&self) -> bool {
        self.passwords.is_some()
            || self.cx.settings.variable("SUDO_PASSWORD").is_some()
            || self.cache.lock().contains_key(&self.cx.session)
    }

    /// The password: a setting, what was typed before, or what a person types now.
    async fn password(&self) -> Option<Secret> {
        let found = self.find().await?;
        let password = found.0.clone();
        *self.given.lock() = Some(found);
        Some(password)
    }

    async fn find(&self) -> Option<(Secret, Origin)> {
        if let Some(variable) = self.cx.settings.variable("SUDO_PASSWORD") {
            return Some((variable.value.clone(), Origin::Setting));
        }
        if let Some(known) = self.cache.lock().get(&self.cx.session).cloned() {
            return Some((known, Origin::Person));
        }
        let asked = self.passwords.as_ref()?.ask("[sudo] password", &self.cx);
        let asked = self.cx.pauses.during(asked);
        let typed =
            wait::until(Instant::now() + ASK_FOR, "a sudo password", asked).await.ok()??;
        if typed.expose().is_empty() {
            return None;
        }
        self.cache.lock().insert(self.cx.session.clone(), typed.clone());
        Some((typed, Origin::Person))
    }
}
