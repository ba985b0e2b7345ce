//! Progress for whoever watches: events as JSON lines on standard output, or lines for people on
//! standard error.

use std::sync::{Arc, Mutex, PoisonError};

use petasos_contract::event::{Event, Subscriber};
use petasos_runtime::definitions::Catalogue;
use petasos_runtime::registry::DEFAULT_EMOJI;
use petasos_tui::progress::Progress;

use crate::out::Out;

/// Tells what happens.
pub(super) struct Told {
    out: Out,
    progress: Mutex<Progress>,
}

impl Told {
    /// With the emoji of these tools.
    pub(super) fn new(out: Out, catalogue: Arc<Catalogue>) -> Self {
        let emoji =
            move |tool: &str| catalogue.registry().snapshot().emoji(tool, DEFAULT_EMOJI).to_owned();
        Self { out, progress: Mutex::new(Progress::new(Arc::new(emoji))) }
    }
}

impl Subscriber for Told {
    fn take(&self, event: Event) {
        if self.out.is_json() {
            self.out.line(event.to_json().to_string());
            return;
        }
        let lines = self.progress.lock().unwrap_or_else(PoisonError::into_inner).take(&event);
        for line in lines {
            self.out.remark(line.ansi(self.out.look() == petasos_approval::ask::Look::Colour));
        }
    }
}
