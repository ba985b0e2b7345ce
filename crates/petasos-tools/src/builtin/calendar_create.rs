//! `calendar_create`: a new event.

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
    name: "calendar_create",
    toolset: "calendar",
    description: "Make an event",
    emoji: "🗓️",
    check: Some(&diary::ACCOUNT),
    schema,
    examples: &[Example {
        title: "lunch at noon",
        args: r#"{"title":"Lunch","start":"2026-11-30T12:00"}"#,
        shows: r#""success":true"#,
    }],
    build: |_| Arc::new(CalendarCreate),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    let mut properties = diary::properties();
    if let Some(object) = properties.as_object_mut() {
        let calendar = "The calendar: its name or id; needed where there are several";
        object.insert("calendar".to_owned(), json!({ "type": "string", "description": calendar }));
    }
    json!({
        "description": "Put an event into the user's calendar. Nobody is invited. Without an end \
            it takes an hour, or the day.",
        "parameters": { "type": "object", "properties": properties, "required": ["title", "start"] },
    })
}

#[derive(Deserialize)]
struct Input {
    calendar: Option<String>,
    #[serde(flatten)]
    event: diary::Written,
}

struct CalendarCreate;

impl Tool for CalendarCreate {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let token = format!("{}/{}/{}", cx.session, cx.turn, cx.call);
            let work = async {
                let dav = Dav::open(&cx.settings)?;
                let (change, zone) = input.event.change(cx)?;
                dav.create(input.calendar.as_deref(), &change, &token, &zone).await
            };
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
