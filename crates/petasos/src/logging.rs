//! The program's own log: what the crates tell through `tracing`, in files of the home.
//!
//! `logs/agent.log` has everything from `logging.level` on, `logs/errors.log` warnings and errors.
//! Secrets are masked on the way in. Files are opened with the first line, so that a program with
//! nothing to tell pays a pointer. It shows nothing; that is `petasos logs`.

mod conversation;
mod file;
mod line;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use petasos_contract::Settings;
use petasos_redact::Redactor;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

pub(crate) use self::conversation::Journal;
use self::file::Rolling;

/// The folder in the home.
pub(crate) const FOLDER: &str = "logs";
/// Everything.
pub(crate) const ALL: &str = "agent.log";
/// Warnings and errors.
pub(crate) const ERRORS: &str = "errors.log";

/// From now on what is told is written. The first program of a process that asks for it gets it.
pub(crate) fn start(settings: &Arc<Settings>) {
    let word = settings.text("logging.level").unwrap_or("info");
    let level: LevelFilter = word.parse().unwrap_or(LevelFilter::INFO);
    if level == LevelFilter::OFF {
        return;
    }
    let log = Log {
        level,
        spans: AtomicU64::new(1),
        settings: Arc::clone(settings),
        files: Mutex::default(),
    };
    // Somebody who embeds the program may have a subscriber of their own, which stays.
    tracing::subscriber::set_global_default(log).unwrap_or_default();
}

struct Log {
    level: LevelFilter,
    spans: AtomicU64,
    settings: Arc<Settings>,
    files: Mutex<Option<Files>>,
}

struct Files {
    all: Rolling,
    errors: Rolling,
}

impl Log {
    /// Other people's crates are heard only when something is wrong.
    fn wants(&self, about: &Metadata<'_>) -> bool {
        let ours = about.target().starts_with("petasos");
        *about.level() <= if ours { self.level } else { LevelFilter::WARN.min(self.level) }
    }

    fn write(&self, level: Level, line: &str) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let files = files.get_or_insert_with(|| Files {
            all: Rolling::new(&self.settings, ALL),
            errors: Rolling::new(&self.settings, ERRORS),
        });
        files.all.write(line);
        if level <= Level::WARN {
            files.errors.write(line);
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.is_event() && self.wants(about)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let line = line::of(event);
        let line = Redactor::of(&self.settings).text(&line).into_owned();
        self.write(*event.metadata().level(), &line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
