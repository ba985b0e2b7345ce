//! Cron expressions of five fields, and which instants they mean where clocks are changed.
//!
//! An expression is *fixed* when its minutes and hours hold no `*`: somebody wants a certain time of
//! day. Such a time that the clock skips is made up for once, at the first instant behind the gap,
//! and one that the clock shows twice runs in the first pass. Anything else follows the clock: what
//! it skips does not exist, what it shows twice runs twice.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use super::days::{MonthDays, WeekDays};
use super::{ScheduleError, Zone};

/// A day that has not come for so long never comes. February 29 may be eight years away.
const YEARS_MAX: i32 = 12;

/// What a field holds.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) min: u8,
    pub(super) max: u8,
    names: &'static [&'static str],
    /// The number of the first name.
    first: u8,
}

impl Field {
    const MINUTE: Self = Self { name: "minute", min: 0, max: 59, names: &[], first: 0 };
    const HOUR: Self = Self { name: "hour", min: 0, max: 23, names: &[], first: 0 };
    pub(super) const DAY: Self =
        Self { name: "day of the month", min: 1, max: 31, names: &[], first: 0 };
    const MONTH: Self = Self {
        name: "month",
        min: 1,
        max: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
        first: 1,
    };
    pub(super) const WEEKDAY: Self = Self {
        name: "day of the week",
        min: 0,
        max: 7,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
        first: 0,
    };

    /// A number or a name of this field.
    pub(super) fn number(&self, text: &str) -> Option<u8> {
        let lower = text.to_lowercase();
        let named = self.names.iter().position(|name| *name == lower);
        if let Some(at) = named.and_then(|at| u8::try_from(at).ok()) {
            return Some(self.first + at);
        }
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if digits { text.parse().ok()? } else { return None };
        (self.min..=self.max).contains(&number).then_some(number)
    }
}

/// The numbers of one part of a list as bits: `*`, `5`, `1-5`, `*/2`, `10-50/20`, `5/15`.
pub(super) fn number_list(part: &str, field: &Field) -> Result<u64, ScheduleError> {
    let bad = |what: &str| {
        let Field { name, min, max, .. } = field;
        ScheduleError::new(
            format!("`{what}` is no {name}"),
            format!("it goes from {min} to {max}, with lists `1,2`, ranges `1-5`, steps `*/15`"),
        )
    };
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => {
            let step: u8 = step.parse().ok().filter(|step| *step > 0).ok_or_else(|| bad(part))?;
            (range, Some(step))
        }
        None => (part, None),
    };
    // Weeks have no eighth day: `*` ends before the second name of Sunday.
    let top = if field.name == Field::WEEKDAY.name { 6 } else { field.max };
    let (low, high) = if range == "*" {
        (field.min, top)
    } else if let Some((low, high)) = range.split_once('-') {
        let low = field.number(low).ok_or_else(|| bad(part))?;
        (low, field.number(high).ok_or_else(|| bad(part))?)
    } else {
        let only = field.number(range).ok_or_else(|| bad(part))?;
        (only, if step.is_some() { top.max(only) } else { only })
    };
    if let Some(step) = step
        && u16::from(step) > u16::from(field.max)
    {
        let hint = "steps do not go beyond their field: write an interval such as `every 90m`";
        return Err(ScheduleError::new(format!("`{part}` steps too far"), hint));
    }
    Ok(spread(field, (low, high), step.unwrap_or(1)))
}

/// A range as bits. One that ends before it begins goes over the end: `fri-mon`, `22-2`.
fn spread(field: &Field, (low, high): (u8, u8), step: u8) -> u64 {
    let size = if field.name == Field::WEEKDAY.name { 7 } else { field.max - field.min + 1 };
    let length = if low <= high { high - low } else { high + size - low };
    let mut bits = 0;
    for ahead in (0..=length).step_by(usize::from(step)) {
        let at = low + ahead;
        let at = if at > field.max { at - size } else { at };
        bits |= 1_u64 << at;
    }
    bits
}

/// Whether a field moves with the clock rather than naming times.
fn is_loose(text: &str) -> bool {
    text.split(',').any(|part| part.starts_with('*'))
}

/// A cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    text: String,
    minutes: u64,
    hours: u64,
    months: u64,
    month_days: MonthDays,
    week_days: WeekDays,
    fixed: bool,
}

const SHORT: &[(&str, &str)] = &[
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

impl Expression {
    /// Five fields, or one of the short forms.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let lower = text.trim().to_lowercase();
        let long = SHORT.iter().find(|(short, _)| *short == lower).map(|(_, long)| *long);
        if lower.starts_with('@') && long.is_none() {
            return Err(ScheduleError::new(
                format!("`{}` is no schedule", text.trim()),
                "these are: @hourly @daily @weekly @monthly @yearly",
            ));
        }
        let fields: Vec<&str> = long.unwrap_or(text).split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields.as_slice() else {
            let what = format!("{} fields instead of five", fields.len());
            let hint = "write minute, hour, day, month and day of the week; a sixth field could \
                        mean seconds or a year and is refused";
            return Err(ScheduleError::new(what, hint));
        };
        let list = |text: &str, field: &Field| {
            let text = if text == "?" { "!" } else { text };
            text.split(',').try_fold(0, |bits, part| Ok(bits | number_list(part, field)?))
        };
        let expression = Self {
            minutes: list(minute, &Field::MINUTE)?,
            hours: list(hour, &Field::HOUR)?,
            month_days: MonthDays::parse(day)?,
            months: list(month, &Field::MONTH)?,
            week_days: WeekDays::parse(weekday)?,
            fixed: !is_loose(minute) && !is_loose(hour),
            text: fields.join(" "),
        };
        if expression.next_date(Date::constant(2024, 1, 1), Date::constant(2036, 1, 1)).is_none() {
            let what = format!("`{}` never comes", expression.text);
            return Err(ScheduleError::new(what, "no month has such a day: choose another"));
        }
        Ok(expression)
    }

    /// Its five fields.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it names times of day.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    fn has_date(&self, date: Date) -> bool {
        let by_month = self.month_days.has(date);
        let by_week = self.week_days.has(date);
        // Both given: either counts, as cron has always had it.
        let either = !self.month_days.is_any() && !self.week_days.is_any();
        let day = if either { by_month || by_week } else { by_month && by_week };
        day && self.months >> date.month() & 1 == 1
    }

    /// Whether a wall time is among those it names.
    pub fn matches(&self, civil: DateTime) -> bool {
        self.has_date(civil.date())
            && self.hours >> civil.hour() & 1 == 1
            && self.minutes >> civil.minute() & 1 == 1
    }

    fn next_date(&self, from: Date, until: Date) -> Option<Date> {
        let mut date = from;
        while date <= until {
            if self.has_date(date) {
                return Some(date);
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// The first time of day behind this hour and minute; the first of all without one.
    fn time_after(&self, after: Option<(i8, i8)>) -> Option<Time> {
        let from = |bits: u64, low: i8| {
            let bits = bits >> low << low;
            (bits != 0).then(|| i8::try_from(bits.trailing_zeros()).unwrap_or(i8::MAX))
        };
        let first = |hour: i8| Some((hour, from(self.minutes, 0)?));
        let (hour, minute) = match after {
            None => first(from(self.hours, 0)?)?,
            Some((hour, minute)) => match from(self.minutes, minute + 1) {
                Some(minute) if self.hours >> hour & 1 == 1 => (hour, minute),
                _ => first(from(self.hours, hour + 1)?)?,
            },
        };
        Time::new(hour, minute, 0, 0).ok()
    }

    /// The first wall time behind this one, on a clock that nobody changes.
    fn next_civil(&self, after: DateTime) -> Option<DateTime> {
        let today = after.date();
        if self.has_date(today)
            && let Some(time) = self.time_after(Some((after.hour(), after.minute())))
        {
            return Some(DateTime::from_parts(today, time));
        }
        let until = today.checked_add(YEARS_MAX.years()).ok()?;
        let date = self.next_date(today.tomorrow().ok()?, until)?;
        Some(DateTime::from_parts(date, self.time_after(None)?))
    }

    /// The first instant behind this one: from one change of the clock to the next, within which an
    /// offset holds.
    pub fn next_after(&self, zone: &Zone, after: Timestamp) -> Option<Timestamp> {
        let (mut at, mut from, mut offset) = (after, after, zone.offset(after));
        if self.fixed
            && let Some(change) = zone.last_change(after)
        {
            from = from.max(shown_anew(change, zone.offset(a_second_before(change)?), offset)?);
        }
        loop {
            let found = offset.to_timestamp(self.next_civil(offset.to_datetime(from))?).ok()?;
            let Some(change) = zone.next_change(at).filter(|change| found >= *change) else {
                return Some(found);
            };
            let before = std::mem::replace(&mut offset, zone.offset(change));
            from = a_second_before(change)?;
            if self.fixed {
                let skipped = self.next_civil(before.to_datetime(from))?;
                if skipped < offset.to_datetime(change) {
                    return Some(change);
                }
                from = shown_anew(change, before, offset)?;
            }
            at = change;
        }
    }
}

/// The last moment after a change at which the clock shows a time that it has shown before.
fn shown_anew(change: Timestamp, before: Offset, after: Offset) -> Option<Timestamp> {
    let again = i64::from(before.seconds() - after.seconds()).max(0);
    a_second_before(change.checked_add(SignedDuration::from_secs(again)).ok()?)
}

fn a_second_before(at: Timestamp) -> Option<Timestamp> {
    at.checked_sub(SignedDuration::from_secs(1)).ok()
}
