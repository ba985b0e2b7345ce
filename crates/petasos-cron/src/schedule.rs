//! A schedule: a shape in a zone. Its instants are computed, never stored ahead.

mod days;
mod expression;
mod span;
mod text;
mod words;
mod zone;

use std::fmt;

use jiff::Timestamp;
use jiff::tz::AmbiguousOffset;
use serde::{Deserialize, Serialize};

pub use expression::Expression;
pub use span::{Period, display as display_span};
pub use text::{PAST_GRACE, Parsed, parse};
pub use zone::{Zone, host_zone};

/// Why a text is no schedule. Each says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {hint}")]
pub struct ScheduleError {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl ScheduleError {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

/// When something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// At one instant.
    Once(Timestamp),
    /// On a grid: the anchor plus any whole number of periods.
    Every {
        /// How long between two instants.
        period: Period,
        /// Where the grid is fixed.
        anchor: Timestamp,
    },
    /// Where a cron expression matches the zone's wall clock.
    Cron(Box<Expression>),
}

/// A shape in a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// When.
    pub shape: Shape,
    /// By whose clock.
    pub zone: Zone,
}

/// A schedule as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSchedule {
    /// `once`, `interval` or `cron`.
    pub kind: String,
    /// The instant, the seconds or the expression.
    pub expr: String,
    /// The name of the zone.
    pub tz: String,
    /// Where an interval is fixed, in milliseconds since 1970.
    pub anchor_ms: Option<i64>,
}

/// An instant with what is odd about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instant {
    /// When.
    pub at: Timestamp,
    /// Why its wall time or its distance is not as usual, if so.
    pub remark: Option<String>,
}

impl Schedule {
    /// The first instant behind this one.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match &self.shape {
            Shape::Once(at) => (*at > after).then_some(*at),
            Shape::Every { period, anchor } => on_grid(*anchor, *period, after),
            Shape::Cron(expression) => expression.next_after(&self.zone, after),
        }
    }

    /// The next instants.
    pub fn upcoming(&self, after: Timestamp, count: usize) -> Vec<Timestamp> {
        let next = |at: &Timestamp| self.next_after(*at);
        std::iter::successors(self.next_after(after), next).take(count).collect()
    }

    /// The next instants, with a remark where the zone's clock is changed.
    pub fn annotated(&self, after: Timestamp, count: usize) -> Vec<Instant> {
        let mut before = after;
        let mut list = Vec::new();
        for at in self.upcoming(after, count) {
            list.push(Instant { at, remark: self.remark(before, at) });
            before = at;
        }
        list
    }

    fn remark(&self, before: Timestamp, at: Timestamp) -> Option<String> {
        let (was, is) = (self.zone.offset(before), self.zone.offset(at));
        let civil = self.zone.civil(at);
        if let AmbiguousOffset::Fold { before, .. } = self.zone.ambiguity(civil) {
            let pass = if before == is { "first" } else { "second" };
            return Some(format!("the clock shows this time twice; {pass} pass"));
        }
        if let Shape::Cron(expression) = &self.shape
            && !expression.matches(civil)
        {
            return Some("the wanted time does not exist that day; first one after it".to_owned());
        }
        (was != is).then(|| format!("the clock was changed before: {was} became {is}"))
    }

    /// How long after this instant the next one follows; nothing for a last one.
    pub fn gap_after(&self, at: Timestamp) -> Option<std::time::Duration> {
        let next = self.next_after(at)?;
        std::time::Duration::try_from(next.duration_since(at)).ok()
    }

    /// Whether there is one instant only.
    pub fn is_once(&self) -> bool {
        matches!(self.shape, Shape::Once(_))
    }

    /// The exact text: parsing it in this zone gives this schedule again, but for the anchor.
    pub fn exact(&self) -> String {
        match &self.shape {
            Shape::Once(at) => self.zone.iso(*at),
            Shape::Every { period, .. } => format!("every {}", span::display(*period)),
            Shape::Cron(expression) => expression.text().to_owned(),
        }
    }

    /// The word for its shape.
    pub fn kind(&self) -> &'static str {
        match self.shape {
            Shape::Once(_) => "once",
            Shape::Every { .. } => "interval",
            Shape::Cron(_) => "cron",
        }
    }

    /// What a store keeps.
    pub fn stored(&self) -> StoredSchedule {
        let (expr, anchor_ms) = match &self.shape {
            Shape::Once(at) => (at.to_string(), None),
            Shape::Every { period, anchor } => {
                (period.seconds().to_string(), Some(anchor.as_millisecond()))
            }
            Shape::Cron(expression) => (expression.text().to_owned(), None),
        };
        let (kind, tz) = (self.kind().to_owned(), self.zone.name().to_owned());
        StoredSchedule { kind, expr, tz, anchor_ms }
    }

    /// A schedule from a store.
    pub fn restore(stored: &StoredSchedule) -> Result<Self, ScheduleError> {
        let hint = "give the job a schedule again with `petasos cron edit`";
        let bad = || {
            let StoredSchedule { kind, expr, .. } = stored;
            ScheduleError::new(format!("`{kind}` `{expr}` is no schedule"), hint)
        };
        let zone = Zone::named(&stored.tz)?;
        let shape = match stored.kind.as_str() {
            "once" => Shape::Once(stored.expr.parse().map_err(|_| bad())?),
            "interval" => {
                let period = stored.expr.parse().ok().and_then(Period::new).ok_or_else(bad)?;
                let anchor = stored.anchor_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
                Shape::Every { period, anchor: anchor.ok_or_else(bad)? }
            }
            "cron" => Shape::Cron(Box::new(Expression::parse(&stored.expr)?)),
            _ => return Err(bad()),
        };
        Ok(Self { shape, zone })
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shape {
            Shape::Once(_) => write!(f, "once at {} ({})", self.exact(), self.zone.name()),
            Shape::Every { anchor, .. } => {
                write!(f, "{}, counted from {}", self.exact(), self.zone.iso(*anchor))
            }
            Shape::Cron(_) => write!(f, "{} ({})", self.exact(), self.zone.name()),
        }
    }
}

/// The first point of a grid behind an instant. The anchor itself is none: a job that was made now
/// runs a period from now.
fn on_grid(anchor: Timestamp, period: Period, after: Timestamp) -> Option<Timestamp> {
    let period = i64::from(period.seconds());
    let behind = after.as_second().checked_sub(anchor.as_second())?;
    // The fraction of the anchor's second decides for an instant within the same second.
    let whole = behind.div_euclid(period);
    let at = |steps: i64| {
        let seconds = period.checked_mul(steps)?;
        anchor.checked_add(jiff::SignedDuration::from_secs(seconds)).ok()
    };
    let first = whole.max(1);
    let found = at(first)?;
    if found > after { Some(found) } else { at(first.checked_add(1)?) }
}
