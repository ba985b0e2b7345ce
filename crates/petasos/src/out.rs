//! The only printer: plain lines for people, JSON for scripts, colour where it is welcome.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::ask::Look;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Notify;

use crate::report::Report;

/// Whether the reader of standard output went away (`| head`).
static UNREAD: AtomicBool = AtomicBool::new(false);
/// Wakes whoever has to know it.
static LEFT: Notify = Notify::const_new();

/// Where and how to print.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Out {
    reader: Reader,
    colour: bool,
}

/// Who reads what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A person.
    Person,
    /// A script.
    Script,
}

/// How a piece of text stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A heading or a name.
    Bold,
    /// Of less importance.
    Faint,
    /// Good.
    Good,
    /// Worth a look.
    Warn,
    /// Bad.
    Bad,
}

#[expect(clippy::unused_self, reason = "who prints asks the printer, whatever it needs for it")]
impl Out {
    /// Prints for scripts or for people; colour only to a terminal that wants it.
    pub(crate) fn new(reader: Reader, colour_wanted: bool) -> Self {
        Self { reader, colour: colour_wanted && io::stdout().is_terminal() }
    }

    /// Whether a script reads this.
    pub(crate) fn is_json(self) -> bool {
        self.reader == Reader::Script
    }

    /// How a question to the person marks its places.
    pub(crate) fn look(self) -> Look {
        if self.colour { Look::Colour } else { Look::Plain }
    }

    /// One line.
    pub(crate) fn line(self, text: impl AsRef<str>) {
        let text = text.as_ref();
        match petasos_tui::flow::columns().filter(|_| !self.is_json()) {
            Some(columns) => print(&format!("{}\n", petasos_tui::flow::folded(text, columns))),
            None => print(&format!("{text}\n")),
        }
    }

    /// A piece of output as it comes, without an end of line.
    pub(crate) fn piece(self, text: &str) {
        print(text);
    }

    /// Several lines at once.
    pub(crate) fn text(self, text: &str) {
        if !text.is_empty() {
            self.line(text.trim_end_matches('\n'));
        }
    }

    /// A value for scripts, on one line when it is piped and indented for a terminal.
    pub(crate) fn value(self, value: &impl Serialize) {
        let text = if io::stdout().is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        match text {
            // A string of it must not get an end of line.
            Ok(text) => print(&format!("{text}\n")),
            Err(error) => self.report(&Report::new(format!("cannot print the result: {error}"))),
        }
    }

    /// An error: on standard error for people, as an object on standard output for scripts.
    pub(crate) fn report(self, report: &Report) {
        if self.is_json() {
            let value: Value = report.to_json();
            self.line(value.to_string());
        } else {
            self.remark(report.to_string());
        }
    }

    /// Whether nobody reads what is printed any more: whatever would go on for ever ends then.
    pub(crate) fn is_unread(self) -> bool {
        UNREAD.load(Ordering::Acquire)
    }

    /// Waits until nobody reads what is printed.
    pub(crate) async fn unread(self) {
        while !self.is_unread() {
            LEFT.notified().await;
        }
    }

    /// A pause for somebody who reads along at a terminal; scripts and pipes wait for nothing.
    pub(crate) async fn pace(self, time: Duration) {
        if !self.is_json() && io::stdout().is_terminal() {
            tokio::time::sleep(time).await;
        }
    }

    /// A remark beside the output, on standard error.
    pub(crate) fn remark(self, text: impl AsRef<str>) {
        let text = format!("{}\n", text.as_ref());
        // Nobody has to read remarks.
        _ = is_written(&mut io::stderr().lock(), &text);
    }

    /// The text in a style, when colour is welcome.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => "1",
            Style::Faint => "2",
            Style::Good => "32",
            Style::Warn => "33",
            Style::Bad => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// A reader that went away is no error of ours. The rest is not printed, but the command goes on to
/// its end: its exit code is read by others.
fn print(text: &str) {
    if !UNREAD.load(Ordering::Acquire) && !is_written(&mut io::stdout().lock(), text) {
        UNREAD.store(true, Ordering::Release);
        LEFT.notify_one();
    }
}

/// Whether there was a reader. Output that does not arrive for any other reason is never taken for
/// a success.
fn is_written(to: &mut impl Write, text: &str) -> bool {
    let Err(error) = to.write_all(text.as_bytes()).and_then(|()| to.flush()) else { return true };
    if error.kind() == io::ErrorKind::BrokenPipe {
        return false;
    }
    // Where even this cannot be written, the exit code is all that is left.
    writeln!(io::stderr(), "error: the output cannot be written: {error}").unwrap_or_default();
    std::process::exit(1);
}
