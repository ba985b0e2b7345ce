//! S119: which instants a schedule has where clocks are changed.

use super::{at, between, plan, zone};
use petasos_cron::schedule;

const BERLIN: &str = "Europe/Berlin";
const NEW_YORK: &str = "America/New_York";
const LORD_HOWE: &str = "Australia/Lord_Howe";

#[test]
fn s119_every_row_of_the_table() {
    #[rustfmt::skip]
    let rows: &[(&str, &str, &str, &str, &[&str])] = &[
        ("30 2 * * *", BERLIN, "2027-03-27T12:00Z", "2027-03-29T12:00Z",
            &["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]),
        ("0 3 * * *", BERLIN, "2027-03-27T12:00Z", "2027-03-28T12:00Z", &["2027-03-28T01:00:00Z"]),
        ("0 2 * * *", BERLIN, "2027-03-27T12:00Z", "2027-03-28T12:00Z", &["2027-03-28T01:00:00Z"]),
        ("*/30 * * * *", BERLIN, "2027-03-28T00:00Z", "2027-03-28T01:30Z",
            &["2027-03-28T00:30:00Z", "2027-03-28T01:00:00Z", "2027-03-28T01:30:00Z"]),
        ("30 2 * * *", BERLIN, "2026-10-24T12:00Z", "2026-10-26T12:00Z",
            &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        ("0 3 * * *", BERLIN, "2026-10-24T12:00Z", "2026-10-25T12:00Z", &["2026-10-25T02:00:00Z"]),
        ("*/30 * * * *", BERLIN, "2026-10-24T23:30Z", "2026-10-25T02:00Z",
            &["2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z",
              "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"]),
        ("30 2,14 * * *", BERLIN, "2026-10-24T13:00Z", "2026-10-25T20:00Z",
            &["2026-10-25T00:30:00Z", "2026-10-25T13:30:00Z"]),
        ("30 2,14 * * *", BERLIN, "2027-03-27T14:00Z", "2027-03-28T20:00Z",
            &["2027-03-28T01:00:00Z", "2027-03-28T12:30:00Z"]),
        ("0 9 * * 1-5", BERLIN, "2026-10-23T07:30Z", "2026-10-26T20:00Z", &["2026-10-26T08:00:00Z"]),
        ("30 1 * * *", NEW_YORK, "2026-10-31T12:00Z", "2026-11-02T12:00Z",
            &["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]),
        ("30 2 * * *", NEW_YORK, "2027-03-13T12:00Z", "2027-03-14T20:00Z", &["2027-03-14T07:00:00Z"]),
        ("45 1 * * *", LORD_HOWE, "2027-04-03T00:00Z", "2027-04-04T20:00Z",
            &["2027-04-03T14:45:00Z", "2027-04-04T15:15:00Z"]),
        ("15 2 * * *", LORD_HOWE, "2026-10-03T00:00Z", "2026-10-04T00:00Z", &["2026-10-03T15:30:00Z"]),
    ];
    for (text, name, from, until, wanted) in rows {
        let schedule = plan(text, name, "2026-06-01T00:00:00Z");
        let (from, until) = (from.replace('Z', ":00Z"), until.replace('Z', ":00Z"));
        assert_eq!(between(&schedule, &from, &until), *wanted, "{text} {name}");
    }
}

#[test]
fn s119_two_schedules_in_one_gap_are_two_runs() {
    // `0 2` and `30 2` are two jobs; one schedule that names both times runs once.
    let from = "2027-03-27T12:00:00Z";
    for text in ["0 2 * * *", "30 2 * * *", "0,30 2 * * *"] {
        let found = between(&plan(text, BERLIN, from), from, "2027-03-28T12:00:00Z");
        assert_eq!(found, ["2027-03-28T01:00:00Z"], "{text}");
    }
}

#[test]
fn s119_intervals_do_not_know_of_clock_changes() {
    for name in [BERLIN, NEW_YORK, LORD_HOWE, "UTC", "Pacific/Apia"] {
        for now in ["2026-10-24T23:17:05Z", "2027-03-27T22:00:00Z", "2026-10-31T22:00:00Z"] {
            let schedule = plan("every 2h", name, now);
            let list = schedule.upcoming(at(now), 24);
            assert_eq!(list[0].duration_since(at(now)).as_secs(), 7200);
            let even = list.windows(2).all(|two| two[1].duration_since(two[0]).as_secs() == 7200);
            assert!(even, "{name} {now}");
        }
    }
}

#[test]
fn s119_once_in_an_overlap_and_in_a_gap() {
    let parse = |text| schedule::parse(text, &zone(BERLIN), at("2026-06-01T00:00:00Z")).unwrap();
    let twice = parse("2026-10-25T02:30");
    assert_eq!(
        twice.schedule.upcoming(at("2026-06-01T00:00:00Z"), 2),
        [at("2026-10-25T00:30:00Z")]
    );
    assert!(twice.told.is_empty());
    let never = parse("2027-03-28T02:30");
    assert_eq!(
        never.schedule.upcoming(at("2026-06-01T00:00:00Z"), 2),
        [at("2027-03-28T01:00:00Z")]
    );
    assert!(never.told[0].contains("does not exist in Europe/Berlin"), "{:?}", never.told);
}

#[test]
fn s119_days_that_not_every_month_has() {
    let from = "2026-11-01T00:00:00Z";
    let last = between(&plan("0 0 31 * *", "UTC", from), from, "2027-06-01T00:00:00Z");
    let days: Vec<&str> = last.iter().filter_map(|at| at.get(..10)).collect();
    assert_eq!(days, ["2026-12-31", "2027-01-31", "2027-03-31", "2027-05-31"]);
    let leap = between(&plan("0 0 29 2 *", "UTC", from), from, "2034-01-01T00:00:00Z");
    assert_eq!(leap, ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]);
    let century = plan("0 0 29 2 *", "UTC", from).next_after(at("2096-03-01T00:00:00Z"));
    assert_eq!(century, Some(at("2104-02-29T00:00:00Z")));
}

#[test]
fn a_day_that_a_zone_left_out_is_made_up_for_once() {
    // Samoa had no 30 December 2011.
    let schedule = plan("0 9 * * *", "Pacific/Apia", "2026-01-01T00:00:00Z");
    let found = between(&schedule, "2011-12-29T00:00:00Z", "2011-12-31T22:00:00Z");
    assert_eq!(
        found,
        [
            "2011-12-29T19:00:00Z",
            "2011-12-30T10:00:00Z",
            "2011-12-30T19:00:00Z",
            "2011-12-31T19:00:00Z"
        ]
    );
}

#[test]
fn transitions_are_remarked_upon() {
    let schedule = plan("30 2 * * *", BERLIN, "2026-06-01T00:00:00Z");
    let list = schedule.annotated(at("2027-03-26T12:00:00Z"), 3);
    let remarks: Vec<bool> = list.iter().map(|one| one.remark.is_some()).collect();
    assert_eq!(remarks, [false, true, false], "{list:?}");
    assert!(list[1].remark.as_deref().unwrap().contains("does not exist"));
    let list = plan("*/30 * * * *", BERLIN, "2026-06-01T00:00:00Z")
        .annotated(at("2026-10-25T00:01:00Z"), 3);
    assert!(list[0].remark.as_deref().unwrap().contains("first pass"));
    assert!(list[1].remark.as_deref().unwrap().contains("second pass"));
}
