//! `delegate_task`: other agents do parts of the work and report.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::context::CALLER_DEADLINE;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::tool::{Example, InPlanMode, Patch, Route, Tool};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, ToolDef, ToolError, ToolName, ToolOutput,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::delegate::{Task, is_carded};
use crate::seat;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "delegate_task",
    toolset: "delegation",
    description: "Let subagents do parts of the work",
    emoji: "🔀",
    core: true,
    route: Route::AgentLoop,
    schema,
    examples: &[Example {
        title: "a part of the work",
        args: r#"{"goal":"Count the hats","background":false}"#,
        shows: "three hats",
    }],
    build: |_| Arc::new(Delegate),
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

fn schema() -> Value {
    let role = json!({ "type": "string", "enum": ["leaf", "orchestrator"] });
    json!({
        "description": "Give a goal, or several independent `tasks`, to subagents with your tools \
            and a fresh context: put all they must know into `context`. Only a summary comes back. \
            For research and long work.",
        "parameters": {
            "type": "object",
            "properties": {
                "goal": { "type": "string" },
                "context": { "type": "string" },
                "tasks": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "goal": { "type": "string" },
                            "context": { "type": "string" },
                            "role": role,
                            "agent": { "type": "string" }
                        },
                        "required": ["goal"]
                    }
                },
                "role": role,
                "agent": {
                    "type": "string",
                    "description": "Of `acp.agents`"
                },
                "background": {
                    "type": "boolean",
                    "description": "false waits"
                }
            }
        }
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Given {
    goal: Option<String>,
    context: Option<String>,
    role: Option<String>,
    agent: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Input {
    #[serde(flatten)]
    one: Given,
    tasks: Value,
    background: Option<bool>,
}

struct Delegate;

impl Tool for Delegate {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let is_kept = seat::of(cx).is_ok_and(|seat| is_carded(&seat.engine, cx));
        let kept = || Effects::one(Effect::Remember { store: "board".to_owned() });
        let effects = if is_kept { kept() } else { Effects::none() };
        Box::pin(std::future::ready(Ok(Plan::new(args).with_effects(effects))))
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let background = input.background;
            let tasks = match tasks(input) {
                Ok(tasks) => tasks,
                Err(why) => return Ok(ToolOutput::plain_error(&why)),
            };
            let seat = seat::of(cx)?;
            let (most, deepest) = (seat.delegation.children_max(), seat.delegation.depth_max());
            if u32::from(cx.depth) >= deepest {
                let why = format!("delegation goes {deepest} deep and no deeper: do it yourself");
                return Ok(ToolOutput::plain_error(&why));
            }
            if tasks.len() > most {
                let why =
                    format!("{} tasks are too many at once: give at most {most}", tasks.len());
                return Ok(ToolOutput::plain_error(&why));
            }
            // A full house waits; so does whoever has nobody that would see a later result.
            let later = cx.attended && cx.surface.outlives_turn();
            let wants = background != Some(false) && later && cx.depth == 0;
            if wants && seat.delegation.running() + tasks.len() <= most {
                return Ok(dispatched(tasks, seat, cx));
            }
            let started = Instant::now();
            let results = seat.delegation.run(tasks, seat, cx).await;
            let seconds = started.elapsed().as_secs_f64();
            let value = json!({ "results": results, "total_duration_seconds": seconds });
            Ok(ToolOutput::json(&value))
        })
    }

    /// Other agents have limits of their own.
    fn time_limit(&self, _: &Args, _: &CallContext) -> Option<Duration> {
        Some(CALLER_DEADLINE)
    }

    fn schema_patch(&self, _: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(Patch::Keep)
    }
}

fn dispatched(tasks: Vec<Task>, seat: &seat::LoopSeat, cx: &CallContext) -> ToolOutput {
    let goals: Vec<String> = tasks.iter().map(|task| task.goal.clone()).collect();
    let (id, sessions) = seat.delegation.dispatch(tasks, seat, cx);
    ToolOutput::json(&json!({
        "status": "dispatched",
        "mode": "background",
        "count": goals.len(),
        "delegation_id": id,
        "goals": goals,
        "sessions": sessions,
        "note": "They work in the background. Their results will be told to you when all have \
                 ended; go on with something else or end your turn, do not wait or ask for them."
    }))
}

/// One goal or a list of them; some models write the list as text.
fn tasks(input: Input) -> Result<Vec<Task>, String> {
    let list = match input.tasks {
        Value::Null => Value::Array(Vec::new()),
        Value::String(text) => serde_json::from_str(&text)
            .map_err(|error| format!("`tasks` is not a list: {error}"))?,
        list => list,
    };
    let mut given: Vec<Given> = serde_json::from_value(list)
        .map_err(|error| format!("`tasks` must be a list of goals: {error}"))?;
    if given.is_empty() {
        given.push(input.one);
    }
    let task = |one: Given| {
        let goal = one.goal.as_deref().map(str::trim).filter(|goal| !goal.is_empty());
        let goal = goal.ok_or("`goal` is missing: say what is to be done")?.to_owned();
        let orchestrator = one.role.as_deref() == Some("orchestrator");
        let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let (context, agent) = (said(one.context), said(one.agent));
        Ok(Task { goal, context, orchestrator, agent })
    };
    given.into_iter().map(task).collect()
}
