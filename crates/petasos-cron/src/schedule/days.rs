//! Which days a cron expression means: days of the month and days of the week, with `L`, `W`, `#`.

use jiff::civil::{Date, Weekday};

use super::ScheduleError;
use super::expression::{Field, number_list};

/// Days of a month.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MonthDays {
    /// Bit n: the n-th.
    days: u64,
    /// So many days before the last one.
    from_end: Vec<i8>,
    /// The weekday nearest to the n-th.
    nearest: Vec<i8>,
    /// The last weekday, Monday to Friday.
    last_weekday: bool,
    any: bool,
}

/// Days of a week.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WeekDays {
    /// Bit n: n days after Sunday.
    days: u64,
    /// The last one of the month.
    last: Vec<i8>,
    /// The n-th one of the month.
    nth: Vec<(i8, i8)>,
    any: bool,
}

fn bad(text: &str, field: &Field) -> ScheduleError {
    ScheduleError::new(
        format!("`{text}` is no {}", field.name),
        format!("it goes from {} to {}", field.min, field.max),
    )
}

fn small(text: &str, field: &Field) -> Result<i8, ScheduleError> {
    let number = field.number(text).ok_or_else(|| bad(text, field))?;
    i8::try_from(number).map_err(|_| bad(text, field))
}

impl MonthDays {
    pub(super) fn parse(text: &str) -> Result<Self, ScheduleError> {
        let field = &Field::DAY;
        let mut days = Self { any: matches!(text, "*" | "?"), ..Self::default() };
        if text == "?" {
            return Ok(days);
        }
        for part in text.split(',') {
            let upper = part.to_uppercase();
            if upper == "L" {
                days.from_end.push(0);
            } else if matches!(upper.as_str(), "LW" | "WL") {
                days.last_weekday = true;
            } else if let Some(before) = upper.strip_prefix("L-") {
                days.from_end.push(small(before, field)?);
            } else if let Some(near) = upper.strip_suffix('W') {
                days.nearest.push(small(near, field)?);
            } else {
                days.days |= number_list(part, field)?;
            }
        }
        Ok(days)
    }

    pub(super) fn is_any(&self) -> bool {
        self.any
    }

    pub(super) fn has(&self, date: Date) -> bool {
        if self.any {
            return true;
        }
        let (day, last) = (date.day(), date.days_in_month());
        self.days >> day & 1 == 1
            || self.from_end.iter().any(|before| last - before == day)
            || self.nearest.iter().any(|near| nearest(date, *near) == Some(day))
            || (self.last_weekday && nearest(date, last) == Some(day))
    }
}

/// The weekday of this month nearest to its n-th day; it stays in the month.
fn nearest(date: Date, day: i8) -> Option<i8> {
    let last = date.days_in_month();
    if day > last {
        return None;
    }
    let wanted = Date::new(date.year(), date.month(), day).ok()?;
    Some(match wanted.weekday() {
        Weekday::Saturday if day == 1 => 3,
        Weekday::Saturday => day - 1,
        Weekday::Sunday if day == last => day - 2,
        Weekday::Sunday => day + 1,
        _ => day,
    })
}

impl WeekDays {
    pub(super) fn parse(text: &str) -> Result<Self, ScheduleError> {
        let field = &Field::WEEKDAY;
        let mut days = Self { any: matches!(text, "*" | "?"), ..Self::default() };
        if text == "?" {
            return Ok(days);
        }
        for part in text.split(',') {
            if part.eq_ignore_ascii_case("L") {
                let hint = "write the last Friday of the month as `5L`, every Saturday as `6`";
                return Err(ScheduleError::new("`L` alone is no day of the week", hint));
            }
            if let Some((day, nth)) = part.split_once('#') {
                let nth: i8 =
                    nth.parse().ok().filter(|nth| (1..=5).contains(nth)).ok_or_else(|| {
                        ScheduleError::new(format!("`{part}` is no day"), "`#` takes 1 to 5")
                    })?;
                days.nth.push((small(day, field)? % 7, nth));
            } else if let Some(day) = part.strip_suffix(['L', 'l'])
                && field.number(day).is_some()
            {
                days.last.push(small(day, field)? % 7);
            } else {
                let list = number_list(part, field)?;
                // Sunday is both 0 and 7.
                days.days |= (list & 0x7f) | (list >> 7 & 1);
            }
        }
        Ok(days)
    }

    pub(super) fn is_any(&self) -> bool {
        self.any
    }

    pub(super) fn has(&self, date: Date) -> bool {
        if self.any {
            return true;
        }
        let weekday = date.weekday().to_sunday_zero_offset();
        let (day, last) = (date.day(), date.days_in_month());
        let nth = (day - 1) / 7 + 1;
        self.days >> weekday & 1 == 1
            || (self.last.contains(&weekday) && day + 7 > last)
            || self.nth.contains(&(weekday, nth))
    }
}
