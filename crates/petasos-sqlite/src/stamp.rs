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

/// A new identity of a row: a UUID of version 7 that sorts behind the last one of its table.
pub(crate) fn new_row_id(last: Option<&str>) -> String {
    // Twelve bits below the millisecond count rows; a full count borrows from the future.
    let now = u64::try_from(now_ms()).unwrap_or_default() << 12;
    let stamp = last.and_then(stamp_of).map_or(now, |last| now.max(last + 1));
    let mut random = [0_u8; 8];
    if getrandom::fill(&mut random).is_err() {
        random = ((u64::from(std::process::id()) << 20) | (stamp & 0xfff)).to_be_bytes();
    }
    let tail = (u64::from_be_bytes(random) & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    let (ms, count) = (stamp >> 12, stamp & 0xfff);
    format!(
        "{:08x}-{:04x}-7{count:03x}-{:04x}-{:012x}",
        ms >> 16,
        ms & 0xffff,
        tail >> 48,
        tail & 0xffff_ffff_ffff
    )
}

/// Milliseconds and count of an identity.
fn stamp_of(id: &str) -> Option<u64> {
    let mut groups = id.split('-');
    let (high, low, count) = (groups.next()?, groups.next()?, groups.next()?);
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let ms = (number(high)? << 16) | number(low)?;
    Some((ms << 12) | (number(count)? & 0xfff))
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
    fn rows_sort_by_the_order_in_which_they_were_made() {
        let mut ids = vec![new_row_id(None)];
        for at in 0..5000 {
            ids.push(new_row_id(Some(&ids[at])));
        }
        assert!(ids.is_sorted() && ids.iter().all(|id| id.len() == 36));
        ids.dedup();
        assert_eq!(ids.len(), 5001);
    }

    #[test]
    fn identities_are_distinct_and_sortable() {
        let (one, other) = (new_session_id(), new_session_id());
        assert_ne!(one, other);
        assert_eq!(one.as_str().len(), 22);
    }
}
