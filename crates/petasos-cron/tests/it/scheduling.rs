//! Due times across schedulers that look, die and come back.

use std::time::Instant;

use petasos_cron::JobBody;
use petasos_cron::late::{Misfire, Overlap};
use petasos_store::{OccurrenceState, ScheduleStore as _};

use super::world::{Habit, World};
use super::{at, plan};

const NOW: &str = "2026-11-18T08:00:00Z";

fn states(rows: &[petasos_store::OccurrenceRow]) -> Vec<&'static str> {
    rows.iter().map(|row| row.new.state.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s122_a_thousand_jobs_due_at_once_run_once_each() {
    let world = World::new(at(NOW));
    let store = world.store();
    let schedule = plan("0 9 * * *", "UTC", NOW);
    for number in 0..1000 {
        world.job(&*store, &format!("{number:012x}"), &schedule, JobBody::default()).await;
    }
    let (one, other) = (world.scheduler(4), world.scheduler(4));
    world.clock.set(at("2026-11-18T09:00:00Z"));
    let began = Instant::now();
    let (first, second) = tokio::join!(one.look(), other.look());
    let looked = began.elapsed();
    let claimed = first.unwrap().claimed + second.unwrap().claimed;
    tokio::join!(one.idle(), other.idle());
    println!("1000 due jobs: claimed in {looked:?}, all run after {:?}", began.elapsed());
    assert_eq!(claimed, 1000);
    let called = world.worker.called.lock().clone();
    assert_eq!(called.len(), 1000);
    assert!(called.values().all(|count| *count == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s123_what_had_not_begun_runs_again_and_what_had_is_unknown() {
    let world = World::new(at(NOW));
    let store = world.store();
    let schedule = plan("0 9 * * *", "UTC", NOW);
    world.job(&*store, "00000000000a", &schedule, JobBody::default()).await;
    for (day, habit, wanted) in [
        ("2026-11-18", Habit::StuckBefore, ["interrupted", "succeeded"].as_slice()),
        ("2026-11-19", Habit::StuckAfter, ["unknown"].as_slice()),
    ] {
        let before = world.rows("00000000000a").await.len();
        *world.worker.habit.lock() = Some(match habit {
            Habit::StuckBefore => |_| Habit::StuckBefore,
            _ => |_| Habit::StuckAfter,
        });
        world.worker.called.lock().clear();
        let dying = world.scheduler(4);
        world.clock.set(at(&format!("{day}T09:00:00Z")));
        assert_eq!(dying.look().await.unwrap().claimed, 1);
        let id = loop {
            let rows = world.rows("00000000000a").await;
            let last = rows.last().unwrap();
            let ready = last.new.state == OccurrenceState::Running
                && (habit == Habit::StuckBefore || last.called);
            if ready {
                break last.id.clone();
            }
            tokio::task::yield_now().await;
        };
        drop(dying);
        world.died(std::slice::from_ref(&id));
        *world.worker.habit.lock() = None;
        world.clock.pass(60);
        let next = world.scheduler(4);
        next.look().await.unwrap();
        next.idle().await;
        next.look().await.unwrap();
        next.idle().await;
        let rows = world.rows("00000000000a").await;
        assert_eq!(states(&rows[before..]), wanted, "{habit:?}");
        let called: u32 = world.worker.called.lock().values().sum();
        assert_eq!(called, 1, "{habit:?}");
        let told = std::mem::take(&mut *world.worker.lost.lock());
        let wanted: &[String] = if habit == Habit::StuckAfter { &[id] } else { &[] };
        assert_eq!(told, wanted, "{habit:?}: what nobody knows the end of is told once");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s123_what_waited_for_a_place_when_the_program_ended_runs_in_the_next_one() {
    let world = World::new(at(NOW));
    let store = world.store();
    let schedule = plan("0 9 * * *", "UTC", NOW);
    let count = 450;
    for number in 0..count {
        world.job(&*store, &format!("{number:012x}"), &schedule, JobBody::default()).await;
    }
    // Two of them hold the places for as long as the program lives.
    *world.worker.habit.lock() = Some(|_| Habit::StuckAfter);
    let ending = world.scheduler(2);
    world.clock.set(at("2026-11-18T09:00:00Z"));
    assert_eq!(ending.look().await.unwrap().claimed, count);
    while world.worker.called.lock().len() < 2 {
        tokio::task::yield_now().await;
    }
    ending.drain(std::time::Duration::ZERO).await;
    assert_eq!(ending.look().await.unwrap().claimed, 0, "nothing begins any more");
    let called = world.worker.called.lock().len();
    assert_eq!(called, 2, "nobody moved up while it ended");
    *world.worker.habit.lock() = None;
    let next = world.scheduler(50);
    next.look().await.unwrap();
    next.idle().await;
    let called = world.worker.called.lock().clone();
    assert_eq!(called.len(), count, "none is forgotten, however many there were");
    assert!(called.values().all(|times| *times == 1), "{called:?}");
    assert!(world.worker.missed.lock().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s122_what_only_waited_for_a_place_outlives_any_number_of_deaths() {
    let world = World::new(at(NOW));
    let store = world.store();
    let schedule = plan("0 9 * * *", "UTC", NOW);
    for number in 0..4 {
        world.job(&*store, &format!("{number:012x}"), &schedule, JobBody::default()).await;
    }
    // Each of three schedulers dies with one run in its only place, and the others behind it.
    *world.worker.habit.lock() = Some(|_| Habit::StuckAfter);
    world.clock.set(at("2026-11-18T09:00:00Z"));
    for round in 1..=3 {
        let dying = world.scheduler(1);
        dying.look().await.unwrap();
        while world.worker.called.lock().len() < round {
            tokio::task::yield_now().await;
        }
        let ids = dying.claimed();
        drop(dying);
        world.died(&ids);
        world.clock.pass(61);
    }
    *world.worker.habit.lock() = None;
    let next = world.scheduler(1);
    for _ in 0..2 {
        next.look().await.unwrap();
        next.idle().await;
    }
    let mut last = Vec::new();
    for number in 0..4 {
        let rows = world.rows(&format!("{number:012x}")).await;
        let states = states(&rows);
        let (end, before) = states.split_last().unwrap();
        assert!(before.iter().all(|state| *state == "interrupted"), "{states:?}");
        last.push((*end, before.len()));
    }
    last.sort_unstable();
    assert_eq!(last, [("succeeded", 3), ("unknown", 0), ("unknown", 1), ("unknown", 2)]);
    assert!(world.worker.called.lock().values().all(|times| *times == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s123_what_was_interrupted_and_comes_too_late_is_noted_and_told() {
    let world = World::new(at(NOW));
    let store = world.store();
    let schedule = plan("0 9 * * *", "UTC", NOW);
    world.job(&*store, "00000000000a", &schedule, JobBody::default()).await;
    *world.worker.habit.lock() = Some(|_| Habit::StuckBefore);
    let dying = world.scheduler(1);
    world.clock.set(at("2026-11-18T09:00:00Z"));
    assert_eq!(dying.look().await.unwrap().claimed, 1);
    let ids = dying.claimed();
    drop(dying);
    world.died(&ids);
    *world.worker.habit.lock() = None;
    // Two hours are its grace, and the machine was off for eight.
    world.clock.set(at("2026-11-18T17:00:00Z"));
    let next = world.scheduler(1);
    for _ in 0..3 {
        next.look().await.unwrap();
        next.idle().await;
    }
    assert_eq!(states(&world.rows("00000000000a").await), ["interrupted", "skipped"]);
    let told = world.worker.missed.lock().clone();
    assert_eq!(told, [("00000000000a".to_owned(), 1)]);
    assert!(world.worker.called.lock().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s124_what_was_missed_is_noted_and_told_once() {
    let world = World::new(at(NOW));
    let store = world.store();
    let schedule = plan("0 9 * * *", "UTC", NOW);
    for (id, misfire) in [
        ("00000000000a", Misfire::Grace),
        ("00000000000b", Misfire::Once),
        ("00000000000c", Misfire::Skip),
    ] {
        let body = JobBody { misfire, ..JobBody::default() };
        world.job(&*store, id, &schedule, body).await;
    }
    world.clock.set(at("2026-11-21T12:00:00Z"));
    let scheduler = world.scheduler(4);
    for _ in 0..3 {
        scheduler.look().await.unwrap();
        scheduler.idle().await;
    }
    assert_eq!(states(&world.rows("00000000000a").await), ["skipped"]);
    assert_eq!(states(&world.rows("00000000000b").await), ["succeeded"]);
    assert_eq!(states(&world.rows("00000000000c").await), ["skipped"]);
    let skipped = &world.rows("00000000000a").await[0].new;
    assert_eq!((skipped.folded, skipped.reason.as_str()), (3, "missed"));
    let made_up = &world.rows("00000000000b").await[0].new;
    assert_eq!((made_up.folded, made_up.late_ms), (3, 3 * 3_600_000));
    let mut told = world.worker.missed.lock().clone();
    told.sort();
    assert_eq!(told, [("00000000000a".to_owned(), 4), ("00000000000c".to_owned(), 4)]);
    let late = world.worker.late.lock().clone();
    assert_eq!(late, [("00000000000b".to_owned(), 4)], "what runs late is told, too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s125_a_clock_that_goes_back_runs_nothing_twice_and_nothing_never() {
    let world = World::new(at(NOW));
    let store = world.store();
    world.job(&*store, "00000000000a", &plan("0 * * * *", "UTC", NOW), JobBody::default()).await;
    let scheduler = world.scheduler(4);
    let look = async || {
        scheduler.look().await.unwrap();
        scheduler.idle().await;
    };
    for hour in ["09", "10", "11"] {
        world.clock.set(at(&format!("2026-11-18T{hour}:00:00Z")));
        look().await;
    }
    // Two hours back: 10 and 11 come again and do not run again, 12 does.
    for minute in ["09:00:30", "10:00:00", "11:00:00", "12:00:00"] {
        world.clock.set(at(&format!("2026-11-18T{minute}Z")));
        look().await;
    }
    // Years ahead by mistake, and back: tomorrow's runs are not lost.
    world.clock.set(at("2040-01-01T00:00:00Z"));
    look().await;
    world.clock.set(at("2026-11-18T12:30:00Z"));
    look().await;
    world.clock.set(at("2026-11-18T13:00:00Z"));
    look().await;
    let called = world.worker.called.lock().clone();
    let hours: Vec<i64> = called
        .keys()
        .map(|(_, ms)| (ms - at("2026-11-18T00:00:00Z").as_millisecond()) / 3_600_000)
        .collect();
    assert!(called.values().all(|count| *count == 1), "{called:?}");
    assert_eq!(&hours[..5], [9, 10, 11, 12, 13]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s125_two_hours_ahead_and_nine_hours_asleep_are_outages() {
    let world = World::new(at(NOW));
    let store = world.store();
    world.job(&*store, "00000000000a", &plan("0 * * * *", "UTC", NOW), JobBody::default()).await;
    let scheduler = world.scheduler(4);
    // On time; then the clock goes two hours ahead; then the machine sleeps for nine hours.
    for now in ["09:00:00", "11:20:00", "20:25:00"] {
        world.clock.set(at(&format!("2026-11-18T{now}Z")));
        scheduler.look().await.unwrap();
        scheduler.idle().await;
    }
    let mut rows = store.occurrences(None, 100).await.unwrap();
    rows.sort_by_key(|row| row.new.scheduled_ms);
    let hour = |ms: i64| (ms - at("2026-11-18T00:00:00Z").as_millisecond()) / 3_600_000;
    let told: Vec<(i64, u64, &str, i64)> = rows
        .iter()
        .map(|row| {
            let new = &row.new;
            (hour(new.scheduled_ms), new.folded, new.state.as_str(), new.late_ms / 60_000)
        })
        .collect();
    let wanted = [
        (9, 0, "succeeded", 0),
        (10, 0, "skipped", 0),
        (11, 0, "succeeded", 20),
        (19, 7, "skipped", 0),
        (20, 0, "succeeded", 25),
    ];
    assert_eq!(told, wanted, "each instant ran once, late within its grace, or is noted as missed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s126_three_ways_to_meet_a_running_one() {
    let world = World::new(at(NOW));
    let store = world.store();
    let schedule = plan("* * * * *", "UTC", NOW);
    let jobs = [
        ("00000000000a", Overlap::Skip),
        ("00000000000b", Overlap::Queue),
        ("00000000000c", Overlap::Parallel),
    ];
    for (id, overlap) in jobs {
        world.job(&*store, id, &schedule, JobBody { overlap, ..JobBody::default() }).await;
    }
    *world.worker.habit.lock() = Some(|_| Habit::StuckAfter);
    let scheduler = world.scheduler(16);
    for minute in 1..=3 {
        world.clock.set(at(&format!("2026-11-18T08:{minute:02}:00Z")));
        scheduler.look().await.unwrap();
        while world.worker.called.lock().len() < 2 + minute {
            tokio::task::yield_now().await;
        }
    }
    let list = async |id: &str| states(&world.rows(id).await);
    assert_eq!(list("00000000000a").await, ["running", "skipped", "skipped"]);
    assert_eq!(list("00000000000b").await, ["running", "due", "skipped"]);
    assert_eq!(list("00000000000c").await, ["running", "running", "running"]);
    scheduler.drain(std::time::Duration::ZERO).await;
    assert_eq!(list("00000000000a").await, ["failed", "skipped", "skipped"]);
    let next = world.scheduler(4);
    *world.worker.habit.lock() = None;
    next.look().await.unwrap();
    next.idle().await;
    assert_eq!(list("00000000000b").await[1], "succeeded", "what waited runs in the next process");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_cannot_be_read_is_set_aside_and_stops_no_other() {
    let world = World::new(at(NOW));
    let store = world.store();
    let schedule = plan("0 9 * * *", "UTC", NOW);
    world.job(&*store, "00000000000a", &schedule, JobBody::default()).await;
    world.job(&*store, "00000000000b", &schedule, JobBody::default()).await;
    let row = store.job("00000000000a").await.unwrap().unwrap();
    let mut body = row.job.body;
    body.insert(
        "schedule".to_owned(),
        serde_json::json!({"kind": "cron", "expr": "?", "tz": "UTC"}),
    );
    let change =
        petasos_store::JobChange { body: Some(body), ..petasos_store::JobChange::default() };
    assert!(store.change_job("00000000000a", row.revision, change, 0).await.unwrap());
    world.clock.set(at("2026-11-18T09:00:00Z"));
    let scheduler = world.scheduler(4);
    scheduler.look().await.unwrap();
    scheduler.idle().await;
    assert_eq!(states(&world.rows("00000000000b").await), ["succeeded"]);
    let broken = store.job("00000000000a").await.unwrap().unwrap();
    assert_eq!(broken.job.state.as_str(), "failed");
    assert!(broken.why.contains("five"), "{}", broken.why);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_runs_as_often_as_it_may_and_a_run_on_demand_counts_apart() {
    let world = World::new(at(NOW));
    let store = world.store();
    let schedule = plan("* * * * *", "UTC", NOW);
    let repeat = petasos_cron::job::Repeat { times: Some(2), completed: 0 };
    world.job(&*store, "00000000000a", &schedule, JobBody { repeat, ..JobBody::default() }).await;
    let scheduler = world.scheduler(4);
    let row = store.job("00000000000a").await.unwrap().unwrap();
    let job = petasos_cron::Job::read(row).unwrap();
    assert_eq!(scheduler.run_now(&job).await.unwrap().new.state, OccurrenceState::Succeeded);
    for minute in 1..=4 {
        world.clock.set(at(&format!("2026-11-18T08:{minute:02}:00Z")));
        scheduler.look().await.unwrap();
        scheduler.idle().await;
    }
    let rows = world.rows("00000000000a").await;
    let triggers: Vec<&str> = rows.iter().map(|row| row.new.trigger.as_str()).collect();
    assert_eq!(triggers, ["manual", "schedule", "schedule"]);
    assert_eq!(store.job("00000000000a").await.unwrap().unwrap().job.state.as_str(), "completed");
}
