//! Asking checks: once, at the same time, with a memory that is scoped and forgiving.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use petasos_contract::check::{Availability, Check, CheckScope};
use petasos_contract::clock::ManualClock;
use petasos_contract::context::CheckContext;
use serde_json::json;

use super::{Checks, How};
use crate::probe::{check, check_context, settings, settings_with};

/// A check that counts its probes and says what it is told to say.
#[derive(Clone, Default)]
struct Dial {
    asked: Arc<AtomicUsize>,
    broken: Arc<AtomicBool>,
}

impl Dial {
    fn check(&self, scope: CheckScope) -> Check {
        let dial = self.clone();
        check("dial", scope, move |_| {
            dial.asked.fetch_add(1, Ordering::Relaxed);
            Availability::when(!dial.broken.load(Ordering::Relaxed), "broken")
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn cx() -> CheckContext {
    check_context(&settings(&json!({})), "session")
}

async fn ask(checks: &Checks, check: &Check, cx: &CheckContext) -> (bool, How) {
    let answers = checks.answer([check], cx).await;
    let answer = &answers[check.id()];
    (answer.availability.is_ready(), answer.how)
}

#[tokio::test]
async fn a_shared_check_is_asked_once_per_call() {
    let dial = Dial::default();
    let (one, two) = (dial.check(CheckScope::Process), dial.check(CheckScope::Process));
    let answers = Checks::default().answer([&one, &two, &one], &cx()).await;
    assert_eq!((answers.len(), dial.asked()), (1, 1));
}

#[tokio::test]
async fn an_answer_holds_for_thirty_seconds() {
    let (clock, dial) = (Arc::new(ManualClock::new()), Dial::default());
    let checks = Checks::new(Arc::clone(&clock) as _);
    let (check, cx) = (dial.check(CheckScope::Process), cx());
    for (advance, how, asked) in
        [(0, How::Probed, 1), (29, How::Remembered, 1), (1, How::Probed, 2)]
    {
        clock.advance(Duration::from_secs(advance));
        assert_eq!(ask(&checks, &check, &cx).await, (true, how));
        assert_eq!(dial.asked(), asked);
    }
    checks.invalidate();
    assert_eq!(ask(&checks, &check, &cx).await, (true, How::Probed));
}

#[tokio::test]
async fn a_failure_soon_after_a_success_is_forgiven_and_asked_again() {
    let (clock, dial) = (Arc::new(ManualClock::new()), Dial::default());
    let checks = Checks::new(Arc::clone(&clock) as _);
    let (check, cx) = (dial.check(CheckScope::Process), cx());
    assert_eq!(ask(&checks, &check, &cx).await, (true, How::Probed));
    dial.broken.store(true, Ordering::Relaxed);
    clock.advance(Duration::from_secs(40));
    assert_eq!(ask(&checks, &check, &cx).await, (true, How::Forgiven));
    assert_eq!(ask(&checks, &check, &cx).await, (true, How::Forgiven));
    assert_eq!(dial.asked(), 3, "a forgiven answer is not remembered");
    clock.advance(Duration::from_secs(20));
    assert_eq!(ask(&checks, &check, &cx).await, (false, How::Probed));
    assert_eq!(ask(&checks, &check, &cx).await, (false, How::Remembered));
}

#[tokio::test]
async fn a_failure_without_a_success_before_is_believed() {
    let dial = Dial::default();
    dial.broken.store(true, Ordering::Relaxed);
    let checks = Checks::default();
    let (check, cx) = (dial.check(CheckScope::Process), cx());
    assert_eq!(ask(&checks, &check, &cx).await, (false, How::Probed));
    assert_eq!(ask(&checks, &check, &cx).await, (false, How::Remembered));
}

#[tokio::test]
async fn an_answer_is_shared_as_widely_as_the_check_says() {
    let (home, other_home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let here = settings_with(&json!({}), &[], home.path());
    let there = settings_with(&json!({}), &[], other_home.path());
    let contexts = [
        check_context(&here, "one"),
        check_context(&here, "two"),
        check_context(&there, "one"),
        check_context(&here, "one"),
    ];
    let table = [(CheckScope::Process, 1), (CheckScope::Profile, 2), (CheckScope::Session, 2)];
    for (scope, probes) in table {
        let (checks, dial) = (Checks::default(), Dial::default());
        for cx in &contexts {
            ask(&checks, &dial.check(scope), cx).await;
        }
        assert_eq!(dial.asked(), probes, "{scope:?}");
    }
    let (checks, dial) = (Checks::default(), Dial::default());
    let mut gateway = contexts[0].clone();
    gateway.surface = petasos_contract::context::Surface::Gateway;
    for cx in [&contexts[0], &gateway] {
        ask(&checks, &dial.check(CheckScope::Session), cx).await;
    }
    assert_eq!(dial.asked(), 2, "one session on two surfaces");
}

#[tokio::test(start_paused = true)]
async fn a_check_that_panics_or_hangs_means_missing() {
    let early = Check::new("early", CheckScope::Process, |_| panic!("no future"));
    let late = Check::new("late", CheckScope::Process, |_| Box::pin(async { panic!("in it") }));
    let hangs = Check::new("hangs", CheckScope::Process, |_| Box::pin(std::future::pending()));
    let fine = check("fine", CheckScope::Process, |_| Availability::Ready);
    let checks = Checks::default().with_probe_deadline(Duration::from_millis(200));
    let answers = checks.answer([&early, &late, &hangs, &fine], &cx()).await;
    let reason = |id: &str| match &answers[id].availability {
        Availability::Missing(reason) => reason.clone(),
        Availability::Ready => String::new(),
    };
    assert_eq!(reason("early"), "its check panicked");
    assert_eq!(reason("late"), "its check panicked");
    assert_eq!(reason("hangs"), "its check took longer than 200 ms");
    assert_eq!(reason("fine"), "");
}

#[tokio::test(start_paused = true)]
async fn slow_checks_are_asked_at_the_same_time() {
    let slow: Vec<Check> = (0..10)
        .map(|n| {
            Check::new(format!("slow-{n}"), CheckScope::Process, |_| {
                Box::pin(async {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    Availability::Ready
                })
            })
        })
        .collect();
    let before = tokio::time::Instant::now();
    let answers = Checks::default().answer(&slow, &cx()).await;
    assert_eq!(answers.len(), 10);
    assert_eq!(before.elapsed().as_millis(), 100);
}

#[tokio::test]
async fn sessions_that_are_over_are_forgotten() {
    let clock = Arc::new(ManualClock::new());
    let checks = Checks::new(Arc::clone(&clock) as _);
    let dial = Dial::default();
    let settings = settings(&json!({}));
    for n in 0..super::MEMORIES_MAX {
        let cx = check_context(&settings, &n.to_string());
        ask(&checks, &dial.check(CheckScope::Session), &cx).await;
    }
    clock.advance(Duration::from_secs(61));
    ask(&checks, &dial.check(CheckScope::Session), &check_context(&settings, "new")).await;
    assert_eq!(checks.memory.lock().len(), 1);
}

#[tokio::test]
async fn whoever_asks_at_the_same_time_waits_for_one_probe() {
    let (asked, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(tokio::sync::Semaphore::new(0)));
    let (counted, opens) = (Arc::clone(&asked), Arc::clone(&gate));
    let slow = Check::new("slow", CheckScope::Process, move |_| {
        let opens = Arc::clone(&opens);
        counted.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            drop(opens.acquire().await);
            Availability::Ready
        })
    });
    let (checks, cx) = (Checks::default(), cx());
    let chats = futures::future::join_all((0..100).map(|_| ask(&checks, &slow, &cx)));
    let (answers, ()) = tokio::join!(chats, async { gate.add_permits(1) });
    assert!(answers.iter().all(|(ready, _)| *ready));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(ask(&checks, &slow, &cx).await, (true, How::Remembered));
    assert!(checks.flights.lock().by_key.is_empty());
}

#[tokio::test]
async fn a_probe_that_began_before_an_invalidation_is_not_remembered_after_it() {
    let (dial, checks) = (Dial::default(), Arc::new(Checks::default()));
    let (inner, within) = (Arc::clone(&checks), dial.clone());
    let check = check("dial", CheckScope::Process, move |_| {
        if within.asked.fetch_add(1, Ordering::Relaxed) == 0 {
            inner.invalidate();
        }
        Availability::Ready
    });
    assert_eq!(ask(&checks, &check, &cx()).await, (true, How::Probed));
    assert_eq!(ask(&checks, &check, &cx()).await, (true, How::Probed));
    assert_eq!(dial.asked(), 2);
}
