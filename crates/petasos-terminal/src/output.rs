//! Output on its way to the model: decoded, without escapes, masked, cut in the middle.
//!
//! Everything happens while it streams, so that memory stays flat however much comes. Masking
//! comes before cutting: half a secret would escape the mask.

mod ansi;
mod cap;
mod decode;
mod spill;

use petasos_contract::event::{Event, EventSink};
use petasos_contract::path::HostPath;
use petasos_contract::{CallContext, CallId, Settings};

use petasos_redact::{RedactState, Redactor};

use ansi::Plain;
use cap::HeadTail;
use decode::Utf8;
pub(crate) use spill::Spill;

/// A chunk without a line end is passed on at this size; until then it waits for the rest of its
/// line, which may complete a secret.
const HELD_BYTES_MAX: usize = 64 * 1024;
/// What stays back of such a chunk: longer than any secret with a known shape.
const OVERLAP_BYTES: usize = 8 * 1024;

/// Turns raw bytes into masked, plain text, piece by piece.
#[derive(Debug)]
pub(crate) struct Cleaner {
    utf8: Utf8,
    plain: Plain,
    redactor: std::sync::Arc<Redactor>,
    state: RedactState,
    held: String,
}

impl Cleaner {
    pub(crate) fn new(redactor: std::sync::Arc<Redactor>) -> Self {
        Self {
            utf8: Utf8::default(),
            plain: Plain::default(),
            redactor,
            state: RedactState::default(),
            held: String::new(),
        }
    }

    /// Takes bytes and gives the text that is complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.utf8.decode(bytes, &mut |text| self.plain.strip(text, &mut self.held));
        let ready = match self.held.rfind('\n') {
            Some(end) => end + 1,
            None if self.held.len() > HELD_BYTES_MAX => {
                floor_boundary(&self.held, self.held.len() - OVERLAP_BYTES)
            }
            None => return String::new(),
        };
        let rest = self.held.split_off(ready);
        let ready = std::mem::replace(&mut self.held, rest);
        self.redactor.piece(&ready, &mut self.state).into_owned()
    }

    /// Gives what is left at the end.
    pub(crate) fn finish(&mut self) -> String {
        self.utf8.finish(&mut |text| self.plain.strip(text, &mut self.held));
        let rest = std::mem::take(&mut self.held);
        self.redactor.piece(&rest, &mut self.state).into_owned()
    }

    /// The line that has no end yet, masked: what a prompt looks like.
    pub(crate) fn open_line(&self) -> String {
        self.redactor.piece(&self.held, &mut self.state.clone()).into_owned()
    }
}

/// The greatest character boundary not above `at`.
pub(crate) fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Collects the output of one foreground command.
#[derive(Debug)]
pub(crate) struct Collector {
    cleaner: Cleaner,
    window: HeadTail,
    spill: Spill,
    told: Option<(EventSink, CallId)>,
}

/// What was collected.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) text: String,
    pub(crate) whole: Option<HostPath>,
}

impl Collected {
    /// Of a command that did not run.
    pub(crate) fn nothing() -> Self {
        Self { text: String::new(), whole: None }
    }
}

impl Collector {
    pub(crate) fn new(settings: &Settings, redactor: std::sync::Arc<Redactor>) -> Self {
        Self {
            cleaner: Cleaner::new(redactor),
            window: HeadTail::new(crate::settings::output_chars_max(settings)),
            spill: Spill::new(settings.temp()),
            told: None,
        }
    }

    /// Tells each piece while it comes. A command that prints its environment is not shown live:
    /// what its values hide is known only at the end.
    pub(crate) fn telling(mut self, command: &str, cx: &CallContext) -> Self {
        if !crate::run::prints_environment(command) {
            self.told = Some((cx.events.clone(), cx.call.clone()));
        }
        self
    }

    /// Takes raw bytes.
    pub(crate) async fn push(&mut self, bytes: &[u8]) {
        let text = self.cleaner.push(bytes);
        self.take(text).await;
    }

    async fn take(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        if let Some((events, call)) = &self.told {
            events.emit(|| Event::ToolOutput { call: call.clone(), text: text.clone() });
        }
        if !self.window.overflows_with(&text) {
            self.window.push(text);
            return;
        }
        if !self.spill.is_begun() {
            self.spill.open(&self.window.kept()).await;
        }
        self.spill.write(&text).await;
        self.window.push(text);
    }

    /// The line that has no end yet.
    pub(crate) fn open_line(&self) -> String {
        self.cleaner.open_line()
    }

    /// What was collected.
    pub(crate) async fn finish(mut self) -> Collected {
        let rest = self.cleaner.finish();
        self.take(rest).await;
        let whole = self.spill.close().await;
        Collected { text: self.window.text(whole.as_ref()), whole }
    }
}

/// What a terminal of somebody else printed, as the model sees the output of our own commands:
/// without escapes, masked, cut in the middle. Beside it the file with all of it, when it was cut.
pub async fn cleaned(text: &str, settings: &Settings) -> (String, Option<HostPath>) {
    let mut collector = Collector::new(settings, Redactor::of(settings));
    collector.push(text.as_bytes()).await;
    let collected = collector.finish().await;
    (collected.text, collected.whole)
}

#[cfg(test)]
mod tests;
