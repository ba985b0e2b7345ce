//! One record as one line: time, level, who, what, and fields.

use std::fmt::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use tracing::Event;
use tracing::field::{Field, Visit};

/// The line, without its end.
pub(super) fn of(event: &Event<'_>) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let (date, time) = petasos_sqlite::utc(ms);
    let about = event.metadata();
    let mut words = Words::default();
    event.record(&mut words);
    let (level, who) = (about.level().as_str(), about.target());
    let (process, fraction) = (std::process::id(), ms.rem_euclid(1000));
    let told = format!("{}{}", words.message, words.fields);
    let told = told.replace('\n', "\\n").replace('\r', "\\r");
    format!("{date}T{time}.{fraction:03}Z {level} {who}[{process}]: {told}")
}

#[derive(Default)]
struct Words {
    message: String,
    fields: String,
}

impl Words {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        if field.name() == "message" {
            write!(self.message, "{value}").unwrap_or_default();
        } else {
            write!(self.fields, " {}={value}", field.name()).unwrap_or_default();
        }
    }
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" || !value.contains(char::is_whitespace) {
            self.add(field, format_args!("{value}"));
        } else {
            self.add(field, format_args!("{value:?}"));
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }
}
