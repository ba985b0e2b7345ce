//! Reading what a token says about itself, without trusting it, and dates as the stores write them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The claims of a JSON web token; nothing when the text is not one. The signature is the
/// server's business: the claims only tell when to renew.
pub fn claims(token: &str) -> Option<Value> {
    let payload = token.split('.').nth(1)?.trim_end_matches('=');
    let bytes = URL_SAFE_NO_PAD.decode(payload).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// When a token says that it ends, in milliseconds since 1970.
pub fn expires_at_ms(token: &str) -> Option<u64> {
    claims(token)?.get("exp")?.as_u64().map(|seconds| seconds.saturating_mul(1000))
}

/// The ChatGPT account that a token belongs to.
pub fn chatgpt_account(token: &str) -> Option<String> {
    let claims = claims(token)?;
    let auth = claims.get("https://api.openai.com/auth")?;
    auth.get("chatgpt_account_id")?.as_str().map(str::to_owned)
}

/// Days since 1970 of a civil date (Howard Hinnant's algorithm).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Reads `2026-01-02T03:04:05.678Z`, also with an offset; milliseconds since 1970.
pub fn parse_date(text: &str) -> Option<u64> {
    let (date, rest) = text.trim().split_once(['T', ' '])?;
    let mut parts = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at_checked(zone_at)?;
    let mut clock = clock.splitn(3, ':');
    let hour = clock.next()?.parse::<i64>().ok()?;
    let minute = clock.next()?.parse::<i64>().ok()?;
    let second = clock.next().map_or(Some(0.0), |part| part.parse::<f64>().ok())?;
    if !second.is_finite() || !(0.0..61.0).contains(&second) {
        return None;
    }
    let offset_minutes = offset(zone)?;
    let minutes = days(year, month, day) * 1440 + hour * 60 + minute - offset_minutes;
    #[expect(clippy::cast_possible_truncation, reason = "below 61,000 by the check above")]
    let millis = (second * 1000.0) as i64;
    u64::try_from(minutes * 60_000 + millis).ok()
}

fn offset(zone: &str) -> Option<i64> {
    let (sign, digits) = match zone.chars().next() {
        None | Some('Z' | 'z') => return Some(0),
        Some('-') => (-1, zone.get(1..)?),
        Some(_) => (1, zone.get(1..)?),
    };
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { 0 } else { minutes.parse::<i64>().ok()? };
    Some(sign * (hours.parse::<i64>().ok()? * 60 + minutes))
}

/// Writes a time the way the stores write it.
pub fn format_date(at_ms: u64) -> String {
    let seconds = i64::try_from(at_ms / 1000).unwrap_or(i64::MAX);
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_survive_a_round_trip_and_offsets_are_honoured() {
        for at in [0, 951_782_400_000, 1_767_225_600_000, 4_102_444_800_000] {
            assert_eq!(parse_date(&format_date(at)), Some(at));
        }
        assert_eq!(format_date(1_767_225_600_000), "2026-01-01T00:00:00Z");
        assert_eq!(parse_date("2026-01-01T02:00:00+02:00"), Some(1_767_225_600_000));
        assert_eq!(parse_date("2026-01-01 00:00:00.5"), Some(1_767_225_600_500));
        assert_eq!(parse_date("tomorrow"), None);
    }

    #[test]
    fn a_token_tells_when_it_ends_and_junk_tells_nothing() {
        let body = URL_SAFE_NO_PAD.encode(r#"{"exp":1767225600}"#);
        assert_eq!(expires_at_ms(&format!("eyJ.{body}.sig")), Some(1_767_225_600_000));
        assert_eq!(expires_at_ms("sk-0123"), None);
    }
}
