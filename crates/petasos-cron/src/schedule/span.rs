//! Lengths of time as people write them: `30m`, `2h15m`, `90 minutes`.

use super::ScheduleError;

/// Nothing is planned further ahead.
const SPAN_MAX: u32 = 10 * 366 * 86_400;

/// How long between two instants of a grid: at least a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(u32);

impl Period {
    /// So many seconds; nothing below a minute.
    pub fn new(seconds: u32) -> Option<Self> {
        (60..=SPAN_MAX).contains(&seconds).then_some(Self(seconds))
    }

    /// In seconds.
    pub const fn seconds(self) -> u32 {
        self.0
    }
}

const UNITS: &[(&[&str], u32)] = &[
    (&["s", "sec", "secs", "second", "seconds"], 1),
    (&["m", "min", "mins", "minute", "minutes"], 60),
    (&["h", "hr", "hrs", "hour", "hours"], 3600),
    (&["d", "day", "days"], 86_400),
    (&["w", "wk", "wks", "week", "weeks"], 604_800),
];

fn unit(word: &str) -> Option<u32> {
    UNITS.iter().find(|(names, _)| names.contains(&word)).map(|(_, seconds)| *seconds)
}

/// A length of time in seconds; nothing when the text is not one at all.
pub(super) fn parse(text: &str) -> Option<Result<u32, ScheduleError>> {
    let words = text.trim().to_lowercase().replace(',', " ").replace(" and ", " ");
    match words.as_str() {
        "half an hour" => return Some(Ok(1800)),
        "an hour and a half" | "an hour a half" => return Some(Ok(5400)),
        _ => {}
    }
    let mut rest = words.trim_start();
    let mut total: Option<u64> = None;
    let mut last = u32::MAX;
    while !rest.is_empty() {
        let (count, behind) = number(rest)?;
        let end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (name, behind) = behind.split_at_checked(end)?;
        let seconds = unit(name)?;
        if seconds >= last {
            let hint = "write the larger unit first and each once, such as `2h15m`";
            return Some(Err(ScheduleError::new(format!("`{text}` is no length of time"), hint)));
        }
        last = seconds;
        let part = u64::from(seconds).checked_mul(count)?;
        total = Some(total.unwrap_or_default().checked_add(part)?);
        rest = behind.trim_start();
    }
    let total = total?;
    match u32::try_from(total) {
        Ok(0) => Some(Err(ScheduleError::new("no time at all", "give at least a second"))),
        Ok(total) if total <= SPAN_MAX => Some(Ok(total)),
        _ => Some(Err(ScheduleError::new(
            format!("`{text}` is more than ten years"),
            "nothing is planned that far ahead",
        ))),
    }
}

/// A number in front of a unit; `a` and `an` count as one.
fn number(text: &str) -> Option<(u64, &str)> {
    for article in ["an ", "a ", "one "] {
        if let Some(rest) = text.strip_prefix(article) {
            return Some((1, rest.trim_start()));
        }
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest.trim_start()))
}

/// The shortest exact text of a length, `2h15m`.
pub fn display(period: Period) -> String {
    let mut left = period.seconds();
    let mut text = String::new();
    for (names, seconds) in UNITS.iter().rev() {
        let (Some(name), count) = (names.first(), left / seconds) else { continue };
        // Weeks are days in what we print: `1w2d` reads worse than `9d`.
        if count > 0 && *name != "w" {
            text.push_str(&count.to_string());
            text.push_str(name);
            left %= seconds;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_and_printed() {
        for (text, seconds) in [
            ("30m", 1800),
            ("2h15m", 8100),
            ("1d", 86_400),
            ("90 minutes", 5400),
            ("1 hour 30 minutes", 5400),
            ("an hour", 3600),
            ("half an hour", 1800),
            ("2 weeks", 1_209_600),
            ("1 day, 2 hours and 5 minutes", 93_900),
        ] {
            assert_eq!(parse(text), Some(Ok(seconds)), "{text}");
        }
        for text in ["", "m", "30", "30x", "1mo", "-5m", "1.5h", "noon", "5m5m5"] {
            assert!(!matches!(parse(text), Some(Ok(_))), "{text}");
        }
        for text in ["0m", "5m2h", "11000d", "1m 1m"] {
            assert!(matches!(parse(text), Some(Err(_))), "{text}");
        }
        let shown = |seconds| display(Period::new(seconds).unwrap());
        assert_eq!(
            (shown(8100), shown(90), shown(777_600)),
            ("2h15m".into(), "1m30s".into(), "9d".into())
        );
        assert!(Period::new(59).is_none());
    }
}
