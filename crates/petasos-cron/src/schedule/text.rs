//! The grammar of schedules. Every form comes down to one exact shape, which is echoed to whoever
//! wrote it; what could mean two things is refused with both ways to say it.

use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::{DateTimeParser, Pieces, PiecesOffset};
use jiff::{SignedDuration, Timestamp};

use super::{Expression, Period, Schedule, ScheduleError, Shape, Zone, span, words};

/// An instant that lies no further back than this is taken for now.
pub const PAST_GRACE: SignedDuration = SignedDuration::from_secs(120);

/// A text is no longer than this.
const TEXT_MAX: usize = 200;

/// A schedule that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The schedule.
    pub schedule: Schedule,
    /// What whoever wrote it should know.
    pub told: Vec<String>,
}

/// Reads a schedule. `now` is what `in 20 minutes` and `tomorrow` count from, `zone` is whose clock
/// counts unless the text names another.
pub fn parse(text: &str, zone: &Zone, now: Timestamp) -> Result<Parsed, ScheduleError> {
    let text = text.trim();
    if text.is_empty() || text.len() > TEXT_MAX {
        return Err(unknown(text));
    }
    let (zone, text) = own_zone(text, zone)?;
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let (shape, told) = shape(text, &zone, now)?;
    let schedule = Schedule { shape, zone };
    if schedule.next_after(now).is_none() && !schedule.is_once() {
        return Err(ScheduleError::new(format!("`{text}` never comes"), "choose another time"));
    }
    Ok(Parsed { schedule, told })
}

type Found = (Shape, Vec<String>);

fn shape(text: &str, zone: &Zone, now: Timestamp) -> Result<Found, ScheduleError> {
    if is_expression(text) {
        return Ok((Shape::Cron(Box::new(Expression::parse(text)?)), Vec::new()));
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) && text.get(4..5) == Some("-") {
        return iso(text, zone, now);
    }
    let lower = text.to_lowercase();
    let lower = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(length) = lower.strip_prefix("every ").and_then(every) {
        let period = length?;
        return Ok((Shape::Every { period, anchor: now }, Vec::new()));
    }
    let ahead = lower.strip_prefix("in ").unwrap_or(&lower);
    if let Some(length) = span::parse(ahead) {
        let length = SignedDuration::from_secs(i64::from(length?));
        let at = now.checked_add(length).map_err(|_| unknown(text))?;
        return Ok((Shape::Once(at), Vec::new()));
    }
    match words::parse(&lower, zone, now) {
        Some(found) => match found? {
            words::Meant::Cron(expression) => {
                Ok((Shape::Cron(Box::new(Expression::parse(&expression)?)), Vec::new()))
            }
            words::Meant::Once(civil) => once(civil, zone, now),
        },
        None => Err(unknown(text)),
    }
}

/// A wall time that is wanted once.
fn once(civil: DateTime, zone: &Zone, now: Timestamp) -> Result<Found, ScheduleError> {
    let (at, skipped) = zone.once(civil).ok_or_else(|| unknown(&civil.to_string()))?;
    let told = skipped.then(|| {
        let name = zone.name();
        format!("{civil} does not exist in {name}: the clock skips it; it runs at {}", zone.iso(at))
    });
    let found = (Shape::Once(not_past(at, zone, now)?), told.into_iter().collect());
    Ok(found)
}

fn not_past(at: Timestamp, zone: &Zone, now: Timestamp) -> Result<Timestamp, ScheduleError> {
    if now.duration_since(at) > PAST_GRACE {
        let what = format!("{} is over", zone.iso(at));
        return Err(ScheduleError::new(what, "give a time that is still to come"));
    }
    Ok(at)
}

/// A length behind `every`: a number with a unit, or a unit alone.
fn every(text: &str) -> Option<Result<Period, ScheduleError>> {
    let length = match text {
        "minute" => Ok(60),
        "hour" => Ok(3600),
        _ => span::parse(text)?,
    };
    Some(length.and_then(|seconds| {
        Period::new(seconds).ok_or_else(|| {
            ScheduleError::new(
                format!("`every {text}` is too often"),
                "a schedule runs once a minute at most",
            )
        })
    }))
}

/// The zone in front of the text, if one is there.
fn own_zone<'a>(text: &'a str, zone: &Zone) -> Result<(Zone, &'a str), ScheduleError> {
    let named = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ="));
    let Some(named) = named else { return Ok((zone.clone(), text)) };
    let (name, rest) = named.split_once(char::is_whitespace).unwrap_or((named, ""));
    if rest.trim().is_empty() {
        let hint = "write the schedule behind it: `CRON_TZ=Europe/Berlin 0 9 * * *`";
        return Err(ScheduleError::new(format!("`{text}` is only a zone"), hint));
    }
    Ok((Zone::named(name)?, rest.trim()))
}

fn is_expression(text: &str) -> bool {
    if text.starts_with(['@', '*']) {
        return true;
    }
    let numeric =
        |word: &&str| word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '*' | '?'));
    let fields: Vec<&str> = text.split_whitespace().collect();
    fields.len() >= 5 && fields.iter().take(2).all(numeric)
}

/// A date and time as ISO 8601 writes it; without an offset it is read in the zone.
fn iso(text: &str, zone: &Zone, now: Timestamp) -> Result<Found, ScheduleError> {
    let bad = || {
        let hint = "write it as `2027-01-31T09:00` or `2027-01-31T09:00+01:00`";
        ScheduleError::new(format!("`{text}` is no date and time"), hint)
    };
    let spelled = spelled_out(text);
    let pieces = Pieces::parse(&spelled).map_err(|_| bad())?;
    let date: Date = pieces.date();
    let time = pieces.time().unwrap_or(Time::midnight());
    let civil = DateTime::from_parts(date, time);
    if pieces.time_zone_annotation().is_some() {
        let zoned = DateTimeParser::new().parse_zoned(&spelled).map_err(|_| bad())?;
        return Ok((Shape::Once(not_past(zoned.timestamp(), zone, now)?), Vec::new()));
    }
    match pieces.offset() {
        None => once(civil, zone, now),
        Some(PiecesOffset::Numeric(offset)) => {
            let at = offset.offset().to_timestamp(civil).map_err(|_| bad())?;
            Ok((Shape::Once(not_past(at, zone, now)?), Vec::new()))
        }
        Some(_) => {
            let at = jiff::tz::Offset::UTC.to_timestamp(civil).map_err(|_| bad())?;
            Ok((Shape::Once(not_past(at, zone, now)?), Vec::new()))
        }
    }
}

/// `2027-01-31 9:00` with two digits for the hour, as the standard wants it.
fn spelled_out(text: &str) -> String {
    match text.split_once([' ', 'T', 't']) {
        Some((date, time)) => {
            let time = time.trim();
            let zero = if time.find(':') == Some(1) { "0" } else { "" };
            format!("{date}T{zero}{time}")
        }
        None => text.to_owned(),
    }
}

fn unknown(text: &str) -> ScheduleError {
    let shown: String = text.chars().take(60).collect();
    ScheduleError::new(
        format!("`{shown}` is no schedule"),
        "examples: `30m` (once), `every 2h`, `every weekday at 9:00`, `tomorrow 8am`, \
         `0 9 * * 1-5`, `2027-01-31T09:00`",
    )
}
