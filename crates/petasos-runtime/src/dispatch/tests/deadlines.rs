//! Whose time counts: the tool's own, not the usual one, and never a person's.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Scope, Verdict, Who};
use petasos_contract::call::{Status, ToolCall};
use petasos_contract::tool::Concurrency;
use petasos_contract::{Args, BoxFuture, CallContext, ToolOutput};

use crate::probe::{Judge, Scripted, World, entry, finding};
use crate::round;

/// A tool that works for so long and may work for so long.
fn works(seconds: u64, limit: Option<u64>) -> Arc<Scripted> {
    let mut tool = Scripted::new(move |_: Args, _: CallContext| async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        Ok(ToolOutput::Text("{}".to_owned()))
    });
    tool.time_limit = limit.map(Duration::from_secs);
    Arc::new(tool)
}

/// Says yes after a while.
struct Slow(Duration);

impl Approver for Slow {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest, _: &'a CallContext) -> BoxFuture<'a, Answer> {
        Box::pin(async {
            tokio::time::sleep(self.0).await;
            Answer::Allowed { scope: Scope::Once, by: Who::Person(None) }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_has_the_time_that_it_states() {
    for (seconds, limit, status) in [
        (600, None, Status::Ok),
        (690, None, Status::Timeout),
        (690, Some(960), Status::Ok),
        (1000, Some(960), Status::Timeout),
        // A tool ends itself earlier than the usual time; nobody cuts it there.
        (600, Some(5), Status::Ok),
    ] {
        let result = World::of(works(seconds, limit)).call("probe", "{}").await;
        assert_eq!(result.status, status, "{seconds} s, limit {limit:?}: {result:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_person_counts_against_nobody() {
    // (the answer takes, the work takes, the caller waits)
    for (asked, work, caller) in [(1000, 580, None), (100, 580, Some(600)), (3600, 10, Some(60))] {
        let mut world = World::of(works(work, None));
        world.policy = Judge::new(|_| Verdict::Ask(vec![finding("risky", Scope::Once)]));
        world.approver = Arc::new(Slow(Duration::from_secs(asked)));
        let mut cx = world.cx();
        if let Some(seconds) = caller {
            cx.deadline = tokio::time::Instant::now().into_std() + Duration::from_secs(seconds);
        }
        let result = world.call_in("probe", "{}", &cx).await;
        assert_eq!(result.status, Status::Ok, "{asked} s, {work} s, {caller:?}: {result:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_waits_for_people_and_for_those_who_said_how_long_they_take() {
    let mut long = entry("long", "test", works(690, Some(960)));
    let mut usual = entry("usual", "test", works(400, None));
    (long.concurrency, usual.concurrency) = (Concurrency::Safe, Concurrency::Safe);
    let mut world = World::with(vec![long, usual]);
    world.policy = Judge::new(|intent| match intent.tool.as_str() {
        "usual" => Verdict::Ask(vec![finding("risky", Scope::Once)]),
        _ => Verdict::Allow,
    });
    world.approver = Arc::new(Slow(Duration::from_secs(500)));
    let call = |n: usize, name: &str| ToolCall::new(format!("id-{n}"), name, "{}");
    let batch = vec![call(0, "long"), call(1, "usual"), call(2, "usual")];
    let results = round::run(&world.dispatcher(), batch, &world.cx()).await;
    for result in results {
        assert_eq!(result.status, Status::Ok, "{result:?}");
    }
}
