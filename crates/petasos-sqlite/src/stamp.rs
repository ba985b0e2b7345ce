//! Times in milliseconds, and session identities that sort by the time they were made.

use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::SessionId;

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A new identity: `YYYYMMDD_HHMMSS_` in UTC and six hexadecimal digits.
pub fn new_session_id() -> SessionId {
    let now = now_ms();
    let mut random = [0_u8; 3];
    if getrandom::fill(&mut random).is_err() {
        // Without a source of randomness the sub-second part still tells sessions apart.
        let [.., b, a] = now.to_be_bytes();
        random = [a, b, std::process::id().to_be_bytes()[3]];
    }
    let (date, time) = utc(now);
    let [a, b, c] = random;
    SessionId::new(format!(
        "{}_{}_{a:02x}{b:02x}{c:02x}",
        date.replace('-', ""),
        time.replace(':', "")
    ))
}

/// Date and time of day, `2026-01-31` and `23:59:59`, in UTC.
pub fn utc(ms: i64) -> (String, String) {
    let seconds = ms.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years that begin in March put the leap day last, so that months have fixed offsets.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let date = format!("{year:04}-{month:02}-{day:02}");
    let time = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    (date, time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_its_date() {
        for (ms, date, time) in [
            (0, "1970-01-01", "00:00:00"),
            (951_782_400_000, "2000-02-29", "00:00:00"),
            (1_767_225_599_999, "2025-12-31", "23:59:59"),
            (1_794_783_600_000, "2026-11-15", "23:00:00"),
        ] {
            assert_eq!(utc(ms), (date.to_owned(), time.to_owned()));
        }
    }

    #[test]
    fn identities_are_distinct_and_sortable() {
        let (one, other) = (new_session_id(), new_session_id());
        assert_ne!(one, other);
        assert_eq!(one.as_str().len(), 22);
    }
}
