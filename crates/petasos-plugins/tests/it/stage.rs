//! What every test needs: a home, a workspace, a door, helpers that are real programs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Intent, Policy, Scope, Verdict, Who,
};
use petasos_contract::bridging::{Inline, SyncTool};
use petasos_contract::call::{ToolCall, ToolResult};
use petasos_contract::context::Surface;
use petasos_contract::message::Assistant;
use petasos_contract::model::{Model, ModelError, Prompt, Reply, Role};
use petasos_contract::ports::{BroughtSkill, CalledSkill, Door, SkillLine, Skills};
use petasos_contract::processes::Processes;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{
    Args, BoxFuture, CallContext, Secret, SessionId, Settings, ToolError, ToolOutput,
};
use petasos_plugins::{Plugins, ShellHooks, Surroundings};
use petasos_runtime::hooks::HookBus;
use petasos_runtime::middleware::Middleware;
use petasos_runtime::registry::{Entry, Intent as Registering, Origin};
use petasos_runtime::{Dispatcher, Registry};
use petasos_terminal::Helpers;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A secret that no hook or plugin may see unless it is granted.
pub(crate) const CANARY: &str = "canary-71d0-do-not-show";

/// Asks about `danger`, blocks `forbidden`, allows the rest.
struct Judge;

impl Policy for Judge {
    fn judge(&self, intent: &Intent<'_>, _: &CallContext) -> Verdict {
        let said = intent.plan.args.text("text").unwrap_or_default();
        if said.contains("forbidden") {
            let finding = petasos_contract::approval::Finding {
                key: "forbidden".into(),
                why: "it is forbidden".to_owned(),
                kind: petasos_contract::approval::FindingKind::Rule,
                span: None,
                widest: Scope::Once,
                stores: None,
            };
            return Verdict::Block(vec![finding]);
        }
        if intent.escalated.is_empty() {
            Verdict::Allow
        } else {
            Verdict::Ask(intent.escalated.to_vec())
        }
    }
}

/// Says yes, and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Yes(pub(crate) parking_lot::Mutex<Vec<String>>);

impl Approver for Yes {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        let why: Vec<String> = request.findings.iter().map(|one| one.why.clone()).collect();
        self.0.lock().push(why.join("; "));
        let by = Who::Person(None);
        Box::pin(std::future::ready(Answer::Allowed { scope: Scope::Once, by }))
    }
}

struct Echo;

impl SyncTool for Echo {
    fn call(&self, args: Args, _: &CallContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::Text(json!({ "echo": args.object() }).to_string()))
    }
}

/// Answers every prompt with the last words of it.
pub(crate) struct Parrot;

impl Model for Parrot {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        _: Role,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        let last = prompt.messages.last().map(|message| json!(message)["content"].to_string());
        let text = format!("{} heard {}", prompt.system, last.unwrap_or_default());
        let message = Assistant { content: Some(text), ..Assistant::default() };
        Box::pin(std::future::ready(Ok(Reply { message, ..Reply::default() })))
    }
}

/// Notes what plugins bring.
#[derive(Default)]
pub(crate) struct Shelf(pub(crate) parking_lot::Mutex<Vec<BroughtSkill>>);

impl Skills for Shelf {
    fn index<'a>(
        &'a self,
        _: Option<&'a [String]>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }

    fn callable<'a>(&'a self, _: &'a CallContext) -> BoxFuture<'a, Vec<SkillLine>> {
        Box::pin(async { Vec::new() })
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<CalledSkill, String>> {
        Box::pin(async { Err("none".to_owned()) })
    }

    fn decide<'a>(
        &'a self,
        _: &'a str,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Option<Result<String, String>>> {
        Box::pin(async { None })
    }

    fn bring(&self, _: &str, skills: Vec<BroughtSkill>) {
        *self.0.lock() = skills;
    }
}

pub(crate) struct Stage {
    pub(crate) home: TempDir,
    pub(crate) workspace: TempDir,
    pub(crate) values: Value,
    pub(crate) registry: Arc<Registry>,
    pub(crate) hooks: Arc<HookBus>,
    pub(crate) middleware: Arc<Middleware>,
    pub(crate) processes: Arc<dyn Processes>,
    pub(crate) asked: Arc<Yes>,
    pub(crate) door: Arc<Dispatcher>,
    pub(crate) skills: Arc<Shelf>,
}

impl Stage {
    pub(crate) fn new(values: Value) -> Self {
        let registry = Arc::new(Registry::new());
        let schema = json!({"description": "Echo", "parameters": {"type": "object", "properties": {"count": {"type": "integer"}}}});
        let schema = schema.as_object().cloned().unwrap();
        let entry = Entry::new("echo", "test", schema, Arc::new(Inline::new(Echo)));
        registry.register(entry, &Origin::core(), Registering::Add).unwrap();
        let (hooks, middleware) = (Arc::new(HookBus::new()), Arc::new(Middleware::new()));
        let asked = Arc::new(Yes::default());
        let door = Dispatcher::new(Arc::clone(&registry), Arc::new(Judge), Arc::clone(&asked) as _);
        let door = door.with_hooks(Arc::clone(&hooks)).with_middleware(Arc::clone(&middleware));
        Self {
            home: TempDir::new().unwrap(),
            workspace: TempDir::new().unwrap(),
            values,
            registry,
            hooks,
            middleware,
            processes: Helpers::new(),
            asked,
            door: Arc::new(door),
            skills: Arc::default(),
        }
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        let environment = |name: &str| Source::Environment { variable: name.to_owned() };
        let variable = |name: &str, value: &str| {
            let value = Secret::new(value);
            (name.to_owned(), Variable { value, source: environment(name) })
        };
        let path = env!("PATH");
        let variables = [
            variable("OPENAI_API_KEY", CANARY),
            variable("WEATHER_TOKEN", "granted-token"),
            variable("PATH", path),
            variable("PETASOS_ENABLE_PROJECT_PLUGINS", "1"),
        ];
        Arc::new(Settings::new(Parts {
            home: self.home.path().join("petasos"),
            user_home: self.home.path().to_owned(),
            workspace: self.workspace.path().to_owned(),
            temp: self.home.path().join("tmp"),
            values: self.values.as_object().cloned().unwrap(),
            variables: variables.into(),
            ..Parts::default()
        }))
    }

    pub(crate) fn cx(&self) -> CallContext {
        CallContext::new(self.settings(), Surface::Cli, SessionId::new("one"))
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.workspace.path().join(name);
        write(&path, text);
        path
    }

    /// A plugin of the user, from files.
    pub(crate) fn plugin(&self, name: &str, files: &[(&str, &str)]) {
        let folder = self.home.path().join("petasos/plugins").join(name);
        for (file, text) in files {
            write(&folder.join(file), text);
        }
    }

    pub(crate) fn shell_hooks(&self) -> ShellHooks {
        let hooks = ShellHooks::of(&self.settings());
        hooks.register(&self.hooks, &self.processes);
        hooks
    }

    pub(crate) async fn plugins(&self) -> Plugins {
        Plugins::start(Surroundings {
            settings: self.settings(),
            processes: Arc::clone(&self.processes),
            registry: Arc::clone(&self.registry),
            hooks: Arc::clone(&self.hooks),
            middleware: Arc::clone(&self.middleware),
            skills: Some(Arc::clone(&self.skills) as Arc<dyn Skills>),
            door: Some(Arc::clone(&self.door) as Arc<dyn Door>),
            model: Some(Arc::new(Parrot)),
            reserved_commands: vec!["help".to_owned()],
            injector: arc_swap::ArcSwapOption::default(),
        })
        .await
    }

    pub(crate) async fn call(&self, tool: &str, args: Value) -> ToolResult {
        self.call_in(tool, args, &self.cx()).await
    }

    pub(crate) async fn call_in(&self, tool: &str, args: Value, cx: &CallContext) -> ToolResult {
        let call = ToolCall::new("c1", tool, args.to_string());
        tokio::time::timeout(Duration::from_mins(1), self.door.dispatch(call, cx)).await.unwrap()
    }

    pub(crate) async fn text(&self, tool: &str, args: Value) -> String {
        self.call(tool, args).await.content.text()
    }
}

#[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
