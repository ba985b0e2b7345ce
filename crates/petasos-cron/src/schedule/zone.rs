//! Zones by their name, from the data that the program carries. A zone is never an offset: offsets
//! change with the season, and a job stays at nine in the morning.

use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

use super::ScheduleError;

/// A zone of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    name: String,
    data: TimeZone,
}

impl Zone {
    /// Universal time.
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), data: TimeZone::UTC }
    }

    /// The zone of a name, such as `Europe/Berlin`.
    pub fn named(name: &str) -> Result<Self, ScheduleError> {
        let name = name.trim();
        if name.eq_ignore_ascii_case("utc") {
            return Ok(Self::utc());
        }
        match TimeZoneDatabase::bundled().get(name) {
            Ok(data) => {
                // The database knows the right spelling of names in any case.
                let name = data.iana_name().unwrap_or(name).to_owned();
                Ok(Self { name, data })
            }
            Err(_) => Err(ScheduleError::new(
                format!("no time zone is named `{name}`"),
                "use a name such as `Europe/Berlin` or `UTC`; an offset such as `+02:00` is none",
            )),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its clock shows at an instant.
    pub fn civil(&self, at: Timestamp) -> DateTime {
        self.data.to_datetime(at)
    }

    /// How far its clock is from universal time at an instant.
    pub fn offset(&self, at: Timestamp) -> Offset {
        self.data.to_offset(at)
    }

    /// How often its clock shows this.
    pub(super) fn ambiguity(&self, civil: DateTime) -> AmbiguousOffset {
        self.data.to_ambiguous_zoned(civil).offset()
    }

    /// When its clock is next changed after an instant.
    pub(super) fn next_change(&self, after: Timestamp) -> Option<Timestamp> {
        self.data.following(after).next().map(|change| change.timestamp())
    }

    /// When its clock was last changed, at this instant or before.
    pub(super) fn last_change(&self, until: Timestamp) -> Option<Timestamp> {
        let behind = until.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
        self.data.preceding(behind).next().map(|change| change.timestamp())
    }

    /// An instant with date, time and offset.
    pub fn iso(&self, at: Timestamp) -> String {
        let offset = self.offset(at);
        at.display_with_offset(offset).to_string()
    }

    /// The first instant at which its clock shows this, or the first after the gap.
    pub fn first(&self, civil: DateTime) -> Option<Timestamp> {
        self.once(civil).map(|(at, _)| at)
    }

    /// The instant for a wall time that is wanted once: a time that the clock skips becomes the first
    /// one behind the gap, a time that it shows twice is the first of them.
    pub(super) fn once(&self, civil: DateTime) -> Option<(Timestamp, bool)> {
        match self.ambiguity(civil) {
            AmbiguousOffset::Unambiguous { offset } => {
                offset.to_timestamp(civil).ok().map(|at| (at, false))
            }
            AmbiguousOffset::Fold { before, .. } => {
                before.to_timestamp(civil).ok().map(|at| (at, false))
            }
            AmbiguousOffset::Gap { after, .. } => {
                // Read with the later offset, a skipped time lies before the change.
                let ahead = after.to_timestamp(civil).ok()?;
                self.next_change(ahead).map(|at| (at, true))
            }
        }
    }
}

/// The zone of this machine by its *name*: what the variable `TZ` says, if it names a zone, else
/// what the system was set up with.
pub fn host_zone(tz: Option<&str>) -> Option<Zone> {
    let said = tz.map(|tz| tz.trim_start_matches(':')).filter(|tz| !tz.is_empty());
    if let Some(zone) = said.and_then(|tz| Zone::named(tz).ok()) {
        return Some(zone);
    }
    let linked = std::fs::read_link("/etc/localtime").ok();
    let linked = linked.as_deref().and_then(below_zoneinfo);
    let written = || std::fs::read_to_string("/etc/timezone").ok();
    linked
        .or_else(|| written().map(|text| text.trim().to_owned()))
        .and_then(|name| Zone::named(&name).ok())
}

fn below_zoneinfo(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let (_, name) = text.split_once("zoneinfo/")?;
    let name = name.strip_prefix("posix/").or_else(|| name.strip_prefix("right/")).unwrap_or(name);
    Some(name.to_owned())
}
