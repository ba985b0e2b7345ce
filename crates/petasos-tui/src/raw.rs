//! The terminal hands over keys as they are pressed, for as long as the chat lives.
//!
//! Composer and key reader each set and restore the mode of the terminal around their own time.
//! Between the two, a terminal that goes back to whole lines would echo what is typed and turn the
//! Enter key into another one; held here, there is no such moment.

use std::io::{self, stdin};

use rustix::termios::{InputModes, LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Gives the terminal its former mode back when dropped.
#[derive(Debug)]
pub(crate) struct Raw {
    before: Termios,
    held: Termios,
}

impl Raw {
    /// No echo, no whole lines, no signals by keys; output stays as it was.
    pub(crate) fn hold() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut held = before.clone();
        held.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        held.input_modes -= InputModes::ICRNL | InputModes::INLCR | InputModes::IGNCR;
        tcsetattr(stdin(), OptionalActions::Now, &held)?;
        Ok(Self { before, held })
    }

    /// The terminal as it was, for somebody else; [`Raw::take_back`] ends that.
    pub(crate) fn lend(&self) {
        // A terminal that is gone has no mode to change.
        tcsetattr(stdin(), OptionalActions::Now, &self.before).unwrap_or_default();
    }

    /// Keys as they are pressed, again.
    pub(crate) fn take_back(&self) {
        tcsetattr(stdin(), OptionalActions::Now, &self.held).unwrap_or_default();
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone has no mode to restore.
        tcsetattr(stdin(), OptionalActions::Now, &self.before).unwrap_or_default();
    }
}
