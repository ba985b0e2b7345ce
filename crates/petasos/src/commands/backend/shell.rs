//! `petasos backend shell`: a person's own shell in a place.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::process::ExitCode;

use clap::Args;
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_contract::environment::{
    EnvError, Environments as _, Launch, Process, Size, Stdin, Step,
};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::io::AsyncReadExt as _;

use super::{configured, own_place};
use crate::command::Session;
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Shell {
    /// The backend (default: the configured one)
    name: Option<String>,
}

impl Shell {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let host = session.host.get()?;
        let terminal =
            OpenOptions::new().read(true).write(true).open("/dev/tty").map_err(|_| {
                Report::new("a shell needs a terminal, and there is none")
                    .hint("`petasos term COMMAND` runs one command without it")
            })?;
        let name = self.name.unwrap_or_else(|| configured(host).to_owned());
        let mut cx = host.call_context(Surface::Cli, SessionId::new("backend-shell"));
        // The configured place is the one that commands see; any other is only visited.
        if name != configured(host) {
            cx.task = own_place(host, &name, true)?;
        }
        let size = tcgetwinsize(&terminal)
            .map_or(Size::USUAL, |size| Size { rows: size.ws_row, columns: size.ws_col });
        let code = host.wait(async {
            let place = host.terminal().of(&cx).await?;
            let cwd = place.facts().cwd.clone();
            let script = "command -v bash >/dev/null && exec bash -i; exec sh -i";
            let mut launch = Launch::shell(script, cwd);
            (launch.pty, launch.stdin) = (Some(size), Stdin::Open);
            let process = place.spawn(launch, &cx).await?;
            let raw = Raw::new(terminal)?;
            let code = bridge(process).await;
            drop(raw);
            for error in host.terminal().close_places().await {
                tracing::warn!(%error, "a place is not cleared away");
            }
            code
        })?;
        let code = code.map_err(|error| Report::new(error.to_string()).code("terminal"))?;
        // A reader of the keyboard may still wait for a key that nobody will press.
        std::process::exit(code)
    }
}

/// Bytes both ways until the shell ends.
async fn bridge(mut process: Box<dyn Process>) -> Result<i32, EnvError> {
    let mut input = process.input();
    let (mut keys, mut typed, mut bytes) = (tokio::io::stdin(), [0; 4096], Vec::new());
    loop {
        bytes.clear();
        tokio::select! {
            step = process.next(&mut bytes) => match step? {
                Step::Output | Step::Errors => {
                    let mut screen = io::stdout().lock();
                    // A screen that is gone ends the shell by its own way.
                    if screen.write_all(&bytes).and_then(|()| screen.flush()).is_err() {
                        return Ok(1);
                    }
                }
                Step::Exited(exit) => return Ok(exit.ending.code()),
                Step::Closed => {}
            },
            read = keys.read(&mut typed), if input.is_some() => match (read, &mut input) {
                (Ok(count), Some(hand)) if count > 0 => {
                    hand.write(typed.get(..count).unwrap_or_default()).await?;
                }
                (_, Some(hand)) => {
                    hand.close().await?;
                    input = None;
                }
                (_, None) => {}
            },
        }
    }
}

/// The person's terminal hands every key through, until this is dropped.
struct Raw {
    terminal: std::fs::File,
    before: Termios,
}

impl Raw {
    fn new(terminal: std::fs::File) -> Result<Self, EnvError> {
        let failed =
            |error: rustix::io::Errno| EnvError::Settings(format!("this terminal: {error}"));
        let before = tcgetattr(terminal.as_fd()).map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(terminal.as_fd(), OptionalActions::Now, &raw).map_err(failed)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Err(error) = tcsetattr(self.terminal.as_fd(), OptionalActions::Now, &self.before) {
            tracing::warn!(%error, "the terminal stays as the shell left it; `reset` helps");
        }
    }
}
