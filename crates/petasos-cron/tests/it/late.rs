//! Instants that come late, and runs that meet.

use std::time::Duration;

use super::{at, plan};
use petasos_cron::late::{Meeting, Misfire, Overlap, due, meeting};

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;

/// How many instants are missed, how many run, how many are folded into that run.
fn counts(text: &str, misfire: Misfire, last: &str, now: &str) -> (u64, u64, u64) {
    let schedule = plan(text, "UTC", "2026-11-18T00:00:00Z");
    let Some(due) = due(&schedule, at(last), at(now), misfire) else { return (0, 0, 0) };
    let missed = due.missed.map_or(0, |missed| missed.count);
    (missed, u64::from(due.run.is_some()), due.run.map_or(0, |run| run.folded))
}

#[test]
fn s124_three_ways_to_be_late() {
    let daily = "0 9 * * *";
    let before = "2026-11-18T08:00:00Z";
    #[rustfmt::skip]
    let rows = [
        // A minute late, three hours late, three days and three hours late.
        (Misfire::Grace, "2026-11-18T09:01:00Z", (0, 1, 0)),
        (Misfire::Grace, "2026-11-18T12:00:00Z", (1, 0, 0)),
        (Misfire::Grace, "2026-11-21T12:00:00Z", (4, 0, 0)),
        (Misfire::Grace, "2026-11-21T10:59:00Z", (3, 1, 0)),
        (Misfire::Once, "2026-11-18T09:01:00Z", (0, 1, 0)),
        (Misfire::Once, "2026-11-18T12:00:00Z", (0, 1, 0)),
        (Misfire::Once, "2026-11-21T12:00:00Z", (0, 1, 3)),
        (Misfire::Skip, "2026-11-18T09:01:00Z", (0, 1, 0)),
        (Misfire::Skip, "2026-11-18T09:02:01Z", (1, 0, 0)),
        (Misfire::Skip, "2026-11-18T12:00:00Z", (1, 0, 0)),
        (Misfire::Skip, "2026-11-21T12:00:00Z", (4, 0, 0)),
    ];
    for (misfire, now, wanted) in rows {
        assert_eq!(counts(daily, misfire, before, now), wanted, "{misfire:?} {now}");
    }
}

#[test]
fn s124_the_grace_is_half_a_period_within_its_bounds() {
    for (text, runs, skips) in [
        ("every 2m", 2 * MINUTE, 2 * MINUTE),
        ("every 1h", 30 * MINUTE, 30 * MINUTE + 1),
        ("every 30d", 2 * HOUR, 2 * HOUR + 1),
    ] {
        let schedule = plan(text, "UTC", "2026-11-18T00:00:00Z");
        let first = schedule.next_after(at("2026-11-18T00:00:00Z")).unwrap();
        let looked = |late: u64| {
            let now = first.checked_add(Duration::from_secs(late)).unwrap();
            due(&schedule, at("2026-11-18T00:00:00Z"), now, Misfire::Grace).unwrap()
        };
        assert!(looked(runs).run.is_some(), "{text}");
        assert!(text == "every 2m" || looked(skips).run.is_none(), "{text}");
    }
}

#[test]
fn s124_a_one_shot_runs_within_two_minutes_or_when_it_must() {
    let once = "2026-11-18T09:00:00Z";
    let before = "2026-11-18T08:00:00Z";
    assert_eq!(counts(once, Misfire::Grace, before, "2026-11-18T09:02:00Z"), (0, 1, 0));
    assert_eq!(counts(once, Misfire::Grace, before, "2026-11-18T09:02:01Z"), (1, 0, 0));
    assert_eq!(counts(once, Misfire::Once, before, "2027-11-18T09:02:01Z"), (0, 1, 0));
    assert_eq!(counts(once, Misfire::Once, once, "2027-11-18T09:02:01Z"), (0, 0, 0), "it was");
}

#[test]
fn instants_are_counted_over_a_month_without_losing_one() {
    let (missed, run, _) =
        counts("* * * * *", Misfire::Grace, "2026-12-01T00:00:00Z", "2027-01-01T00:00:30Z");
    assert_eq!((missed, run), (31 * 24 * 60 - 1, 1));
}

#[test]
fn s126_three_ways_to_meet() {
    let three = |running, waiting| {
        [Overlap::Skip, Overlap::Queue, Overlap::Parallel].map(|way| meeting(way, running, waiting))
    };
    assert_eq!(three(0, 0), [Meeting::Run, Meeting::Run, Meeting::Run]);
    assert_eq!(three(1, 0), [Meeting::Skip, Meeting::Wait, Meeting::Run]);
    assert_eq!(three(1, 1), [Meeting::Skip, Meeting::Skip, Meeting::Run]);
    for (word, way) in [("skip", Overlap::Skip), ("queue", Overlap::Queue)] {
        assert_eq!(Overlap::named(word), Some(way));
    }
    assert_eq!(Misfire::named("never"), None);
}
