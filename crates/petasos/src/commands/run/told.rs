//! Progress for whoever watches: events as JSON lines on standard output, a picture that moves at a
//! terminal, or plain lines on standard error.

use std::io::{IsTerminal as _, stderr, stdout};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use petasos_approval::ask::Look as Marks;
use petasos_contract::event::{Event, Subscriber};
use petasos_runtime::definitions::Catalogue;
use petasos_runtime::registry::DEFAULT_EMOJI;
use petasos_tui::progress::Progress;
use petasos_tui::{Look, Watch};

use crate::out::Out;

/// Tells what happens.
pub(super) struct Told {
    out: Out,
    shown: Mutex<Shown>,
}

enum Shown {
    Json,
    Lines(Progress),
    Picture(Box<Watch>),
}

impl Told {
    /// With the emoji of these tools, on a terminal that can redraw or cannot.
    pub(super) fn new(out: Out, catalogue: Arc<Catalogue>, dumb: bool) -> Self {
        let emoji =
            move |tool: &str| catalogue.registry().snapshot().emoji(tool, DEFAULT_EMOJI).to_owned();
        let look = Look { colour: out.look() == Marks::Colour, live: !dumb };
        let shown = if out.is_json() {
            Shown::Json
        } else if stdout().is_terminal() {
            Shown::Picture(Box::new(Watch::answering(look, Arc::new(emoji))))
        } else if stderr().is_terminal() && !dumb {
            Shown::Picture(Box::new(Watch::beside(look, Arc::new(emoji))))
        } else {
            Shown::Lines(Progress::new(Arc::new(emoji)))
        };
        Self { out, shown: Mutex::new(shown) }
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
                    self.out.remark(line.ansi(self.out.look() == Marks::Colour));
                }
            }
        }
    }
}
