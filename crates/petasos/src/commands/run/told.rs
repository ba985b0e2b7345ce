//! Progress for whoever watches: events as JSON lines on standard output, a picture that moves at a
//! terminal, or plain lines on standard error.

use std::io::{IsTerminal as _, stderr, stdout};
use std::sync::{Mutex, MutexGuard, PoisonError};

use petasos_contract::event::{Event, Subscriber};
use petasos_tui::progress::Progress;
use petasos_tui::watch::Emoji;
use petasos_tui::{Look, Skin, Watch};

use crate::out::Out;

/// Tells what happens.
pub(super) struct Told {
    out: Out,
    skin: Skin,
    shown: Mutex<Shown>,
}

enum Shown {
    Json,
    Lines(Progress),
    Picture(Box<Watch>),
}

impl Told {
    /// With these signs for tools, on a terminal that looks like this.
    pub(super) fn new(out: Out, emoji: Emoji, look: Look) -> Self {
        let shown = if out.is_json() {
            Shown::Json
        } else if stdout().is_terminal() {
            Shown::Picture(Box::new(Watch::answering(look, emoji)))
        } else if stderr().is_terminal() && look.live {
            Shown::Picture(Box::new(Watch::beside(look, emoji)))
        } else {
            Shown::Lines(Progress::new(emoji))
        };
        Self { out, skin: look.skin, shown: Mutex::new(shown) }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the next frame, where there is a picture.
    pub(super) fn frame(&self) {
        if let Shown::Picture(watch) = &mut *self.shown() {
            watch.draw();
        }
    }

    /// Leaves the terminal to a question, or takes it back.
    pub(super) fn hold(&self, held: bool) {
        if let Shown::Picture(watch) = &mut *self.shown() {
            watch.hold(held);
        }
    }

    /// Everything was told; whether the answer was, too.
    pub(super) fn end(&self) -> bool {
        match &mut *self.shown() {
            Shown::Picture(watch) => {
                watch.end();
                watch.answers()
            }
            Shown::Json | Shown::Lines(_) => false,
        }
    }
}

impl Subscriber for Told {
    fn take(&self, event: Event) {
        match &mut *self.shown() {
            Shown::Json => self.out.line(event.to_json().to_string()),
            Shown::Picture(watch) => watch.take(event),
            Shown::Lines(progress) => {
                for line in progress.take(&event) {
                    self.out.remark(line.ansi(self.skin));
                }
            }
        }
    }
}
