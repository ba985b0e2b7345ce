//! Batches: in order, complete, at most eight at once, interruptible and bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use petasos_contract::call::{Disposition, Status, ToolCall, ToolResult};
use petasos_contract::tool::{Concurrency, Limit, Tool, ToolError};
use petasos_contract::{Args, CallContext, ToolOutput};
use proptest::prelude::*;
use serde_json::json;

use super::{WORKERS_MAX, run};
use crate::probe::{Outcome, Scripted, Seen, World, error_of, settings_with};
use crate::registry::Entry;

/// How many handlers run now, and how many ran at once at most.
#[derive(Default)]
struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
    ran: AtomicUsize,
}

impl Gauge {
    fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.ran.fetch_add(1, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Sleeps as long as `ms` says and gives `n` back; behaves badly when told to.
async fn work(args: Args, gauge: Arc<Gauge>) -> Outcome {
    gauge.enter();
    let ms = args.get("ms").and_then(serde_json::Value::as_u64).unwrap_or(10);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    gauge.leave();
    match args.text("act") {
        Some("panic") => panic!("as told"),
        Some("raise") => Err(ToolError::new("IoError", "as told")),
        _ => Ok(ToolOutput::json(&json!({ "n": args.get("n") }))),
    }
}

fn world(gauge: &Arc<Gauge>) -> World {
    let kinds = [
        ("safe", Concurrency::Safe),
        ("barrier", Concurrency::Barrier),
        ("by_path", Concurrency::ByPath { path: "path", alone: &[] }),
    ];
    let tool = |(name, concurrency): (&str, Concurrency)| {
        let gauge = Arc::clone(gauge);
        let tool = Scripted::new(move |args, _: CallContext| work(args, Arc::clone(&gauge)));
        let schema = crate::probe::schema(&json!({}));
        let mut entry = Entry::new(name, "test", schema, Arc::new(tool));
        entry.concurrency = concurrency;
        entry
    };
    World::with(kinds.into_iter().map(tool).collect())
}

fn calls(names: &[&str], arguments: &serde_json::Value) -> Vec<ToolCall> {
    let call = |(n, name): (usize, &&str)| {
        let mut arguments = arguments.clone();
        arguments["n"] = n.into();
        ToolCall::new(format!("id-{n}"), *name, arguments.to_string())
    };
    names.iter().enumerate().map(call).collect()
}

fn ids(results: &[ToolResult]) -> Vec<&str> {
    results.iter().map(|result| result.id.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn at_most_eight_calls_run_at_once() {
    let gauge = Arc::new(Gauge::default());
    let world = world(&gauge);
    let before = tokio::time::Instant::now();
    let results =
        run(&world.dispatcher(), calls(&["safe"; 20], &json!({ "ms": 100 })), &world.cx()).await;
    assert_eq!(gauge.most.load(Ordering::SeqCst), WORKERS_MAX);
    assert_eq!(before.elapsed().as_millis(), 300, "three waves of eight");
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result.content.text(), format!("{{\"n\":{n}}}"));
    }
    assert_eq!(world.recorder.counts(), (20, 20));
}

#[tokio::test(start_paused = true)]
async fn a_barrier_runs_alone_and_in_its_place() {
    let gauge = Arc::new(Gauge::default());
    let world = world(&gauge);
    let batch = calls(&["barrier", "barrier", "barrier"], &json!({}));
    run(&world.dispatcher(), batch, &world.cx()).await;
    assert_eq!(gauge.most.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn malformed_arguments_fail_alone() {
    let gauge = Arc::new(Gauge::default());
    let world = world(&gauge);
    let mut batch = calls(&["safe"; 5], &json!({}));
    batch[2] = ToolCall::new("id-2", "safe", "{broken");
    let results = run(&world.dispatcher(), batch, &world.cx()).await;
    assert_eq!(ids(&results), ["id-0", "id-1", "id-2", "id-3", "id-4"]);
    assert_eq!(error_of(&results[2]), "Invalid tool arguments");
    assert_eq!(gauge.ran.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn two_writes_to_one_file_never_overlap() {
    let gauge = Arc::new(Gauge::default());
    let world = world(&gauge);
    let batch = calls(&["by_path", "by_path"], &json!({ "path": "x/f" }));
    let results = run(&world.dispatcher(), batch, &world.cx()).await;
    assert_eq!((results.len(), gauge.most.load(Ordering::SeqCst)), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_takes_too_long_ends_with_a_result_for_each_call() {
    let gauge = Arc::new(Gauge::default());
    let mut world = world(&gauge);
    let folder = tempfile::tempdir().unwrap();
    let limit = [("HERMES_CONCURRENT_TOOL_TIMEOUT_S", "2.5")];
    world.settings = settings_with(&json!({}), &limit, folder.path());
    let mut batch = calls(&["safe"; 10], &json!({ "ms": 60_000 }));
    batch[1] = ToolCall::new("id-1", "safe", r#"{"n": 1, "ms": 100}"#);
    let results = run(&world.dispatcher(), batch, &world.cx()).await;
    assert_eq!(results[1].status, Status::Ok, "a result that arrived is kept");
    let overdue = &results[0];
    assert_eq!((overdue.status, overdue.error_type), (Status::Timeout, Some("tool_timeout")));
    assert_eq!(overdue.disposition, Disposition::Unknown);
    let error = error_of(overdue);
    assert!(error.contains("`safe`") && error.contains("2.5 s"), "{error}");
    // Seven slots were taken all the time and the eighth was passed on once: the tenth call came
    // to its turn when the time was up.
    assert_eq!((results[9].status, results[9].disposition), (Status::Timeout, Disposition::None));
    assert!(error_of(&results[9]).contains("not started"));
    assert_eq!(world.recorder.counts(), (10, 10), "each told its hooks how it ended");
    let timeouts = |seen: &&Seen| matches!(seen, Seen::Post { status: Status::Timeout, .. });
    assert_eq!(world.recorder.seen().iter().filter(timeouts).count(), 9);
}

#[tokio::test(start_paused = true)]
async fn the_batch_limit_can_be_changed_and_taken_away() {
    let table = [("0", None), ("-1", None), ("7", Some(7)), ("soon", Some(420))];
    for (value, wanted) in table {
        let folder = std::env::temp_dir();
        let variables = [("HERMES_CONCURRENT_TOOL_TIMEOUT_S", value)];
        let cx = crate::probe::context(&settings_with(&json!({}), &variables, &folder));
        assert_eq!(super::batch_limit(None, &cx), wanted.map(Duration::from_secs), "{value}");
    }
    let cx = crate::probe::context(&crate::probe::settings(&json!({})));
    let quarter = Duration::from_mins(15);
    assert_eq!(super::batch_limit(None, &cx), Some(super::BATCH_LIMIT));
    assert_eq!(super::batch_limit(Some(quarter), &cx), Some(quarter));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_before_a_batch_starts_nothing() {
    let gauge = Arc::new(Gauge::default());
    let world = world(&gauge);
    let cx = world.cx();
    cx.cancel.cancel();
    let batch = calls(&["safe", "safe", "barrier"], &json!({}));
    let results = run(&world.dispatcher(), batch, &cx).await;
    for result in &results {
        assert_eq!((result.status, result.disposition), (Status::Cancelled, Disposition::None));
        let text = result.content.text();
        assert!(text.starts_with('[') && text.contains(result.name.as_str()), "{text}");
    }
    assert_eq!((gauge.ran.load(Ordering::SeqCst), world.recorder.counts()), (0, (0, 0)));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_during_a_batch_ends_what_runs_and_skips_the_rest() {
    let gauge = Arc::new(Gauge::default());
    let world = world(&gauge);
    let cx = world.cx();
    let batch = calls(&["safe", "safe", "barrier", "safe"], &json!({ "ms": 60_000 }));
    let dispatcher = world.dispatcher();
    let before = tokio::time::Instant::now();
    let (results, ()) = tokio::join!(run(&dispatcher, batch, &cx), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cx.cancel.cancel();
    });
    assert!(before.elapsed() < Duration::from_secs(2));
    let ends: Vec<_> = results.iter().map(|result| (result.status, result.disposition)).collect();
    let (ended, skipped) = (Disposition::Unknown, Disposition::None);
    let all = Status::Cancelled;
    assert_eq!(ends, [(all, ended), (all, ended), (all, skipped), (all, skipped)]);
    assert_eq!(world.recorder.counts(), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_cannot_be_stopped_is_left_behind() {
    use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment};
    /// Never lets go of a call that has ended.
    struct Holds;
    impl Hook for Holds {
        fn name(&self) -> &'static str {
            "holds"
        }
        fn wants(&self) -> HookSet {
            HookSet::of(&[HookKind::PostToolCall])
        }
        fn fire<'a>(
            &'a self,
            _: &'a Moment<'a>,
        ) -> petasos_contract::BoxFuture<'a, Result<Directive, HookError>> {
            Box::pin(std::future::pending())
        }
    }
    let world = world(&Arc::new(Gauge::default()));
    world.hooks.register(&(Arc::new(Holds) as Arc<dyn Hook>));
    let cx = world.cx();
    let dispatcher = world.dispatcher();
    let batch = calls(&["safe"; 12], &json!({ "ms": 60_000 }));
    let (ended, interrupted) = tokio::join!(
        async {
            let results = run(&dispatcher, batch, &cx).await;
            (results, tokio::time::Instant::now())
        },
        async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            cx.cancel.cancel();
            tokio::time::Instant::now()
        }
    );
    let (results, ended) = ended;
    assert!(ended - interrupted < Duration::from_secs(1), "{:?}", ended - interrupted);
    assert!(results.iter().all(|result| result.status == Status::Cancelled));
    assert!(results[0].content.text().contains("cancelled"));
}

#[tokio::test]
async fn a_turn_that_is_too_large_moves_its_largest_results_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let sized = Scripted::new(|args: Args, _: CallContext| async move {
        let chars = args.get("chars").and_then(serde_json::Value::as_u64).unwrap_or_default();
        let mark = args.text("mark").unwrap_or_default().to_owned();
        Ok(ToolOutput::Text(mark + &"x".repeat(usize::try_from(chars).unwrap())))
    });
    let sized = Arc::new(sized);
    let mut reading = crate::probe::entry("read_file", "file", Arc::clone(&sized) as Arc<dyn Tool>);
    reading.result_chars_max = Limit::Unlimited;
    let mut world = World::with(vec![crate::probe::entry("sized", "test", sized), reading]);
    world.settings = settings_with(&json!({}), &[], folder.path());
    let call = |n: usize, chars: usize, mark: &str| {
        let arguments = json!({ "chars": chars, "mark": mark }).to_string();
        ToolCall::new(format!("id-{n}"), "sized", arguments)
    };
    let batch = vec![
        call(0, 60_000, ""),
        call(1, 90_000, "<persisted-output> is only mentioned here"),
        call(2, 70_000, ""),
        call(3, 500, ""),
        call(4, 120_000, ""),
    ];
    let results = run(&world.dispatcher(), batch, &world.cx()).await;
    let moved: Vec<bool> = results
        .iter()
        .map(|result| result.content.text().starts_with("<persisted-output>\n"))
        .collect();
    assert_eq!(moved, [false, true, false, false, true]);
    let total: usize = results.iter().map(|result| result.content.chars()).sum();
    assert!(total <= 200_000);
    let shown = results[4].content.text();
    let path = shown.split_once("All of it is in ").unwrap().1.split_once(": page").unwrap().0;
    let kept = std::fs::read_to_string(path).unwrap();
    assert_eq!(kept.len(), 120_000, "what was moved before is not moved again");

    let read = |n: usize| ToolCall { name: "read_file".into(), ..call(n, 150_000, "") };
    let results = run(&world.dispatcher(), vec![read(0), read(1)], &world.cx()).await;
    assert!(results.iter().all(|result| result.content.chars() == 150_000), "what reads stays");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_batch_gives_one_result_per_call_in_order(
        batch in prop::collection::vec(
            (
                prop::sample::select(vec!["safe", "barrier", "by_path", "unknown", "tool_search"]),
                prop::sample::select(vec![
                    "{}", "[]", "", "{\"act\": \"panic\"}", "{\"act\": \"raise\"}", "no json",
                    "{\"path\": \"a\"}", "{\"path\": \"a/b\"}", "{\"ms\": 500}",
                ]),
            ),
            0..14,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let world = world(&Arc::new(Gauge::default()));
        let calls: Vec<ToolCall> = batch
            .iter()
            .enumerate()
            .map(|(n, (name, arguments))| ToolCall::new(format!("id-{n}"), *name, *arguments))
            .collect();
        let wanted: Vec<String> = calls.iter().map(|call| call.id.to_string()).collect();
        let results = runtime.block_on(run(&world.dispatcher(), calls, &world.cx()));
        prop_assert_eq!(ids(&results), wanted);
        let (pre, post) = world.recorder.counts();
        prop_assert_eq!(pre, post);
    }
}
