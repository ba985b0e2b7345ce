//! Natural words for days and times: `every weekday at 9`, `tomorrow 8am`. They become a cron
//! expression or one wall time, which is shown back.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{Timestamp, ToSpan as _};

use super::{ScheduleError, Zone};

/// What words mean.
pub(super) enum Meant {
    /// This expression.
    Cron(String),
    /// Once, when the clock shows this.
    Once(DateTime),
}

/// Which days are meant.
enum Days {
    /// The day fields of a cron expression: of the month, of the week.
    Fields(String, String),
    /// One date; `None` is the first one at which the time is still to come.
    Date(Option<Date>),
}

/// Reads words that are in lower case and have single spaces; nothing when they are none of these.
pub(super) fn parse(
    text: &str,
    zone: &Zone,
    now: Timestamp,
) -> Option<Result<Meant, ScheduleError>> {
    let (days, times) = halves(text)?;
    let here = zone.civil(now);
    let days = match day_words(days, here.date())? {
        Ok(days) => days,
        Err(error) => return Some(Err(error)),
    };
    let Some(times) = times else {
        let what = format!("`{text}` does not say at what time");
        return Some(Err(ScheduleError::new(what, format!("write `{text} at 9:00`"))));
    };
    Some(match days {
        Days::Fields(month, week) => expression(&times, &month, &week),
        Days::Date(date) => single(&times, date, here),
    })
}

fn expression(times: &[Time], month: &str, week: &str) -> Result<Meant, ScheduleError> {
    let Some(first) = times.first() else { return Err(no_time()) };
    if times.iter().any(|time| time.minute() != first.minute()) {
        let what = "times with different minutes are no single schedule";
        return Err(ScheduleError::new(what, "make a job for each of them"));
    }
    let mut hours: Vec<i8> = times.iter().map(|time| time.hour()).collect();
    hours.sort_unstable();
    hours.dedup();
    let hours: Vec<String> = hours.iter().map(i8::to_string).collect();
    Ok(Meant::Cron(format!("{} {} {month} * {week}", first.minute(), hours.join(","))))
}

fn single(times: &[Time], date: Option<Date>, here: DateTime) -> Result<Meant, ScheduleError> {
    let [time] = times else {
        let hint = "give one time, or make a job for each";
        return Err(ScheduleError::new("once has one time", hint));
    };
    let date = match date {
        Some(date) => date,
        None if *time > here.time() => here.date(),
        None => here.date().tomorrow().map_err(|_| no_time())?,
    };
    Ok(Meant::Once(DateTime::from_parts(date, *time)))
}

fn no_time() -> ScheduleError {
    ScheduleError::new("no time of day", "write it as `9:00` or `9am`")
}

/// The words for days, and the times behind them.
fn halves(text: &str) -> Option<(&str, Option<Vec<Time>>)> {
    if let Some(time) = text.strip_prefix("at ") {
        return Some(("", Some(clock_list(time)?)));
    }
    if let Some((days, time)) = text.rsplit_once(" at ") {
        return Some((days, Some(clock_list(time)?)));
    }
    // `tomorrow 8am`, `every weekday 9:00`: a time that cannot be a day of the month.
    let tails = [text.rsplit_once(' '), second_last(text)];
    for (days, time) in tails.into_iter().flatten() {
        let plain = time.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(time) = clock(time)
            && !plain
        {
            return Some((days, Some(vec![time])));
        }
    }
    Some((text, None))
}

/// The text cut before its last two words.
fn second_last(text: &str) -> Option<(&str, &str)> {
    let (front, _) = text.rsplit_once(' ')?;
    let cut = front.rfind(' ')?;
    Some((text.get(..cut)?, text.get(cut + 1..)?))
}

fn clock_list(text: &str) -> Option<Vec<Time>> {
    let parts = text.split(',').flat_map(|part| part.split(" and "));
    parts.map(str::trim).filter(|part| !part.is_empty()).map(clock).collect()
}

/// A time of day: `9`, `9:30`, `9am`, `9:30 pm`, `noon`, `midnight`.
fn clock(text: &str) -> Option<Time> {
    match text {
        "noon" | "midday" => return Time::new(12, 0, 0, 0).ok(),
        "midnight" => return Some(Time::midnight()),
        _ => {}
    }
    let text = text.trim_end_matches(" o'clock");
    let (digits, half) = match text {
        _ if text.ends_with("am") => (text.strip_suffix("am")?, Some(0)),
        _ if text.ends_with("pm") => (text.strip_suffix("pm")?, Some(12)),
        _ => (text, None),
    };
    let digits = digits.trim_end();
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "00"));
    let number = |text: &str, length: std::ops::RangeInclusive<usize>| -> Option<i8> {
        let plain = length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if plain { text.parse().ok() } else { None }
    };
    let (hour, minute) = (number(hour, 1..=2)?, number(minute, 2..=2)?);
    let hour = match half {
        None => hour,
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
    };
    Time::new(hour, minute, 0, 0).ok()
}

fn weekday(word: &str) -> Option<(Weekday, bool)> {
    const NAMES: &[(&[&str], Weekday)] = &[
        (&["sun", "sunday"], Weekday::Sunday),
        (&["mon", "monday"], Weekday::Monday),
        (&["tue", "tues", "tuesday"], Weekday::Tuesday),
        (&["wed", "weds", "wednesday"], Weekday::Wednesday),
        (&["thu", "thur", "thurs", "thursday"], Weekday::Thursday),
        (&["fri", "friday"], Weekday::Friday),
        (&["sat", "saturday"], Weekday::Saturday),
    ];
    let find = |word: &str| {
        NAMES.iter().find(|(names, _)| names.contains(&word)).map(|(_, weekday)| *weekday)
    };
    let several = word.strip_suffix('s').filter(|one| one.ends_with("day")).and_then(find);
    find(word).map(|day| (day, false)).or_else(|| several.map(|day| (day, true)))
}

fn day_words(text: &str, today: Date) -> Option<Result<Days, ScheduleError>> {
    let fields = |month: &str, week: &str| Some(Ok(Days::Fields(month.into(), week.into())));
    let (text, repeated) = match text.strip_prefix("every ").or_else(|| text.strip_prefix("each "))
    {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    match text {
        "" => return Some(Ok(Days::Date(None))),
        "today" | "tonight" => return Some(Ok(Days::Date(Some(today)))),
        "tomorrow" => return Some(Ok(Days::Date(today.tomorrow().ok()))),
        "day after tomorrow" | "the day after tomorrow" => {
            return Some(Ok(Days::Date(today.checked_add(2.days()).ok())));
        }
        "weekdays" | "workdays" | "working days" | "on weekdays" | "on workdays" => {
            return fields("*", "1-5");
        }
        "weekends" | "on weekends" => return fields("*", "0,6"),
        "daily" => return fields("*", "*"),
        "day" | "1d" | "1 day" | "single day" if repeated => return fields("*", "*"),
        "weekday" | "workday" | "working day" if repeated => return fields("*", "1-5"),
        "weekend" | "weekend day" if repeated => return fields("*", "0,6"),
        _ => {}
    }
    if let Some(day) = month_day(text, repeated) {
        return fields(&day, "*");
    }
    if repeated && (text == "month" || text == "week" || text == "year") {
        let hint = "say on which day: `every monday at 9:00`, `every month on the 1st at 9:00`";
        return Some(Err(ScheduleError::new(format!("`every {text}` names no day"), hint)));
    }
    named_days(text, repeated, today)
}

/// A day of every month: `month on the 1st`, `1st of the month`, `last day of the month`.
fn month_day(text: &str, repeated: bool) -> Option<String> {
    let day = text
        .strip_prefix("month on ")
        .filter(|_| repeated)
        .or_else(|| text.strip_prefix("monthly on "))
        .or_else(|| text.strip_suffix(" of the month"))
        .or_else(|| text.strip_suffix(" of every month"))
        .or_else(|| text.strip_suffix(" of each month"))?;
    let day = day.trim_start_matches("on ").trim_start_matches("the ").trim_start_matches("day ");
    if day == "last day" {
        return Some("L".to_owned());
    }
    let end = day.find(|c: char| !c.is_ascii_digit()).unwrap_or(day.len());
    let (number, ending) = day.split_at_checked(end)?;
    let number: u8 = number.parse().ok()?;
    let plain = matches!(ending, "" | "st" | "nd" | "rd" | "th");
    (plain && (1..=31).contains(&number)).then(|| number.to_string())
}

/// Days of the week by name: `mon,thu`, `monday to friday`, `mondays`, `on monday`, `next friday`.
fn named_days(text: &str, repeated: bool, today: Date) -> Option<Result<Days, ScheduleError>> {
    let on = text.strip_prefix("on ").unwrap_or(text);
    let next = on.strip_prefix("next ");
    let on = next.or_else(|| on.strip_prefix("this ")).unwrap_or(on);
    let words = on.replace(" to ", "-").replace(" through ", "-").replace(" and ", ",");
    let (mut list, mut plural, mut count) = (Vec::new(), repeated, 0);
    for word in words.split([',', ' ', '&']).map(str::trim).filter(|word| !word.is_empty()) {
        count += 1;
        if let Some((from, to)) = word.split_once('-') {
            let ((from, _), (to, _)) = (weekday(from)?, weekday(to)?);
            let (from, to) = (from.to_sunday_zero_offset(), to.to_sunday_zero_offset());
            list.push(format!("{from}-{to}"));
            count += 1;
            continue;
        }
        let (day, many) = weekday(word)?;
        plural |= many;
        list.push(day.to_sunday_zero_offset().to_string());
    }
    if plural && next.is_none() {
        return Some(Ok(Days::Fields("*".to_owned(), list.join(","))));
    }
    let (only, _) = weekday(on).filter(|_| count == 1 && !plural)?;
    if on.len() == text.len() {
        let hint = format!("write `every {text} at …` or `on {text} at …`");
        let what = format!("`{text}` may mean once or every week");
        return Some(Err(ScheduleError::new(what, hint)));
    }
    let ahead = today.weekday().until(only);
    let ahead = if ahead == 0 && next.is_some() { 7 } else { ahead };
    Some(Ok(Days::Date(today.checked_add(i64::from(ahead).days()).ok())))
}
