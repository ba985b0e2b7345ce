//! Execution middleware: the layers around the handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use petasos_contract::approval::{Answer, Scope, Verdict, Who};
use petasos_contract::call::Status;
use petasos_contract::hook::{Directive, Hook, OnFailure};
use petasos_contract::middleware::{AroundError, AroundMiddleware, Execution, Next};
use petasos_contract::tool::ToolError;
use petasos_contract::{BoxFuture, CallContext, ToolOutput};
use serde_json::json;

use crate::probe::{
    Answering, Judge, Recorder, Scripted, World, body, echo, error_of, finding, gives,
};

/// What a frame does.
#[derive(Clone, Copy)]
enum Act {
    Pass,
    Tag,
    Own,
    FailBefore,
    PanicBefore,
    FailAfter,
    PanicAfter,
    GiveUp,
    Change,
}

struct Frame(&'static str, Act);

impl AroundMiddleware for Frame {
    fn name(&self) -> &str {
        self.0
    }

    fn around<'a>(
        &'a self,
        call: Execution<'a>,
        next: Next<'a>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, AroundError>> {
        let mut args = call.args;
        Box::pin(async move {
            match self.1 {
                Act::Pass => Ok(next(args).await?),
                Act::Tag => match next(args).await? {
                    ToolOutput::Text(text) => Ok(ToolOutput::Text(format!("{}({text})", self.0))),
                    other => Ok(other),
                },
                Act::Own => Ok(ToolOutput::Text("own".to_owned())),
                Act::FailBefore => Err(AroundError::Failed("early".to_owned())),
                Act::PanicBefore => panic!("early"),
                Act::FailAfter => {
                    let _kept = next(args).await;
                    Err(AroundError::Failed("late".to_owned()))
                }
                Act::PanicAfter => {
                    let _kept = next(args).await;
                    panic!("late")
                }
                Act::GiveUp => {
                    let given = tokio::time::timeout(Duration::from_secs(1), next(args)).await;
                    given
                        .map_err(|_| AroundError::Failed("too slow".to_owned()))?
                        .map_err(Into::into)
                }
                Act::Change => {
                    args.object_mut().insert("changed".to_owned(), true.into());
                    Ok(next(args).await?)
                }
            }
        })
    }
}

fn framed(mut world: World, frames: &[(&'static str, Act)]) -> World {
    world.settings = crate::probe::settings(&json!({}));
    for (name, act) in frames {
        let frame = Arc::new(Frame(name, *act)) as Arc<dyn AroundMiddleware>;
        world.middleware.register_around(&frame);
    }
    world
}

fn counting(count: &Arc<AtomicUsize>) -> World {
    let count = Arc::clone(count);
    World::of(gives(move || {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(ToolOutput::Text("done".to_owned()))
    }))
}

/// Frames, the text they give, and how often the tool runs.
type Case = (&'static [(&'static str, Act)], &'static str, usize);

#[tokio::test]
async fn frames_nest_and_broken_ones_keep_the_result() {
    let table: [Case; 8] = [
        (&[("a", Act::Pass)], "done", 1),
        (&[("a", Act::Tag), ("b", Act::Tag)], "a(b(done))", 1),
        (&[("a", Act::Tag), ("b", Act::Own)], "a(own)", 0),
        (&[("a", Act::FailBefore), ("b", Act::Tag)], "b(done)", 1),
        (&[("a", Act::PanicBefore)], "done", 1),
        (&[("a", Act::FailAfter), ("b", Act::Tag)], "b(done)", 1),
        (&[("a", Act::Tag), ("b", Act::PanicAfter)], "a(done)", 1),
        (&[("a", Act::Tag), ("b", Act::FailBefore), ("c", Act::Tag)], "a(c(done))", 1),
    ];
    for (frames, wanted, runs) in table {
        let count = Arc::new(AtomicUsize::new(0));
        let world = framed(counting(&count), frames);
        assert_eq!(world.call("probe", "{}").await.content.text(), wanted);
        assert_eq!(count.load(Ordering::Relaxed), runs, "{wanted}");
        assert_eq!(world.recorder.counts(), (1, 1));
    }
}

#[tokio::test]
async fn a_failing_handler_is_told_as_it_is_through_every_frame() {
    let failing = gives(|| Err(ToolError::new("IoError", "gone")));
    let frames = [("a", Act::Pass), ("b", Act::FailAfter)];
    let world = framed(World::of(failing), &frames);
    let result = world.call("probe", "{}").await;
    assert_eq!(error_of(&result), "Tool execution failed: IoError: gone");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_a_frame_gave_up_on_is_not_run_again() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let slow = Scripted::new(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(ToolOutput::Text("done".to_owned()))
        }
    });
    let world = framed(World::of(Arc::new(slow)), &[("impatient", Act::GiveUp)]);
    let result = world.call("probe", "{}").await;
    assert_eq!(count.load(Ordering::Relaxed), 1);
    let wanted = "Error executing probe: middleware `impatient` failed while it ran: too slow";
    assert_eq!(error_of(&result), wanted);
}

#[tokio::test]
async fn changed_arguments_are_judged_again() {
    let judge = |changed: Verdict| {
        Judge::new(move |intent| {
            if intent.plan.args.get("changed").is_some() { changed.clone() } else { Verdict::Allow }
        })
    };
    let refusing = Verdict::Ask(vec![finding("risk", Scope::Always)]);
    for (verdict, wanted) in [(Verdict::Allow, None), (refusing, Some("approval_altered"))] {
        let mut world = World::of(echo());
        world.policy = judge(verdict);
        let world = framed(world, &[("changer", Act::Change)]);
        let result = world.call("probe", "{}").await;
        assert_eq!(result.error_type, wanted);
    }
}

#[tokio::test]
async fn consent_that_a_hook_demanded_covers_only_what_was_shown() {
    let mut world = World::of(echo());
    world.policy = Judge::new(|intent| match intent.escalated {
        [] => Verdict::Allow,
        escalated => Verdict::Ask(escalated.to_vec()),
    });
    let yes = || Answer::Allowed { scope: Scope::Once, by: Who::Person(None) };
    world.approver = Answering::new(yes);
    let ask = || Ok(Directive::AskHuman { message: "sure?".into(), rule_key: None });
    let hook = Recorder::answering("asks", OnFailure::Pass, ask);
    world.hooks.register(&(hook as Arc<dyn Hook>));
    let world = framed(world, &[("changer", Act::Change)]);
    let result = world.call("probe", "{}").await;
    assert_eq!((result.status, result.error_type), (Status::Blocked, Some("approval_altered")));
    world.middleware.deregister("changer");
    assert_eq!(body(&world.call("probe", "{}").await), json!({ "args": {} }));
}
