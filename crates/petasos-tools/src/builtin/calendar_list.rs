//! `calendar_list`: the calendars of the account.

use std::sync::Arc;

use petasos_contract::tool::{Concurrency, Example, InPlanMode, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_vendors::dav::Dav;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::diary;
use crate::vendors::{self, Shape};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "calendar_list",
    toolset: "calendar",
    description: "List calendars",
    emoji: "🗓️",
    idempotent: true,
    concurrency: Concurrency::Safe,
    in_plan_mode: InPlanMode::ByEffects,
    provenance: Provenance::Foreign,
    check: Some(&diary::ACCOUNT),
    schema,
    examples: &[Example { title: "all of them", args: "{}", shows: r#""calendars":["# }],
    build: |_| Arc::new(CalendarList),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "List the user's calendars.",
        "parameters": { "type": "object", "properties": {} },
    })
}

#[derive(Deserialize)]
struct Input {}

struct CalendarList;

impl Tool for CalendarList {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Input {} = cleared.into_args().parse()?;
            let work = async { Dav::open(&cx.settings)?.calendar_list().await };
            let done = vendors::until_cancelled(cx, Box::pin(work)).await;
            Ok(vendors::told(done, Shape::Success, cx))
        })
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let plan = Plan::new(args).with_effects(diary::reach(cx));
        Box::pin(std::future::ready(Ok(plan)))
    }
}
