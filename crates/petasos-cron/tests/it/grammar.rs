//! S121: the forms of a schedule, what they become, and what is refused with words to go on with.

use super::{at, plan, zone};
use petasos_cron::{Schedule, schedule};

/// A Wednesday, 10:30 in Berlin.
const NOW: &str = "2026-11-18T09:30:00Z";
const BERLIN: &str = "Europe/Berlin";

#[test]
fn s121_words_become_exact_schedules() {
    #[rustfmt::skip]
    let forms = [
        ("30m", "2026-11-18T11:00:00+01:00"),
        ("2h15m", "2026-11-18T12:45:00+01:00"),
        ("1d", "2026-11-19T10:30:00+01:00"),
        ("in 90 minutes", "2026-11-18T12:00:00+01:00"),
        ("in half an hour", "2026-11-18T11:00:00+01:00"),
        ("in an hour", "2026-11-18T11:30:00+01:00"),
        ("tomorrow 8am", "2026-11-19T08:00:00+01:00"),
        ("Tomorrow at 8", "2026-11-19T08:00:00+01:00"),
        ("tomorrow 8:15 pm", "2026-11-19T20:15:00+01:00"),
        ("today at noon", "2026-11-18T12:00:00+01:00"),
        ("tonight at 21:30", "2026-11-18T21:30:00+01:00"),
        ("at 9:00", "2026-11-19T09:00:00+01:00"),
        ("at 18:00", "2026-11-18T18:00:00+01:00"),
        ("on wednesday at 11", "2026-11-18T11:00:00+01:00"),
        ("next wednesday at 11", "2026-11-25T11:00:00+01:00"),
        ("on monday at 9", "2026-11-23T09:00:00+01:00"),
        ("day after tomorrow at midnight", "2026-11-20T00:00:00+01:00"),
        ("2026-12-24T18:00", "2026-12-24T18:00:00+01:00"),
        ("2026-12-24 9:30", "2026-12-24T09:30:00+01:00"),
        ("2026-12-24", "2026-12-24T00:00:00+01:00"),
        ("2026-12-24T18:00Z", "2026-12-24T19:00:00+01:00"),
        ("2026-12-24T18:00:30-05:00", "2026-12-25T00:00:30+01:00"),
        ("2027-07-01T12:00[America/New_York]", "2027-07-01T18:00:00+02:00"),
        ("every 30m", "every 30m"),
        ("every hour", "every 1h"),
        ("every 2 hours", "every 2h"),
        ("every 1d", "every 1d"),
        ("every day at 09:00", "0 9 * * *"),
        ("every 1d at 09:00", "0 9 * * *"),
        ("daily at 9:05", "5 9 * * *"),
        ("every mon,thu at 18:30", "30 18 * * 1,4"),
        ("every Monday and Thursday at 6:30pm", "30 18 * * 1,4"),
        ("weekdays at 7:15", "15 7 * * 1-5"),
        ("every weekday at 9", "0 9 * * 1-5"),
        ("every weekday 9:00", "0 9 * * 1-5"),
        ("mondays at 8", "0 8 * * 1"),
        ("monday to friday at 8 and 17", ""),
        ("every monday to friday at 8 and 17", "0 8,17 * * 1-5"),
        ("weekends at noon", "0 12 * * 0,6"),
        ("every month on the 1st at 9:00", "0 9 1 * *"),
        ("on the last day of the month at 17:00", "0 17 L * *"),
        ("0 9 * * 1-5", "0 9 * * 1-5"),
        ("*/15 8-18 * jan-mar MON,wed", "*/15 8-18 * jan-mar MON,wed"),
        ("0 0 L * *", "0 0 L * *"),
        ("0 9 15W * fri#2", "0 9 15W * fri#2"),
        ("@daily", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        ("CRON_TZ=Asia/Tokyo 0 9 * * *", "0 9 * * *"),
    ];
    for (text, wanted) in forms {
        let parsed = schedule::parse(text, &zone(BERLIN), at(NOW));
        let exact = parsed.as_ref().map(|it| it.schedule.exact()).unwrap_or_default();
        assert_eq!(exact, wanted, "{text}: {parsed:?}");
    }
    assert_eq!(plan("CRON_TZ=asia/tokyo 0 9 * * *", BERLIN, NOW).zone.name(), "Asia/Tokyo");
}

#[test]
fn s121_what_could_mean_two_things_is_refused_with_a_hint() {
    for (text, word) in [
        ("", "examples"),
        ("soon", "examples"),
        ("0 0 9 * * *", "five"),
        ("* * * *", "five"),
        ("60 * * * *", "minute"),
        ("0 24 * * *", "hour"),
        ("0 0 0 * *", "day of the month"),
        ("0 0 * 13 *", "month"),
        ("0 0 * * 8", "day of the week"),
        ("*/0 * * * *", "minute"),
        ("*/90 * * * *", "every 90m"),
        ("? 0 * * *", "minute"),
        ("0 0 * * L", "5L"),
        ("0 0 * * fri#6", "1 to 5"),
        ("0 0 30 2 *", "never comes"),
        ("@reboot", "@daily"),
        ("every 30s", "too often"),
        ("every day", "at what time"),
        ("every week", "names no day"),
        ("every month at 9", "names no day"),
        ("every 2d at 9", "examples"),
        ("monday at 9", "every monday at"),
        ("every day at 9:00 and 17:30", "each of them"),
        ("every day at 25:00", "examples"),
        ("tomorrow", "at what time"),
        ("2026-11-18T09:00", "is over"),
        ("2026-13-01T09:00", "date and time"),
        ("CRON_TZ=Mars/Olympus 0 9 * * *", "no time zone"),
        ("CRON_TZ=UTC+2 0 9 * * *", "no time zone"),
        ("CRON_TZ=UTC", "only a zone"),
        ("11 years", "examples"),
        ("9999999999999999999m", "examples"),
    ] {
        let refused = schedule::parse(text, &zone(BERLIN), at(NOW)).unwrap_err().to_string();
        assert!(refused.contains(word), "{text}: {refused}");
    }
    // Two minutes ago is now.
    let just = schedule::parse("2026-11-18T10:29", &zone(BERLIN), at(NOW));
    assert!(just.is_ok(), "{just:?}");
}

#[test]
fn special_days_are_the_right_ones() {
    let dates = |text: &str| -> Vec<String> {
        let list = plan(text, "UTC", NOW).upcoming(at(NOW), 4);
        list.iter().map(|at| at.strftime("%F").to_string()).collect()
    };
    assert_eq!(dates("0 0 L * *"), ["2026-11-30", "2026-12-31", "2027-01-31", "2027-02-28"]);
    assert_eq!(dates("0 0 L-2 * *"), ["2026-11-28", "2026-12-29", "2027-01-29", "2027-02-26"]);
    // The 15th of November 2026 is a Sunday, the 1st of August 2027 too; 1 May 2027 is a Saturday.
    assert_eq!(dates("0 0 15W * *"), ["2026-12-15", "2027-01-15", "2027-02-15", "2027-03-15"]);
    assert_eq!(dates("0 0 1W 5,8 *"), ["2027-05-03", "2027-08-02", "2028-05-01", "2028-08-01"]);
    assert_eq!(dates("0 0 LW * *"), ["2026-11-30", "2026-12-31", "2027-01-29", "2027-02-26"]);
    assert_eq!(dates("0 0 * * 5L"), ["2026-11-27", "2026-12-25", "2027-01-29", "2027-02-26"]);
    assert_eq!(dates("0 0 * * fri#2"), ["2026-12-11", "2027-01-08", "2027-02-12", "2027-03-12"]);
    assert_eq!(dates("0 0 * * fri#5"), ["2027-01-29", "2027-04-30", "2027-07-30", "2027-10-29"]);
    assert_eq!(dates("0 0 13 * fri"), ["2026-11-20", "2026-11-27", "2026-12-04", "2026-12-11"]);
    assert_eq!(dates("0 0 * * fri-mon"), ["2026-11-20", "2026-11-21", "2026-11-22", "2026-11-23"]);
    assert_eq!(dates("0 0 * * 7"), ["2026-11-22", "2026-11-29", "2026-12-06", "2026-12-13"]);
}

#[test]
fn a_stored_schedule_is_the_same_schedule() {
    for text in ["30m", "every 2h15m", "0 9 * * 1-5", "tomorrow 8am", "CRON_TZ=UTC @weekly"] {
        let schedule = plan(text, BERLIN, NOW);
        assert_eq!(Schedule::restore(&schedule.stored()).unwrap(), schedule, "{text}");
        // What is shown can be written again.
        let exact = schedule.exact();
        let again = schedule::parse(&exact, &schedule.zone, at(NOW)).unwrap().schedule;
        assert_eq!(again.upcoming(at(NOW), 5), schedule.upcoming(at(NOW), 5), "{exact}");
    }
    let mut broken = plan("30m", BERLIN, NOW).stored();
    broken.kind = "sometimes".to_owned();
    assert!(Schedule::restore(&broken).unwrap_err().to_string().contains("cron edit"));
}
