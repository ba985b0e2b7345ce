//! `execute_code`: a Python script that calls tools; only what it prints comes back.
//!
//! The parts are in `code`. A script has the tools of its caller and no more, and each of its
//! calls goes through the one door. Whether a script may run is policy's decision, from the
//! effect stated here.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::environment::{Located, SandboxLevel};
use petasos_contract::ports::Ports;
use petasos_contract::terminal::Terminal;
use petasos_contract::tool::{Example, FileChanges, Limit, Patch, RoundKind};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolName, ToolOutput,
};
use serde_json::{Map, Value, json};

use crate::code::{self, CodeSettings, Ended, Finished, Job, Mode};
use crate::files::confine;
use crate::files::directory::Directory;
use crate::files::site::Sites;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "execute_code",
    toolset: "code_execution",
    description: "Run a Python script that can call tools",
    emoji: "🐍",
    core: true,
    changes: FileChanges::Programs,
    round: RoundKind::Refunded,
    result_chars_max: Limit::Chars(100_000),
    check: Some(&super::terminal::CHECK),
    schema,
    examples: EXAMPLES,
    build: |ports| Arc::new(ExecuteCode { ports: ports.clone() }),
    ..ToolDef::USUAL
};

const EXAMPLES: &[Example] = &[Example {
    title: "a calculation",
    args: r#"{"code":"print(sum(range(10)))"}"#,
    shows: r#""status":"success","output":"45\n""#,
}];

fn schema() -> Value {
    json!({
        "description": description(&code::TOOLS.iter().map(|tool| ToolName::new(*tool)).collect()),
        "parameters": {
            "type": "object",
            "properties": {
                "code": { "type": "string" }
            },
            "required": ["code"]
        }
    })
}

fn description(tools: &BTreeSet<ToolName>) -> String {
    let functions = code::described(tools);
    let offer = if functions.is_empty() {
        "No tools can be called from it.".to_owned()
    } else {
        format!(
            "`from petasos_tools import …` offers the tools {functions}, which take and return \
             what they do here, and json_parse, shell_quote, retry(function)."
        )
    };
    format!(
        "Run a Python script, for several tool calls with logic between them. Only what it prints \
         comes back (50 kB). 5 minutes, 50 tool calls, in the working directory. {offer}"
    )
}

struct ExecuteCode {
    ports: Ports,
}

/// A script that was planned.
struct PlannedScript {
    source: String,
    settings: CodeSettings,
    located: Arc<Located>,
    directory: Directory,
    unconfined: bool,
}

impl ExecuteCode {
    async fn execute(
        &self,
        script: PlannedScript,
        cx: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let started = Instant::now();
        let terminal = self.ports.terminal.as_ref().ok_or_else(no_terminal)?;
        let timeout = script.settings.timeout().as_secs();
        let mut sandbox = terminal.sandbox(cx)?;
        if script.unconfined {
            sandbox.level = SandboxLevel::Off;
        }
        let (confined, cwd) = (sandbox.clone(), script.directory.real.clone());
        let job = Job {
            source: &script.source,
            settings: script.settings,
            environment: Arc::clone(&script.located.environment),
            door: self.ports.door.clone(),
            directory: script.directory,
            sandbox,
            cx,
        };
        let finished = code::run(job).await?;
        let mut told = told(&finished, started, timeout, cx);
        let failed = told["status"] == "error";
        let output = told["output"].as_str().filter(|_| failed);
        let denied = output.and_then(|output| terminal.refused(&confined, &cwd, output));
        if let Some(denied) = denied {
            told[confine::DENIED] = json!(denied);
        }
        Ok(ToolOutput::json(&told))
    }
}

fn no_terminal() -> ToolError {
    ToolError::new("NoEnvironment", "this program has no terminal to run code in")
}

impl Tool for ExecuteCode {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(async move {
            let source = args.text("code").filter(|code| !code.trim().is_empty());
            let Some(source) = source.map(str::to_owned) else {
                return Ok(Plan::new(args).with_work::<Option<PlannedScript>>(None));
            };
            let settings: CodeSettings = cx
                .settings
                .section()
                .map_err(|error| ToolError::new("InvalidConfiguration", error.to_string()))?;
            let place = Sites::new(&self.ports).locate(cx).await?;
            let located = place.located().cloned().ok_or_else(no_terminal)?;
            let directory = place.directory(None, cx).await?;
            let cwd = match settings.mode {
                Mode::Project => directory.real.clone(),
                // A folder of its own, which is made when it runs.
                Mode::Strict => located.environment.facts().temp.as_path().to_owned(),
            };
            let (language, text) = ("python".to_owned(), source.clone());
            let mut effects = Effects::one(Effect::Code { language, source: text, cwd });
            let terminal = self.ports.terminal.as_deref().filter(|_| place.is_here());
            let wished = args.get(confine::OUTSIDE) == Some(&Value::Bool(true));
            let may = |terminal: &dyn Terminal| {
                terminal.sandbox(cx).is_ok_and(|it| it.level != SandboxLevel::Off && !it.required)
            };
            let unconfined = wished && terminal.is_some_and(may);
            if unconfined {
                effects = effects.and(Effect::Unconfined);
            }
            let confined = terminal.filter(|_| !unconfined).and_then(|it| it.held(cx));
            let mut plan = place.plan(args).with_effects(effects).with_pins(directory.pin.clone());
            plan.confined = confined;
            let script = PlannedScript { source, settings, located, directory, unconfined };
            Ok(plan.with_work(Some(script)))
        })
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match cleared.into_work::<Option<PlannedScript>>()? {
                Some(script) => self.execute(script, cx).await,
                None => Ok(ToolOutput::plain_error("`code` is missing: send a Python script")),
            }
        })
    }

    fn outside(
        &self,
        args: &Args,
        output: &ToolOutput,
        cx: &CallContext,
    ) -> Option<(Args, String)> {
        confine::outside(self.ports.terminal.as_deref()?, args, output, cx)
    }

    fn time_limit(&self, _: &Args, cx: &CallContext) -> Option<Duration> {
        let settings = cx.settings.section::<CodeSettings>().ok()?;
        Some(settings.timeout() + Duration::from_mins(1))
    }

    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        let text = Value::String(description(granted));
        Ok(Patch::Merge(Map::from_iter([("description".to_owned(), text)])))
    }
}

fn told(finished: &Finished, started: Instant, timeout: u64, cx: &CallContext) -> Value {
    let out = finished.stdout.shown(&cx.settings);
    let errors = finished.stderr.shown(&cx.settings);
    let (status, exit_code, error) = match finished.ended {
        Ended::Exited(0) => ("success", 0, None),
        Ended::Exited(code) => ("error", code, Some(format!("the script ended with code {code}"))),
        Ended::TimedOut => {
            ("timeout", 124, Some(format!("the script was ended: it ran longer than {timeout} s")))
        }
        Ended::Interrupted => ("interrupted", 130, Some("the script was interrupted".to_owned())),
    };
    let mut output = out.text;
    if status != "success" && !errors.text.trim().is_empty() {
        output.push_str("\n--- stderr ---\n");
        output.push_str(&errors.text);
    }
    if let Some(error) = error.as_ref().filter(|_| status != "error") {
        output = format!("{output}\n[{error}]");
    }
    let total = finished.stdout.total;
    let mut result = json!({
        "status": status,
        "output": output,
        "exit_code": exit_code,
        "tool_calls_made": finished.calls,
        "duration_seconds": (started.elapsed().as_secs_f64() * 100.0).round() / 100.0,
        "stdout_truncated": out.omitted > 0,
        "stdout_bytes_captured": total - out.omitted,
        "stdout_bytes_total": total,
        "stdout_bytes_omitted": out.omitted,
        "sandbox": finished.confinement,
    });
    let mut warnings = Vec::new();
    if finished.left > 0 {
        warnings
            .push(format!("processes that the script left running were ended: {}", finished.left));
    }
    if finished.refused > 0 {
        warnings.push(format!("tool calls that were refused: {}", finished.refused));
    }
    if !warnings.is_empty() {
        result["warning"] = json!(warnings.join("; "));
    }
    if let Some(error) = error {
        result["error"] = json!(error);
    }
    result
}
