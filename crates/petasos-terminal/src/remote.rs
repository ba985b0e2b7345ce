//! A POSIX place reached through something: everything such places share, so that a backend is
//! only a [`Carrier`].
//!
//! One command is one start of one program in the target: a shell that reads its orders from its
//! input, runs the command, and tells in frames with a secret of this call when it began, how it
//! ended, where it stood and what it exported. Nothing here knows docker, ssh or a vendor.

mod boot;
mod capture;
mod channel;
mod control;
mod files;
mod frames;
mod host;
mod jobs;
mod kill;
mod loan;
mod outside;
mod place;
mod probe;
mod process;
mod spare;
mod sweep;

use petasos_contract::BoxFuture;
use petasos_contract::environment::{
    Capability, Ending, EnvError, Exports, Health, Isolation, Process, Size, Stderr,
};

pub(crate) use capture::collect;
pub use capture::{Captured, capture};
pub use channel::{ChannelInput, ChannelProcess, Event};
pub(crate) use host::{HostPrograms, find_program};
pub(crate) use outside::outside;
pub use place::Remote;

/// One program to start in the target.
#[derive(Debug, Clone)]
pub struct Order {
    /// The program and its arguments. Never holds a secret: arguments can be seen from outside.
    pub argv: Vec<String>,
    /// Variables for it that are no secret, to be set by whatever means costs nothing.
    pub variables: Vec<(String, String)>,
    /// What it reads first. May hold secrets.
    pub stdin: Vec<u8>,
    /// Whether input stays open after that, for [`Process::input`]; else it ends there.
    pub open: bool,
    /// Where error output goes. A carrier that cannot keep it apart may join it.
    pub stderr: Stderr,
    /// A pseudo-terminal in the target, of this size.
    pub pty: Option<Size>,
}

impl Order {
    /// A script for `sh`, with its arguments as `$1`, `$2`, … and nothing to read.
    pub fn script(text: &str, arguments: &[&str]) -> Self {
        Self::of_shell("sh", text, arguments)
    }

    /// As [`Order::script`], for this shell.
    pub fn of_shell(shell: &str, text: &str, arguments: &[&str]) -> Self {
        let words = [shell, "-c", text, "petasos"];
        let argv = words.iter().chain(arguments).map(|word| (*word).to_owned()).collect();
        Self {
            argv,
            variables: Vec::new(),
            stdin: Vec::new(),
            open: false,
            stderr: Stderr::Apart,
            pty: None,
        }
    }
}

/// The way into one target. It starts programs there and moves bytes; all else is done by
/// [`Remote`] on top of it.
pub trait Carrier: Send + Sync {
    /// Starts a program. [`EnvError::NotStarted`] only when nothing has run for certain; a way
    /// that broke after that is [`EnvError::Lost`].
    ///
    /// The process gives [`Step::Output`](petasos_contract::environment::Step), `Errors`,
    /// `Closed` and `Exited` with the code of the program (or of the tool that carries it). Its
    /// control ends only the near side: what runs in the target is ended by another start.
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Box<dyn Process>, EnvError>>;

    /// What it means that a command ended without its last word: `exec` in the command and a kill
    /// from outside are its own end; a broken way is [`EnvError::Lost`], outcome unknown. `noise`
    /// is what came on error output beside the command. It may ask the target, not run anything.
    fn judge<'a>(
        &'a self,
        ending: Ending,
        noise: &'a str,
    ) -> BoxFuture<'a, Result<Ending, EnvError>>;

    /// Makes the target reachable again after [`EnvError::NotStarted`]; the start is then tried
    /// again, a few times at most. The error says why there is no hope.
    fn revive<'a>(&'a self, why: &'a EnvError) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move { Err(why.clone()) })
    }

    /// Called before each command, after the first; file synchronisation hangs here.
    fn before(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async { Ok(()) })
    }

    /// A word on an exit code that only the carrier can explain, such as a kill for memory.
    fn remark(&self, _code: i32) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }

    /// Whether the target answers, found out by doing.
    fn health(&self) -> BoxFuture<'_, Health>;

    /// Lets go of the target: removes it, or leaves it for the next time.
    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>>;
}

/// What a backend says about its target.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The backend's name.
    pub backend: &'static str,
    /// Which target, for people: `docker:ab12`.
    pub target: String,
    /// How far from the host.
    pub isolation: Isolation,
    /// Where commands begin; `None` or `~` means the home that the target says it has.
    pub cwd: Option<String>,
    /// Variables that each command gets, secrets among them: they travel by input only.
    pub base: Exports,
    /// What it can do beyond running a command.
    pub capabilities: Vec<Capability>,
    /// Whether a program in the target sees the end of its input when we are gone. Commands then
    /// end with us; without it they are left to the carrier.
    pub lifeline: bool,
    /// Whether a shell for the next command is started ahead.
    pub ahead: bool,
}
