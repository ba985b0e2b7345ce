//! Hooks and request middleware: what they may change, and what their failure means.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::call::{Disposition, Status};
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment, OnFailure};
use petasos_contract::middleware::{MiddlewareError, RequestMiddleware, Rewrite};
use petasos_contract::{Args, BoxFuture, CallContext, ToolName, ToolOutput};
use serde_json::{Value, json};

use crate::probe::{
    Recorder, Scripted, Seen, World, body, echo, entry, error_of, gives, says, schema,
};
use crate::registry::Entry;

fn add(world: &World, hook: &Arc<Recorder>) {
    world.hooks.register(&(Arc::clone(hook) as Arc<dyn Hook>));
}

#[tokio::test]
async fn a_block_refuses_the_call_and_the_post_hook_hears_of_it() {
    let world = World::of(gives(|| panic!("it must not run")));
    add(&world, &Recorder::answering("b", OnFailure::Pass, || Ok(Directive::Block("no".into()))));
    let result = world.call("probe", "{}").await;
    assert_eq!(body(&result), json!({ "error": "no" }));
    assert_eq!((result.status, result.error_type), (Status::Blocked, Some("plugin_block")));
    assert_eq!(result.disposition, Disposition::None);
    let ended = Seen::Post {
        tool: "probe".to_owned(),
        status: Status::Blocked,
        error_type: Some("plugin_block"),
    };
    assert_eq!(world.recorder.seen()[1], ended);
}

#[tokio::test]
async fn hooks_know_a_call_by_its_own_id() {
    let world = World::of(echo());
    assert_eq!(world.cx().call.as_str(), "call-0");
    world.call("probe", "{}").await;
    assert!(matches!(&world.recorder.seen()[0], Seen::Pre { call, .. } if call == "call-1"));
}

#[tokio::test]
async fn a_block_without_a_message_is_ignored() {
    for empty in ["", "  "] {
        let world = World::of(echo());
        let answer = move || Ok(Directive::Block(empty.to_owned()));
        add(&world, &Recorder::answering("b", OnFailure::Pass, answer));
        assert_eq!(world.call("probe", "{}").await.status, Status::Ok);
    }
}

#[tokio::test]
async fn the_first_directive_wins_and_every_hook_sees_the_call() {
    let world = World::of(echo());
    let named = |name: &'static str| {
        Recorder::answering(name, OnFailure::Pass, move || Ok(Directive::Block(name.into())))
    };
    let (first, second) = (named("first"), named("second"));
    add(&world, &first);
    add(&world, &second);
    assert_eq!(error_of(&world.call("probe", "{}").await), "first");
    assert_eq!((first.counts(), second.counts()), ((1, 1), (1, 1)));
    world.hooks.deregister("first");
    assert_eq!(error_of(&world.call("probe", "{}").await), "second");
    world.hooks.deregister("second");
    assert_eq!(world.call("probe", "{}").await.status, Status::Ok);
}

#[tokio::test]
async fn a_failing_hook_is_passed_over_unless_it_is_a_policy() {
    type Answer = fn() -> Result<Directive, HookError>;
    let raises: Answer = || Err(HookError("out of order".into()));
    let panics: Answer = || panic!("out of order");
    for (answer, why) in [(raises, "out of order"), (panics, "it panicked")] {
        let world = World::of(echo());
        add(&world, &Recorder::answering("watcher", OnFailure::Pass, answer));
        assert_eq!(world.call("probe", "{}").await.status, Status::Ok);
        let later = Recorder::watching();
        add(&world, &Recorder::answering("gate", OnFailure::Block, answer));
        add(&world, &later);
        let result = world.call("probe", "{}").await;
        assert_eq!(result.status, Status::Blocked);
        let error = error_of(&result);
        assert!(error.contains("`gate`") && error.contains(why), "{error}");
        assert_eq!(later.counts(), (1, 1));
    }
}

/// Never answers.
struct Hangs;

impl Hook for Hangs {
    fn name(&self) -> &'static str {
        "hangs"
    }
    fn wants(&self) -> HookSet {
        HookSet::of(&[HookKind::PreToolCall])
    }
    fn fire<'a>(&'a self, _: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_hangs_is_given_up() {
    let world = World::of(echo());
    world.hooks.register(&(Arc::new(Hangs) as Arc<dyn Hook>));
    assert_eq!(world.call("probe", "{}").await.status, Status::Ok);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_does_not_wait_for_a_hook_that_hangs() {
    let world = World::of(echo());
    world.hooks.register(&(Arc::new(Hangs) as Arc<dyn Hook>));
    let cx = world.cx();
    let (result, ()) = tokio::join!(world.call_in("probe", "{}", &cx), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cx.cancel.cancel();
    });
    assert_eq!((result.status, result.disposition), (Status::Cancelled, Disposition::None));
}

/// Replaces results, or fails at it.
struct Transforms(OnFailure, fn() -> Result<Directive, HookError>);

impl Hook for Transforms {
    fn name(&self) -> &'static str {
        "transforms"
    }
    fn wants(&self) -> HookSet {
        HookSet::of(&[HookKind::TransformToolResult])
    }
    fn on_failure(&self) -> OnFailure {
        self.0
    }
    fn fire<'a>(&'a self, _: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        let answer = self.1();
        Box::pin(async move { answer })
    }
}

#[tokio::test]
async fn a_result_may_be_replaced_and_a_broken_redaction_withholds_it() {
    let with = |on_failure, answer| {
        let world = World::of(says("secret"));
        world.hooks.register(&(Arc::new(Transforms(on_failure, answer)) as Arc<dyn Hook>));
        world
    };
    let shown = |world: World| async move { world.call("probe", "{}").await.content.text() };
    let replace = || Ok(Directive::Replace("masked".into()));
    let fail = || Err(HookError("no regex".into()));
    let misfit = || Ok(Directive::Block("too late".into()));
    assert_eq!(shown(with(OnFailure::Pass, replace)).await, "masked");
    assert_eq!(shown(with(OnFailure::Pass, fail)).await, "secret");
    assert_eq!(shown(with(OnFailure::Pass, misfit)).await, "secret");
    let result = with(OnFailure::Block, fail).call("probe", "{}").await;
    assert!(!result.content.text().contains("secret"));
    assert_eq!((result.status, result.disposition), (Status::Blocked, Disposition::Done));
}

/// Adds its name to the argument `by`, or fails.
struct Rewrites(&'static str, Result<(), &'static str>);

impl RequestMiddleware for Rewrites {
    fn name(&self) -> &str {
        self.0
    }
    fn rewrite<'a>(
        &'a self,
        _: &'a ToolName,
        args: &'a Args,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<Rewrite>, MiddlewareError>> {
        Box::pin(async move {
            match self.1 {
                Err("panic") => panic!("in middleware"),
                Err(why) => return Err(MiddlewareError(why.to_owned())),
                Ok(()) => {}
            }
            let mut args = args.clone();
            let before = args.text("by").unwrap_or_default().to_owned();
            args.object_mut().insert("by".to_owned(), format!("{before}{}", self.0).into());
            Ok(Some(Rewrite { args, reason: Some("testing".to_owned()) }))
        })
    }
}

#[tokio::test]
async fn request_middleware_is_chained_and_broken_links_are_skipped() {
    let world = World::of(echo());
    let links = [("a", Ok(())), ("x", Err("broken")), ("y", Err("panic")), ("b", Ok(()))];
    for (name, answer) in links {
        let link = Arc::new(Rewrites(name, answer)) as Arc<dyn RequestMiddleware>;
        world.middleware.register_request(&link);
    }
    let result = world.call("probe", "{}").await;
    assert_eq!(body(&result), json!({ "args": { "by": "ab" } }));
    assert!(matches!(&world.recorder.seen()[0], Seen::Pre { args, .. } if args["by"] == "ab"));
    world.middleware.deregister("a");
    assert_eq!(body(&world.call("probe", "{}").await)["args"]["by"], "b");
}

#[tokio::test]
async fn what_middleware_wrote_is_fitted_to_the_schema() {
    let schema = schema(&json!({ "by": { "type": "integer" } }));
    let world = World::with(vec![Entry::new("probe", "test", schema, echo())]);
    let link = Arc::new(Rewrites("7", Ok(()))) as Arc<dyn RequestMiddleware>;
    world.middleware.register_request(&link);
    assert_eq!(body(&world.call("probe", "{}").await), json!({ "args": { "by": 7 } }));
}

/// Counts events and panics at every one.
#[derive(Default)]
struct Explodes(Mutex<usize>);

impl Subscriber for Explodes {
    fn take(&self, _: Event) {
        *self.0.lock() += 1;
        panic!("a surface is gone");
    }
}

#[tokio::test]
async fn a_panicking_surface_disturbs_no_call() {
    let world = World::of(echo());
    let surface = Arc::new(Explodes::default());
    let mut cx = world.cx();
    cx.events = EventSink::to(Arc::clone(&surface) as Arc<dyn Subscriber>);
    let result = world.call_in("probe", "{}", &cx).await;
    assert_eq!((result.status, *surface.0.lock()), (Status::Ok, 2));
}

#[tokio::test]
async fn a_tool_that_panics_at_words_of_its_own_is_refused_in_common_words() {
    let mut tool = Scripted::new(|_, _| async { Ok(ToolOutput::Text(String::new())) });
    tool.refused = Some(|| panic!("no words"));
    let world = World::with(vec![entry("probe", "test", Arc::new(tool))]);
    add(&world, &Recorder::answering("b", OnFailure::Pass, || Ok(Directive::Block("no".into()))));
    assert_eq!(body(&world.call("probe", "{}").await), json!({ "error": "no" }));

    let mut tool = Scripted::new(|_, _| async { Ok(ToolOutput::Text(String::new())) });
    tool.refused = Some(|| ToolOutput::json(&json!({ "output": "", "exit_code": -1 })));
    let world = World::with(vec![entry("probe", "test", Arc::new(tool))]);
    add(&world, &Recorder::answering("b", OnFailure::Pass, || Ok(Directive::Block("no".into()))));
    assert_eq!(body(&world.call("probe", "{}").await)["exit_code"], Value::from(-1));
}
