//! Policy and approval at the door: judging, asking, and each way it can end.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Finding, FindingKind, Intent, Nobody, Policy, PolicyError,
    Scope, Settlement, Verdict, Who,
};
use petasos_contract::call::{Disposition, Status};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::hook::{Directive, Hook, OnFailure};
use petasos_contract::plan::{EditApproval, EditPreview, FileEdit, Pin};
use petasos_contract::{BoxFuture, CallContext, Plan, ToolOutput};
use serde_json::json;

use crate::probe::{
    Answering, Judge, Recorder, Scripted, World, body, echo, entry, error_of, finding, gives,
};

fn asking(world: &mut World) -> Arc<Judge> {
    let judge = Judge::new(|_| {
        let findings = vec![finding("first", Scope::Always), finding("second", Scope::Session)];
        Verdict::Ask(findings)
    });
    world.policy = Arc::clone(&judge) as Arc<dyn Policy>;
    judge
}

fn allowed(scope: Scope) -> Answer {
    Answer::Allowed { scope, by: Who::Person(None) }
}

/// An answer, its outcome, its kind of refusal, and words from its text.
type Case = (fn() -> Answer, &'static str, &'static str, &'static str);

#[tokio::test]
async fn each_way_an_approval_can_end_is_told_apart() {
    let denied = || Answer::Denied { by: Who::Person(None), comment: Some("not today".into()) };
    let expired = || Answer::Expired { after: Duration::from_mins(1) };
    let lost = || Answer::Undeliverable { reason: "no channel".into() };
    let reviewer = || Answer::ReviewerUnavailable { reason: "offline".into() };
    let table: [Case; 4] = [
        (denied, "denied", "approval_denied", "not today"),
        (expired, "timeout", "approval_expired", "within 60 s"),
        (lost, "undeliverable", "approval_undeliverable", "no channel"),
        (reviewer, "reviewer_unavailable", "reviewer_unavailable", "offline"),
    ];
    for (answer, outcome, error_type, words) in table {
        let mut world = World::of(gives(|| panic!("it must not run")));
        let judge = asking(&mut world);
        world.approver = Answering::new(answer);
        let result = world.call("probe", "{}").await;
        let shown = body(&result);
        assert_eq!((result.status, result.error_type), (Status::Blocked, Some(error_type)));
        assert_eq!(result.disposition, Disposition::None);
        assert_eq!((&shown["outcome"], &shown["user_consent"]), (&json!(outcome), &json!(false)));
        assert_eq!(shown["pattern_keys"], json!(["first", "second"]));
        assert!(error_of(&result).contains(words), "{shown}");
        assert_eq!(judge.settled.lock()[0].1, Some(answer()));
        assert_eq!(world.recorder.counts(), (1, 1));
    }
}

#[tokio::test]
async fn nobody_attached_is_an_immediate_denial() {
    let mut world = World::of(gives(|| panic!("it must not run")));
    asking(&mut world);
    world.approver = Arc::new(Nobody);
    let result = world.call("probe", "{}").await;
    assert_eq!(result.error_type, Some("approval_undeliverable"));
}

#[tokio::test]
async fn a_block_asks_nobody() {
    let mut world = World::of(gives(|| panic!("it must not run")));
    let judge = Judge::new(|_| Verdict::Block(vec![finding("root delete", Scope::Once)]));
    world.policy = Arc::clone(&judge) as Arc<dyn Policy>;
    let approver = Answering::new(|| allowed(Scope::Always));
    world.approver = Arc::clone(&approver) as Arc<dyn Approver>;
    let result = world.call("probe", "{}").await;
    assert_eq!(
        (body(&result)["outcome"].as_str(), result.error_type),
        (Some("blocked"), Some("policy_block"))
    );
    assert!(approver.asked.lock().is_empty());
    assert_eq!(judge.settled.lock().len(), 1);
}

#[tokio::test]
async fn one_question_carries_all_findings_and_the_narrowest_scope() {
    let mut world = World::of(echo());
    let judge = asking(&mut world);
    let approver = Answering::new(|| allowed(Scope::Always));
    world.approver = Arc::clone(&approver) as Arc<dyn Approver>;
    assert_eq!(world.call("probe", r#"{"a": 1}"#).await.status, Status::Ok);
    let asked = approver.asked.lock();
    assert_eq!((asked.len(), asked[0].findings.len(), asked[0].widest), (1, 2, Scope::Session));
    // The surface granted more than was offered; what counts is what the findings permit.
    assert_eq!(judge.settled.lock()[0].1, Some(allowed(Scope::Session)));
}

#[tokio::test]
async fn a_question_shows_what_would_happen_and_identifies_it() {
    let mut tool = Scripted::new(|_, _| async { Ok(ToolOutput::Text("ok".into())) });
    tool.effects = |args| {
        let script = args.text("command").unwrap_or_default().to_owned();
        Effects::one(Effect::Command { script, cwd: "/".into() })
    };
    let mut world =
        World::with(vec![entry("shell", "test", Arc::new(tool)), entry("other", "test", echo())]);
    asking(&mut world);
    let approver = Answering::new(|| allowed(Scope::Once));
    world.approver = Arc::clone(&approver) as Arc<dyn Approver>;
    world.call("shell", r#"{"command": "ls", "x": {"b": 1, "a": 2}}"#).await;
    world.call("shell", r#"{"x": {"a": 2, "b": 1}, "command": "ls"}"#).await;
    world.call("shell", r#"{"command": "ls -a"}"#).await;
    world.call("other", r#"{"command": "ls"}"#).await;
    let asked = approver.asked.lock();
    assert_eq!(asked[0].subject, "ls");
    assert_eq!(asked[0].digest, asked[1].digest);
    assert_ne!(asked[0].digest, asked[2].digest);
    assert_eq!(asked[3].subject, r#"other {"command":"ls"}"#);
}

#[tokio::test]
async fn a_hook_can_ask_for_a_person_with_a_key_of_its_own() {
    let mut world = World::of(echo());
    world.policy = Judge::new(|intent| match intent.escalated {
        [] => Verdict::Allow,
        escalated => Verdict::Ask(escalated.to_vec()),
    });
    let approver = Answering::new(|| allowed(Scope::Once));
    world.approver = Arc::clone(&approver) as Arc<dyn Approver>;
    let ask = |key: Option<&'static str>| {
        let answer = move || {
            let (message, rule_key) = ("spends money".to_owned(), key.map(str::to_owned));
            Ok(Directive::AskHuman { message, rule_key })
        };
        Recorder::answering("asks", OnFailure::Pass, answer) as Arc<dyn Hook>
    };
    world.hooks.register(&ask(Some("spend")));
    assert_eq!(world.call("probe", "{}").await.status, Status::Ok);
    world.hooks.deregister("asks");
    world.hooks.register(&ask(None));
    assert_eq!(world.call("probe", "{}").await.status, Status::Ok);
    let asked = approver.asked.lock();
    assert_eq!(asked[0].findings[0].key, "plugin_rule:spend");
    assert!(asked[1].findings[0].key.starts_with("plugin_rule:probe:"));
}

#[tokio::test(start_paused = true)]
async fn an_approver_that_never_answers_expires_in_the_end() {
    struct Silent;
    impl Approver for Silent {
        fn ask<'a>(&'a self, _: &'a ApprovalRequest, _: &'a CallContext) -> BoxFuture<'a, Answer> {
            Box::pin(std::future::pending())
        }
    }
    let mut world = World::of(gives(|| panic!("it must not run")));
    asking(&mut world);
    world.approver = Arc::new(Silent);
    let result = world.call("probe", "{}").await;
    assert_eq!(result.error_type, Some("approval_expired"));

    let cx = world.cx();
    let (result, ()) = tokio::join!(world.call_in("probe", "{}", &cx), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cx.cancel.cancel();
    });
    assert_eq!(result.error_type, Some("approval_denied"));
}

/// Breaks where it is told to.
struct Breaks(&'static str);

impl Policy for Breaks {
    fn judge(&self, _: &Intent<'_>, _: &CallContext) -> Verdict {
        assert!(self.0 != "judge", "the rules are broken");
        Verdict::Allow
    }

    fn settle<'a>(
        &'a self,
        _: &'a Settlement<'a>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), PolicyError>> {
        Box::pin(async {
            match self.0 {
                "settle" => Err(PolicyError("the log is full".into())),
                "panic" => panic!("the log is gone"),
                _ => Ok(()),
            }
        })
    }
}

#[tokio::test]
async fn a_failure_around_the_handler_has_the_outer_words() {
    let table = [
        ("judge", "Error executing probe: the rules are broken"),
        ("settle", "Error executing probe: the log is full"),
        ("panic", "Error executing probe: the log is gone"),
    ];
    for (place, wanted) in table {
        let mut world = World::of(gives(|| panic!("it must not run")));
        world.policy = Arc::new(Breaks(place));
        let result = world.call("probe", "{}").await;
        assert_eq!(body(&result), json!({ "error": wanted }));
        assert_eq!((result.status, result.disposition), (Status::Error, Disposition::None));
        assert_eq!(world.recorder.counts(), (1, 1));
    }
    let mut tool = Scripted::new(|_, _| async { Ok(ToolOutput::Text(String::new())) });
    tool.effects = |_| panic!("no idea what it does");
    let world = World::with(vec![entry("probe", "test", Arc::new(tool))]);
    let result = world.call("probe", "{}").await;
    assert_eq!(error_of(&result), "Error executing probe: no idea what it does");
}

#[tokio::test]
async fn the_result_of_a_command_says_who_agreed_to_it() {
    let table = [
        (0, Some("Approved by the user (first, second).")),
        (130, Some("Approved by the user (first, second). It was interrupted.")),
    ];
    for (code, note) in table {
        let mut tool = Scripted::new(move |_, _| async move {
            Ok(ToolOutput::Text(json!({ "output": "", "exit_code": code }).to_string()))
        });
        tool.effects = |_| Effects::one(Effect::Command { script: "x".into(), cwd: "/".into() });
        let mut world = World::with(vec![entry("shell", "test", Arc::new(tool))]);
        asking(&mut world);
        world.approver = Answering::new(|| allowed(Scope::Once));
        let result = world.call("shell", "{}").await;
        assert_eq!(body(&result)["approval"].as_str(), note);
    }
}

/// A tool that is planned in one directory at first, and in another one when it is planned again.
struct Moved {
    times: std::sync::atomic::AtomicUsize,
    pin: std::path::PathBuf,
}

impl Moved {
    fn new(pin: &std::path::Path) -> Arc<Self> {
        Arc::new(Self { times: std::sync::atomic::AtomicUsize::new(0), pin: pin.to_owned() })
    }
}

impl petasos_contract::Tool for Moved {
    fn plan<'a>(
        &'a self,
        args: petasos_contract::Args,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, petasos_contract::ToolError>> {
        let times = self.times.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let cwd = if times == 0 { "/work" } else { "/home/ada" };
        let script = "rm -rf ./*".to_owned();
        let effects = Effects::one(Effect::Command { script, cwd: cwd.into() });
        let plan = Plan::new(args).with_effects(effects).with_work(cwd);
        let pins = (times == 0).then(|| Pin::Absent(self.pin.clone()));
        Box::pin(async move { Ok(plan.with_pins(pins)) })
    }

    fn run<'a>(
        &'a self,
        cleared: petasos_contract::Cleared,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, petasos_contract::ToolError>> {
        Box::pin(async { Ok(ToolOutput::Text(cleared.into_work::<&str>()?.to_owned())) })
    }
}

#[tokio::test]
async fn what_was_judged_runs_and_a_world_that_moved_is_judged_again() {
    let folder = tempfile::tempdir().unwrap();
    let pin = folder.path().join("pin");
    // Nothing moved: the one plan is what runs.
    let tool = Moved::new(&pin);
    let mut world = World::with(vec![entry("shell", "test", Arc::clone(&tool) as _)]);
    asking(&mut world);
    world.approver = Answering::new(|| allowed(Scope::Once));
    assert_eq!(world.call("shell", "{}").await.content.text(), "/work");
    assert_eq!(tool.times.load(std::sync::atomic::Ordering::SeqCst), 1);
    // It moves while a person thinks: what needs consent there is refused.
    let mut world = World::with(vec![entry("shell", "test", Moved::new(&pin))]);
    asking(&mut world);
    let moving = pin.clone();
    world.approver = Answering::new(move || {
        std::fs::create_dir(&moving).unwrap();
        allowed(Scope::Once)
    });
    let result = world.call("shell", "{}").await;
    assert_eq!((result.status, result.error_type), (Status::Blocked, Some("approval_altered")));
    // What needs no approval there either runs there.
    let mut world = World::with(vec![entry("shell", "test", Moved::new(&pin))]);
    world.policy = Judge::new(|_| Verdict::Allow);
    assert_eq!(world.call("shell", "{}").await.content.text(), "/home/ada");
}

#[tokio::test]
async fn the_digest_of_a_question_covers_effects_and_pins() {
    let folder = tempfile::tempdir().unwrap();
    let mut digests = Vec::new();
    for name in ["a", "b", "a"] {
        let tool = Moved::new(&folder.path().join(name));
        let mut world = World::with(vec![entry("shell", "test", tool)]);
        asking(&mut world);
        let approver = Answering::new(|| allowed(Scope::Once));
        world.approver = Arc::clone(&approver) as _;
        world.call("shell", "{}").await;
        digests.push(approver.asked.lock()[0].digest);
    }
    assert_eq!((digests[0] == digests[1], digests[0] == digests[2]), (false, true));
}

/// The keys of 13.1 that a refusal has besides those of every refusal.
#[tokio::test]
async fn a_refusal_says_whose_word_it_was_in_the_keys_of_13_1() {
    let rule = |kind| Finding { kind, ..finding("first", Scope::Always) };
    let denied =
        |by: Who| move || Answer::Denied { by: by.clone(), comment: Some("not today".into()) };
    let lost = || Answer::Undeliverable { reason: "no channel".into() };
    let kinds = [
        (FindingKind::Hardline, "hardline", "user_deny"),
        (FindingKind::UserDeny, "user_deny", "hardline"),
    ];
    for (kind, set, unset) in kinds {
        let mut world = World::of(gives(|| panic!("it must not run")));
        world.policy = Judge::new(move |_| Verdict::Block(vec![rule(kind)]));
        let shown = body(&world.call("probe", "{}").await);
        assert_eq!((&shown[set], &shown[unset]), (&json!(true), &serde_json::Value::Null));
        assert_eq!(
            (&shown["pattern_key"], &shown["description"]),
            (&json!("first"), &json!("first is risky"))
        );
    }
    let ask = |answer: Box<dyn Fn() -> Answer + Send + Sync>| {
        let mut world = World::of(gives(|| panic!("it must not run")));
        world.policy = Judge::new(move |_| Verdict::Ask(vec![rule(FindingKind::Rule)]));
        world.approver = Answering::new(answer);
        world
    };
    let world = ask(Box::new(denied(Who::Person(None))));
    let shown = body(&world.call("probe", "{}").await);
    assert_eq!(shown["deny_reason"], "not today");
    assert_eq!((&shown["allow_permanent"], shown.get("smart_denied")), (&json!(true), None));
    let shown = body(&ask(Box::new(denied(Who::Reviewer))).call("probe", "{}").await);
    assert_eq!(shown["smart_denied"], true);
    let shown = body(&ask(Box::new(lost)).call("probe", "{}").await);
    assert_eq!(
        (&shown["status"], &shown["approval_pending"]),
        (&json!("pending_approval"), &json!(true))
    );
}

/// A tool that writes a file and can show the change, or cannot.
struct Edits(bool);

impl EditPreview for Edits {
    fn edits<'a>(
        &'a self,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Vec<FileEdit>, petasos_contract::ToolError>> {
        let edit = FileEdit {
            path: "/space/a".into(),
            before: Some("one".to_owned()),
            after: Some("two".to_owned()),
            diff: "-one\n+two".to_owned(),
        };
        let told =
            if self.0 { Ok(vec![edit]) } else { Err(petasos_contract::ToolError::new("X", "no")) };
        Box::pin(std::future::ready(told))
    }
}

struct Editor {
    path: &'static str,
    shows: bool,
}

impl petasos_contract::Tool for Editor {
    fn plan<'a>(
        &'a self,
        args: petasos_contract::Args,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, petasos_contract::ToolError>> {
        let effects = Effects::one(Effect::Write(self.path.into()));
        let mut plan = Plan::new(args).with_effects(effects);
        plan.edits = Some(Arc::new(Edits(self.shows)));
        Box::pin(std::future::ready(Ok(plan)))
    }

    fn run<'a>(
        &'a self,
        _: petasos_contract::Cleared,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, petasos_contract::ToolError>> {
        Box::pin(async { Ok(ToolOutput::Text("written".to_owned())) })
    }
}

#[tokio::test]
async fn a_session_that_wants_to_see_edits_is_shown_them_first() {
    use EditApproval::{ByPolicy, Each, OutsideWorkspace, Sensitive};
    let rows = [
        ("/space/a", ByPolicy, false),
        ("/space/a", Each, true),
        ("/space/a", OutsideWorkspace, false),
        ("/elsewhere/a", OutsideWorkspace, true),
        ("/space/.git/config", OutsideWorkspace, true),
        ("/elsewhere/a", Sensitive, false),
        ("/space/.env.local", Sensitive, true),
    ];
    for (path, wanted, asks) in rows {
        let mut world =
            World::with(vec![entry("edit", "test", Arc::new(Editor { path, shows: true }))]);
        world.policy = Judge::new(|intent| match intent.escalated {
            [] => Verdict::Allow,
            escalated => Verdict::Ask(escalated.to_vec()),
        });
        let approver = Answering::new(|| allowed(Scope::Once));
        world.approver = Arc::clone(&approver) as _;
        let mut cx = world.cx();
        (cx.edit_approval, cx.workspace) = (wanted, Arc::from(std::path::Path::new("/space")));
        let result = world.call_in("edit", "{}", &cx).await;
        assert_eq!(result.content.text(), "written", "{path} {wanted:?}");
        let asked = approver.asked.lock();
        assert_eq!(asked.len(), usize::from(asks), "{path} {wanted:?}");
        assert!(asked.iter().all(|it| it.edits[0].diff == "-one\n+two"));
    }
    // What cannot be shown is not done where somebody wants to see it, and asked about elsewhere.
    for (wanted, ran) in [(Each, false), (ByPolicy, true)] {
        let tool = Editor { path: "/space/a", shows: false };
        let mut world = World::with(vec![entry("edit", "test", Arc::new(tool))]);
        asking(&mut world);
        world.approver = Answering::new(|| allowed(Scope::Once));
        let mut cx = world.cx();
        cx.edit_approval = wanted;
        world.policy = Judge::new(|intent| match intent.escalated {
            [] => Verdict::Ask(vec![finding("risk", Scope::Once)]),
            escalated => Verdict::Ask(escalated.to_vec()),
        });
        let result = world.call_in("edit", "{}", &cx).await;
        assert_eq!(result.status == Status::Ok, ran, "{wanted:?}: {}", result.content.text());
    }
}
