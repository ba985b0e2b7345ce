//! Questions that a command puts to the person who typed it, on standard error, answered on
//! standard input.
//!
//! Without a terminal nobody is asked: whoever needs an answer then takes it from a flag.

use std::io::{self, BufRead as _, IsTerminal as _};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::out::Out;
use crate::report::Report;

/// Whether somebody can be asked.
pub(crate) fn somebody_is_there(out: Out) -> bool {
    !out.is_json() && io::stdin().is_terminal()
}

/// One typed line; empty when the person gave up.
pub(crate) fn line(out: Out, question: &str) -> Result<String, Report> {
    out.remark(question);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// One typed line that the terminal does not show; empty when the person gave up.
pub(crate) fn unseen(out: Out, question: &str) -> Result<String, Report> {
    out.remark(question);
    let stdin = io::stdin();
    let before = tcgetattr(&stdin).map_err(io::Error::from)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Flush, &silent).map_err(io::Error::from)?;
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    // The terminal is put back whatever came of it.
    tcsetattr(&stdin, OptionalActions::Now, &before).map_err(io::Error::from)?;
    read?;
    Ok(line.trim().to_owned())
}

/// Yes or no; only a clear yes is one.
pub(crate) fn confirm(out: Out, question: &str) -> Result<bool, Report> {
    let answer = line(out, &format!("{question} [y/N]"))?;
    Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}
