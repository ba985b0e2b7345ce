//! An interrupt is over within a second, whoever on the way does not let go, and loses no output.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::approval::{Answer, Scope, Verdict, Who};
use petasos_contract::call::Status;
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment};
use petasos_contract::middleware::{MiddlewareError, RequestMiddleware, Rewrite};
use petasos_contract::{Args, BoxFuture, CallContext, ToolName, ToolOutput};
use serde_json::json;

use crate::probe::{Answering, Judge, Scripted, World, body, echo, error_of, finding};

/// Never lets go of one moment.
struct Holds(HookKind);

impl Hook for Holds {
    fn name(&self) -> &'static str {
        "holds"
    }

    fn wants(&self) -> HookSet {
        HookSet::of(&[self.0])
    }

    fn fire<'a>(&'a self, _: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        Box::pin(std::future::pending())
    }
}

impl RequestMiddleware for Holds {
    fn name(&self) -> &'static str {
        "holds"
    }

    fn rewrite<'a>(
        &'a self,
        _: &'a ToolName,
        _: &'a Args,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<Rewrite>, MiddlewareError>> {
        Box::pin(std::future::pending())
    }
}

/// Calls the tool and interrupts after two seconds; tells how long the end took from then on.
async fn interrupted(world: &World) -> (petasos_contract::call::ToolResult, Duration) {
    let cx = world.cx();
    let call = async {
        let result = world.call_in("probe", "{}", &cx).await;
        (result, tokio::time::Instant::now())
    };
    let stop = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        cx.cancel.cancel();
        tokio::time::Instant::now()
    };
    let ((result, ended), stopped) = tokio::join!(call, stop);
    (result, ended.saturating_duration_since(stopped))
}

#[tokio::test(start_paused = true)]
async fn whoever_holds_a_call_it_ends_within_a_second_of_the_interrupt() {
    for kind in [
        HookKind::PreToolCall,
        HookKind::PreApprovalRequest,
        HookKind::PostApprovalResponse,
        HookKind::PostToolCall,
        HookKind::TransformToolResult,
    ] {
        let mut world = World::of(echo());
        world.policy = Judge::new(|_| Verdict::Ask(vec![finding("risky", Scope::Once)]));
        let yes = || Answer::Allowed { scope: Scope::Once, by: Who::Person(None) };
        world.approver = Answering::new(yes);
        world.hooks.register(&(Arc::new(Holds(kind)) as Arc<dyn Hook>));
        let (result, took) = interrupted(&world).await;
        assert!(took < Duration::from_secs(1), "{kind:?} took {took:?}: {result:?}");
        let late = matches!(kind, HookKind::PostToolCall);
        let wanted = if late { Status::Ok } else { Status::Cancelled };
        let denied = matches!(kind, HookKind::PreApprovalRequest);
        assert!(result.status == wanted || denied, "{kind:?}: {result:?}");
    }
    let world = World::of(echo());
    let holds: Arc<dyn RequestMiddleware> = Arc::new(Holds(HookKind::PreToolCall));
    world.middleware.register_request(&holds);
    let (result, took) = interrupted(&world).await;
    assert!(took < Duration::from_secs(1), "middleware took {took:?}");
    assert_eq!(error_of(&result), "`probe` was cancelled by the user");
    let world = World::of(Arc::new(Scripted::new(|_, _| std::future::pending())));
    let (result, took) = interrupted(&world).await;
    assert!(took < Duration::from_secs(1), "the handler took {took:?}");
    assert_eq!(error_of(&result), "`probe` was cancelled by the user");
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_has_by_the_time_of_an_interrupt_is_kept() {
    let notices = |_: Args, cx: CallContext| async move {
        cx.cancel.cancelled().await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok(ToolOutput::json(&json!({
            "output": "partial output\n[Command interrupted]",
            "exit_code": 130,
            "error": "interrupted",
        })))
    };
    let world = World::of(Arc::new(Scripted::new(notices)));
    let (result, _) = interrupted(&world).await;
    assert_eq!(body(&result)["output"], "partial output\n[Command interrupted]");
    assert_eq!((result.status, result.error_type), (Status::Cancelled, Some("keyboard_interrupt")));
}
