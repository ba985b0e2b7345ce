//! Moments of a calendar: a day, a time without a zone, or an instant in one.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use petasos_contract::Settings;

use super::lines::Line;
use crate::fault::VendorError;
use crate::text::cut;

/// A moment.
#[derive(Debug, Clone, PartialEq)]
pub enum When {
    /// A whole day.
    Day(Date),
    /// A time wherever one is.
    Floating(DateTime),
    /// An instant, in a zone.
    At(Zoned),
}

/// The zone that times without one are in: what was asked for, or `timezone`, or the machine's
/// `TZ`, or UTC.
pub fn zone(named: Option<&str>, settings: &Settings) -> Result<TimeZone, VendorError> {
    let given = |name: &str| (!name.trim().is_empty()).then(|| name.trim().to_owned());
    let name = named
        .and_then(given)
        .or_else(|| settings.text("timezone").and_then(given))
        .or_else(|| given(settings.variable("TZ")?.value.expose().trim_start_matches(':')));
    let Some(name) = name else { return Ok(TimeZone::UTC) };
    TimeZone::get(&name).map_err(|_| {
        let text = format!("`{}` is no time zone: write it as Europe/Berlin", cut(&name, 60));
        VendorError::argument(text)
    })
}

impl When {
    /// Reads what a model wrote: a day, a time, or an instant.
    pub fn read(text: &str, zone: &TimeZone) -> Result<Self, VendorError> {
        let text = text.trim();
        if text.len() == 10
            && let Ok(day) = text.parse::<Date>()
        {
            return Ok(Self::Day(day));
        }
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Ok(Self::At(instant.to_zoned(zone.clone())));
        }
        let placed = text.parse::<DateTime>().ok().and_then(|it| it.to_zoned(zone.clone()).ok());
        placed.map(Self::At).ok_or_else(|| {
            VendorError::argument(format!(
                "`{}` is no time: write 2026-11-30, 2026-11-30T14:00 or 2026-11-30T14:00+01:00",
                cut(text, 60)
            ))
        })
    }

    /// Reads a property such as `DTSTART`.
    pub(super) fn of(line: &Line) -> Option<Self> {
        let value = line.value.trim();
        if line.param("VALUE") == Some("DATE") || value.len() == 8 {
            return Date::strptime("%Y%m%d", value).ok().map(Self::Day);
        }
        let bare = value.strip_suffix('Z');
        let time = DateTime::strptime("%Y%m%dT%H%M%S", bare.unwrap_or(value)).ok()?;
        let zone = match (bare, line.param("TZID")) {
            (Some(_), _) => Some(TimeZone::UTC),
            (None, Some(name)) => TimeZone::get(name).ok(),
            (None, None) => None,
        };
        Some(match zone {
            Some(zone) => Self::At(time.to_zoned(zone).ok()?),
            None => Self::Floating(time),
        })
    }

    /// As it is told; instants in the zone of whoever asks.
    pub fn told(&self, zone: &TimeZone) -> String {
        match self {
            Self::Day(day) => day.to_string(),
            Self::Floating(time) => time.to_string(),
            Self::At(at) => {
                at.with_time_zone(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
            }
        }
    }

    /// As a property is written; instants in UTC, which needs no description of a zone.
    pub(super) fn line(&self, name: &str) -> String {
        match self {
            Self::Day(day) => format!("{name};VALUE=DATE:{}", day.strftime("%Y%m%d")),
            Self::Floating(time) => format!("{name}:{}", time.strftime("%Y%m%dT%H%M%S")),
            Self::At(at) => format!("{name}:{}", stamp(at.timestamp())),
        }
    }

    /// The instant at which it begins, for comparing and for ranges.
    pub fn instant(&self, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Day(day) => day.to_zoned(zone.clone()).ok().map(|at| at.timestamp()),
            Self::Floating(time) => time.to_zoned(zone.clone()).ok().map(|at| at.timestamp()),
            Self::At(at) => Some(at.timestamp()),
        }
    }

    /// The usual end of something that begins now: a day later, or an hour.
    pub(super) fn usual_end(&self) -> Option<Self> {
        let hour = jiff::Span::new().hours(1);
        match self {
            Self::Day(day) => day.tomorrow().ok().map(Self::Day),
            Self::Floating(time) => time.checked_add(hour).ok().map(Self::Floating),
            Self::At(at) => at.checked_add(hour).ok().map(Self::At),
        }
    }
}

/// An instant as iCalendar writes it.
pub(super) fn stamp(at: Timestamp) -> String {
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_their_zone_and_told_in_ours() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let noon = When::read("2026-07-01T12:00", &berlin).unwrap();
        assert_eq!(noon.line("DTSTART"), "DTSTART:20260701T100000Z");
        assert_eq!(noon.told(&TimeZone::UTC), "2026-07-01T10:00:00+00:00");
        assert_eq!(
            When::read("2026-07-01T12:00+02:00", &TimeZone::UTC).unwrap().line("X"),
            "X:20260701T100000Z"
        );
        let day = When::read("2026-07-01", &berlin).unwrap();
        assert_eq!(day.line("DTSTART"), "DTSTART;VALUE=DATE:20260701");
        assert_eq!(day.usual_end().unwrap().told(&berlin), "2026-07-02");
        let line = Line::read("DTSTART;TZID=America/New_York:20261120T090000").unwrap();
        assert_eq!(When::of(&line).unwrap().told(&berlin), "2026-11-20T15:00:00+01:00");
        for bad in ["", "soon", "2026-13-01", "2026-02-30T10:00"] {
            assert!(When::read(bad, &berlin).is_err(), "{bad}");
        }
    }
}
