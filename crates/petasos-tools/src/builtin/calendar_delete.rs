//! `calendar_delete`: removes an event.

use std::sync::Arc;

use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_vendors::dav::Dav;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::diary;
use crate::vendors::{self, Shape};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "calendar_delete",
    toolset: "calendar",
    description: "Remove an event",
    emoji: "🗑️",
    check: Some(&diary::ACCOUNT),
    schema,
    examples: &[Example {
        title: "an event is taken out",
        args: r#"{"id":"/ada/home/1.ics"}"#,
        shows: r#""success":true"#,
    }],
    build: |_| Arc::new(CalendarDelete),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Remove an event from the user's calendar; a series goes as a whole.",
        "parameters": {
            "type": "object",
            "properties": {
                "id": { "type": "string", "description": "The event's id, as a list gave it" }
            },
            "required": ["id"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    id: String,
}

struct CalendarDelete;

impl Tool for CalendarDelete {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let work = async { Dav::open(&cx.settings)?.delete(&input.id).await };
            let done = vendors::until_cancelled(cx, Box::pin(work)).await;
            Ok(vendors::told(done, Shape::Success, cx))
        })
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let plan = Plan::new(args).with_effects(diary::writes(cx));
        Box::pin(std::future::ready(Ok(plan)))
    }
}
