//! Parts for tests: tools that behave as told, hooks that write down what they saw, policies and
//! approvers with one answer, and a dispatcher made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Finding, Intent, Nobody, Policy, PolicyError, Scope,
    Settlement, Verdict,
};
use petasos_contract::call::{Content, Status, ToolCall, ToolResult};
use petasos_contract::check::{Availability, Check, CheckScope};
use petasos_contract::context::{CheckContext, Surface};
use petasos_contract::effect::Effects;
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment, OnFailure};
use petasos_contract::ports::Ports;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::tool::{Mode, Patch, Tool, ToolError};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Secret, SessionId, Settings, ToolName, ToolOutput,
};
use serde_json::{Map, Value, json};

use crate::dispatch::Dispatcher;
use crate::hooks::HookBus;
use crate::middleware::Middleware;
use crate::registry::{Entry, Intent as Registering, Origin, Registry};

pub(crate) type Outcome = Result<ToolOutput, ToolError>;
type Handler = dyn Fn(Args, CallContext) -> BoxFuture<'static, Outcome> + Send + Sync;
type Patcher = dyn Fn(&BTreeSet<ToolName>) -> Result<Patch, ToolError> + Send + Sync;

/// A tool that does what it is told.
pub(crate) struct Scripted {
    handler: Box<Handler>,
    pub(crate) effects: fn(&Args) -> Effects,
    pub(crate) patch: Box<Patcher>,
    pub(crate) refused: Option<fn() -> ToolOutput>,
    pub(crate) time_limit: Option<Duration>,
}

impl Scripted {
    /// A tool with this handler.
    pub(crate) fn new<F>(handler: impl Fn(Args, CallContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        Self {
            handler: Box::new(move |args, cx| Box::pin(handler(args, cx))),
            effects: |_| Effects::none(),
            patch: Box::new(|_| Ok(Patch::Keep)),
            refused: None,
            time_limit: None,
        }
    }
}

impl Tool for Scripted {
    fn run<'a>(&'a self, cleared: Cleared, cx: &'a CallContext) -> BoxFuture<'a, Outcome> {
        (self.handler)(cleared.into_args(), cx.clone())
    }

    fn time_limit(&self, _: &Args, _: &CallContext) -> Option<Duration> {
        self.time_limit
    }

    fn effects(&self, args: &Args) -> Effects {
        (self.effects)(args)
    }

    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        (self.patch)(granted)
    }

    fn refused(&self, refusal: &petasos_contract::call::Refusal) -> ToolOutput {
        self.refused.map_or_else(|| refusal.output(), |own| own())
    }

    fn mode(&self) -> Mode {
        Mode::Async
    }
}

/// A tool that gives its arguments back.
pub(crate) fn echo() -> Arc<dyn Tool> {
    Arc::new(Scripted::new(|args, _| async move {
        Ok(ToolOutput::json(&json!({ "args": Value::Object(args.into_object()) })))
    }))
}

/// A tool that always gives this.
pub(crate) fn gives(output: impl Fn() -> Outcome + Send + Sync + 'static) -> Arc<dyn Tool> {
    Arc::new(Scripted::new(move |_, _| {
        let output = output();
        async move { output }
    }))
}

/// A tool with this text as its result.
pub(crate) fn says(text: &str) -> Arc<dyn Tool> {
    let text = text.to_owned();
    gives(move || Ok(ToolOutput::Text(text.clone())))
}

/// A function schema with these properties.
pub(crate) fn schema(properties: &Value) -> Map<String, Value> {
    let whole = json!({
        "description": "For tests.",
        "parameters": { "type": "object", "properties": properties },
    });
    whole.as_object().cloned().unwrap_or_default()
}

/// An entry without parameters.
pub(crate) fn entry(name: &str, toolset: &str, tool: Arc<dyn Tool>) -> Entry {
    Entry::new(name, toolset, schema(&json!({})), tool)
}

/// A check that gives what the closure gives.
pub(crate) fn check(
    id: &str,
    scope: CheckScope,
    answer: impl Fn(&CheckContext) -> Availability + Send + Sync + 'static,
) -> Check {
    Check::new(id, scope, move |cx| {
        let answer = answer(&cx);
        Box::pin(async move { answer })
    })
}

/// Settings with this tree, and a temporary folder.
pub(crate) fn settings(values: &Value) -> Arc<Settings> {
    settings_with(values, &[], &std::env::temp_dir())
}

/// Settings with a tree, variables and a folder that is temporary, workspace and home at once.
pub(crate) fn settings_with(
    values: &Value,
    variables: &[(&str, &str)],
    folder: &std::path::Path,
) -> Arc<Settings> {
    let variable = |(name, value): &(&str, &str)| {
        let source = Source::Environment { variable: (*name).to_owned() };
        ((*name).to_owned(), Variable { value: Secret::new(*value), source })
    };
    let variables: BTreeMap<String, Variable> = variables.iter().map(variable).collect();
    Arc::new(Settings::new(Parts {
        values: values.as_object().cloned().unwrap_or_default(),
        temp: PathBuf::from(folder),
        workspace: PathBuf::from(folder),
        home: PathBuf::from(folder),
        user_home: PathBuf::from(folder),
        variables,
        ..Parts::default()
    }))
}

/// A context on a terminal.
pub(crate) fn context(settings: &Arc<Settings>) -> CallContext {
    CallContext::new(Arc::clone(settings), Surface::Cli, SessionId::new("session"))
}

/// What a check is told, for this session.
pub(crate) fn check_context(settings: &Arc<Settings>, session: &str) -> CheckContext {
    CheckContext {
        surface: Surface::Cli,
        attended: true,
        session: SessionId::new(session),
        settings: Arc::clone(settings),
        ports: Arc::new(Ports::default()),
    }
}

/// What a hook saw.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    Pre { tool: String, call: String, args: Value },
    Post { tool: String, status: Status, error_type: Option<&'static str> },
}

/// Writes down every call, and answers the pre hook as told.
pub(crate) struct Recorder {
    name: String,
    seen: Mutex<Vec<Seen>>,
    answer: Box<dyn Fn() -> Result<Directive, HookError> + Send + Sync>,
    on_failure: OnFailure,
}

impl Recorder {
    /// Only watches.
    pub(crate) fn watching() -> Arc<Self> {
        Self::answering("recorder", OnFailure::Pass, || Ok(Directive::Pass))
    }

    /// Gives this answer before each call.
    pub(crate) fn answering(
        name: &str,
        on_failure: OnFailure,
        answer: impl Fn() -> Result<Directive, HookError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (name, seen, answer) = (name.to_owned(), Mutex::default(), Box::new(answer));
        Arc::new(Self { name, seen, answer, on_failure })
    }

    /// What it saw, in order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// How often the two moments came.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let seen = self.seen.lock();
        let pre = seen.iter().filter(|seen| matches!(seen, Seen::Pre { .. })).count();
        (pre, seen.len() - pre)
    }
}

impl Hook for Recorder {
    fn name(&self) -> &str {
        &self.name
    }

    fn wants(&self) -> HookSet {
        HookSet::of(&[HookKind::PreToolCall, HookKind::PostToolCall])
    }

    fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        Box::pin(async move {
            let (seen, answer) = match moment {
                Moment::PreToolCall(call) => {
                    let args = Value::Object(call.args.object().clone());
                    let (tool, id) = (call.tool.to_string(), call.cx.call.to_string());
                    (Seen::Pre { tool, call: id, args }, true)
                }
                Moment::PostToolCall(call, end) => {
                    let (status, error_type) = (end.status, end.error_type);
                    (Seen::Post { tool: call.tool.to_string(), status, error_type }, false)
                }
                _ => return Ok(Directive::Pass),
            };
            self.seen.lock().push(seen);
            if answer { (self.answer)() } else { Ok(Directive::Pass) }
        })
    }
}

/// Allows everything.
pub(crate) struct AllowAll;

impl Policy for AllowAll {
    fn judge(&self, _: &Intent<'_>, _: &CallContext) -> Verdict {
        Verdict::Allow
    }
}

/// What a policy was told at the end: the verdict and the answer.
pub(crate) type Settled = (Verdict, Option<Answer>);

/// Judges as told and writes down how it was settled.
pub(crate) struct Judge {
    judge: Box<dyn Fn(&Intent<'_>) -> Verdict + Send + Sync>,
    pub(crate) settled: Mutex<Vec<Settled>>,
}

impl Judge {
    /// With this verdict.
    pub(crate) fn new(judge: impl Fn(&Intent<'_>) -> Verdict + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { judge: Box::new(judge), settled: Mutex::default() })
    }
}

impl Policy for Judge {
    fn judge(&self, intent: &Intent<'_>, _: &CallContext) -> Verdict {
        (self.judge)(intent)
    }

    fn settle<'a>(
        &'a self,
        settled: &'a Settlement<'a>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), PolicyError>> {
        let answer = settled.answer.cloned();
        self.settled.lock().push((settled.verdict.clone(), answer));
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A finding with this key.
pub(crate) fn finding(key: &'static str, widest: Scope) -> Finding {
    Finding {
        key: key.into(),
        why: format!("{key} is risky"),
        kind: petasos_contract::approval::FindingKind::Rule,
        span: None,
        widest,
        stores: None,
    }
}

/// Answers every question the same way, and keeps the questions.
pub(crate) struct Answering {
    answer: Box<dyn Fn() -> Answer + Send + Sync>,
    pub(crate) asked: Mutex<Vec<ApprovalRequest>>,
}

impl Answering {
    /// With this answer.
    pub(crate) fn new(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answer: Box::new(answer), asked: Mutex::default() })
    }
}

impl Approver for Answering {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        self.asked.lock().push(request.clone());
        let answer = (self.answer)();
        Box::pin(async move { answer })
    }
}

/// A dispatcher in the making.
pub(crate) struct World {
    pub(crate) registry: Arc<Registry>,
    pub(crate) hooks: Arc<HookBus>,
    pub(crate) middleware: Arc<Middleware>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) approver: Arc<dyn Approver>,
    dispatcher: std::sync::OnceLock<Arc<Dispatcher>>,
}

impl World {
    /// A world with these tools, in which everything is allowed and every call is written down.
    pub(crate) fn with(entries: Vec<Entry>) -> Self {
        let registry = Arc::new(Registry::new());
        for entry in entries {
            registry.register(entry, &Origin::core(), Registering::Add).unwrap();
        }
        let recorder = Recorder::watching();
        let hooks = Arc::new(HookBus::new());
        hooks.register(&(Arc::clone(&recorder) as Arc<dyn Hook>));
        Self {
            registry,
            hooks,
            middleware: Arc::default(),
            recorder,
            settings: settings(&json!({})),
            policy: Arc::new(AllowAll),
            approver: Arc::new(Nobody),
            dispatcher: std::sync::OnceLock::new(),
        }
    }

    /// A world with one tool, named `probe`.
    pub(crate) fn of(tool: Arc<dyn Tool>) -> Self {
        Self::with(vec![entry("probe", "test", tool)])
    }

    /// The dispatcher; made once.
    pub(crate) fn dispatcher(&self) -> Arc<Dispatcher> {
        let make = || {
            let registry = Arc::clone(&self.registry);
            let (policy, approver) = (Arc::clone(&self.policy), Arc::clone(&self.approver));
            Arc::new(
                Dispatcher::new(registry, policy, approver)
                    .with_hooks(Arc::clone(&self.hooks))
                    .with_middleware(Arc::clone(&self.middleware)),
            )
        };
        Arc::clone(self.dispatcher.get_or_init(make))
    }

    /// A context of this world.
    pub(crate) fn cx(&self) -> CallContext {
        context(&self.settings)
    }

    /// Calls a tool with argument text.
    pub(crate) async fn call(&self, name: &str, arguments: &str) -> ToolResult {
        self.call_in(name, arguments, &self.cx()).await
    }

    /// Calls a tool in a given context.
    pub(crate) async fn call_in(
        &self,
        name: &str,
        arguments: &str,
        cx: &CallContext,
    ) -> ToolResult {
        self.dispatcher().dispatch(ToolCall::new("call-1", name, arguments), cx).await
    }
}

/// The JSON of a result.
pub(crate) fn body(result: &ToolResult) -> Value {
    let Content::Text(text) = &result.content else { panic!("no text in {result:?}") };
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// The text under `error`.
pub(crate) fn error_of(result: &ToolResult) -> String {
    body(result)["error"].as_str().unwrap_or_default().to_owned()
}
