//! A started program: its output as steps, its input and its control as separate hands.
//!
//! Three parts, because they are used at the same time: output must be read while input is
//! written to a program that does not read it, and either may be cut short by a kill.

use std::sync::Arc;
use std::time::Duration;

use super::{EnvError, Exports, Size};
use crate::BoxFuture;
use crate::path::TargetPath;

/// A started program.
pub trait Process: Send {
    /// Its process number where it runs, when it has one.
    fn pid(&self) -> Option<u32>;

    /// What happens next; output is appended to `into`. Dropping the future loses nothing.
    ///
    /// [`Step::Exited`] and [`Step::Closed`] each come once, in either order: a grandchild may
    /// hold the pipe long after the program is gone.
    fn next<'a>(&'a mut self, into: &'a mut Vec<u8>) -> BoxFuture<'a, Result<Step, EnvError>>;

    /// The hand that writes its input; `None` after the first time, or without open input.
    fn input(&mut self) -> Option<Box<dyn Input>>;

    /// The hand that ends it.
    fn control(&self) -> Arc<dyn Control>;

    /// The confinement it really has, in words: `off`, `workspace (landlock)`.
    fn confinement(&self) -> &str;

    /// All output that was read is safe elsewhere, up to this mark. A place that holds output back
    /// for a later program lets go of it.
    fn settle(&mut self, _mark: u64) -> Result<(), EnvError> {
        Ok(())
    }

    /// The last mark, whichever program set it.
    fn settled(&self) -> Option<u64> {
        None
    }
}

/// What happens next with a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Bytes were appended.
    Output,
    /// Bytes of error output were appended (only when asked to be apart).
    Errors,
    /// The program itself has ended; descendants may live.
    Exited(Exit),
    /// Nobody can write output any more.
    Closed,
}

/// How a program ended, as the system saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// The code or the signal.
    pub ending: Ending,
    /// Where its shell was at the end and what it exported, when it told.
    pub session: Option<Session>,
    /// How many of its descendants still live.
    pub survivors: u32,
}

/// The code or the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It returned.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
}

impl Ending {
    /// The number that a shell would show.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// What a shell leaves for the next command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session {
    /// The directory it was in.
    pub cwd: Option<TargetPath>,
    /// What it exported that it was not given, or not with this value.
    pub exports: Exports,
    /// What it was given and no longer has.
    pub unset: Vec<String>,
}

/// Writes a program's input.
pub trait Input: Send {
    /// Writes all of it; waits while the program does not read.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Ends the input.
    fn close(&mut self) -> BoxFuture<'_, Result<(), EnvError>>;
}

/// Ends a program and decides over its tree. Cheap to share.
pub trait Control: Send + Sync {
    /// TERM to the whole tree, KILL after the grace; comes back when the tree is verified empty.
    fn kill(&self, grace: Duration) -> BoxFuture<'_, Result<(), EnvError>>;

    /// Lets the tree outlive the call and this program: it has become a job. Gives the handle by
    /// which `Environment::find` knows it again, where the place can do that.
    fn keep(&self) -> BoxFuture<'_, Result<Option<String>, EnvError>>;

    /// Comes back when nothing of the tree lives.
    fn emptied(&self) -> BoxFuture<'_, ()>;

    /// Changes the size of its pseudo-terminal.
    fn resize(&self, size: Size) -> BoxFuture<'_, Result<(), EnvError>>;

    /// Whether its terminal shows what is typed; a password prompt does not.
    fn echoes(&self) -> bool {
        true
    }

    /// Whether its terminal takes whole lines and hides them, as for a password. Line editors hide
    /// single keys, which they show themselves.
    fn hides_input(&self) -> bool {
        false
    }

    /// The living processes of the tree, where the place can tell.
    fn pids(&self) -> Vec<u32>;
}
