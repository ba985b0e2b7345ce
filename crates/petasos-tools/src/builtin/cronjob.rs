//! `cronjob`: makes, lists, changes, pauses, resumes, removes and runs scheduled jobs.

use std::sync::Arc;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::context::Surface;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::ports::Schedules;
use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "cronjob",
    toolset: "cronjob",
    description: "Manage scheduled jobs",
    emoji: "⏰",
    core: true,
    check: Some(&PERSON),
    schema,
    examples: &[Example {
        title: "every working day",
        args: r#"{"action":"create","name":"News","schedule":"every weekday at 9:00","prompt":"Tell me what is new about felt hats."}"#,
        shows: r#""success":true"#,
    }],
    build: |ports| Arc::new(CronJob(ports.schedules.clone())),
    ..ToolDef::USUAL
};

const ALONE: &str = "needs a session with a person; a scheduled run may not schedule";

/// Somebody is there to want a schedule.
static PERSON: CheckDef = CheckDef {
    id: "schedules",
    scope: CheckScope::Session,
    probe: |cx| {
        let open = cx.ports.schedules.is_some() && cx.surface != Surface::Cron && cx.attended;
        Box::pin(std::future::ready(if open {
            Availability::Ready
        } else {
            Availability::Missing(ALONE.to_owned())
        }))
    },
};

fn schema() -> Value {
    json!({
        "description": "Schedule work for later: each run is a fresh conversation without this \
            one's memory, so the prompt must say everything. Its reply is delivered by itself.",
        "parameters": {
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "description": "create, list, update, pause, resume, remove or run"
                },
                "job_id": { "type": "string", "description": "The job: its id, or its name" },
                "prompt": { "type": "string", "description": "What each run is told, complete in itself" },
                "schedule": {
                    "type": "string",
                    "description": "`30m` or `in 2 hours` (once), `every 2h`, `every weekday at 9:00`, \
                        `tomorrow 8am`, `0 9 * * 1-5`, `2027-01-31T09:00`"
                },
                "name": { "type": "string", "description": "What people call it" },
                "repeat": { "type": "integer", "description": "How often it runs; for ever when absent" },
                "deliver": {
                    "type": "string",
                    "description": "origin (this chat), local (only saved), all, or platform:chat[:thread], with commas"
                },
                "skills": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Skills that a run reads first"
                },
                "model": {
                    "type": "object",
                    "properties": {
                        "provider": { "type": "string" },
                        "model": { "type": "string" }
                    },
                    "required": ["model"],
                    "description": "Another model than the configured one"
                },
                "script": {
                    "type": "string",
                    "description": "A file in the home's `scripts` folder that runs first; its output is shown to the run"
                },
                "no_agent": {
                    "type": "boolean", "default": false,
                    "description": "Only the script runs, and its output is delivered"
                },
                "context_from": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Jobs whose newest output is shown to the run"
                },
                "enabled_toolsets": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Only these toolsets"
                },
                "workdir": { "type": "string", "description": "An absolute folder in which it works" },
                "attach_to_session": {
                    "type": "boolean",
                    "description": "Whether the reply also joins this conversation"
                }
            },
            "required": ["action"]
        },
    })
}

#[derive(Deserialize)]
struct Input {
    action: String,
    deliver: Option<String>,
    script: Option<String>,
}

impl Input {
    /// What is kept acts later, when nobody watches: where its replies go and what it runs is
    /// judged now.
    fn effects(&self, cx: &CallContext) -> Effects {
        let keeps = ["create", "update", "resume", "remove", "run"].contains(&self.action.as_str());
        if !keeps {
            return Effects::none();
        }
        let targets = self.deliver.iter().flat_map(|it| it.split(',')).map(str::trim);
        let others = targets.filter(|it| !["", "origin", "local"].contains(it));
        let sends = others.map(|target| Effect::Send { target: target.to_owned() });
        let script = self.script.iter().filter(|script| !script.is_empty());
        let scripts = cx.settings.home().join("scripts");
        let reads = script.map(|script| Effect::Read(scripts.join(script)));
        let remembers = Effect::Remember { store: "cron".to_owned() };
        std::iter::once(remembers).chain(sends).chain(reads).collect()
    }
}

struct CronJob(Option<Arc<dyn Schedules>>);

impl Tool for CronJob {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(async move {
            let input: Input = args.clone().parse()?;
            let effects = input.effects(cx);
            Ok(Plan::new(args).with_effects(effects))
        })
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let request: Value = cleared.into_args().parse()?;
            let answer = match &self.0 {
                Some(schedules) => schedules.manage(request, cx).await,
                None => json!({ "success": false, "error": ALONE, "error_type": "missing_setup" }),
            };
            Ok(ToolOutput::json(&answer))
        })
    }
}
