//! Schedules through their doors.
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod clock_changes;
mod desk;
mod grammar;
mod late;
mod model;
mod oracle;
mod scheduling;
mod world;

use jiff::Timestamp;
use petasos_cron::{Schedule, Zone, schedule};

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn plan(text: &str, name: &str, now: &str) -> Schedule {
    schedule::parse(text, &zone(name), at(now)).unwrap().schedule
}

/// The instants between two moments.
fn between(schedule: &Schedule, from: &str, until: &str) -> Vec<String> {
    let until = at(until);
    let next = |at: &Timestamp| schedule.next_after(*at);
    let all = std::iter::successors(schedule.next_after(at(from)), next);
    all.take_while(|at| *at <= until).map(|at| at.to_string()).collect()
}
