//! `calendar_update`: changes an event.

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
    name: "calendar_update",
    toolset: "calendar",
    description: "Change an event",
    emoji: "🗓️",
    check: Some(&diary::ACCOUNT),
    schema,
    examples: &[Example {
        title: "another title",
        args: r#"{"id":"/ada/home/1.ics","title":"Brunch"}"#,
        shows: r#""success":true"#,
    }],
    build: |_| Arc::new(CalendarUpdate),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    let mut properties = diary::properties();
    if let Some(object) = properties.as_object_mut() {
        let id = "The event's id, as a list gave it";
        object.insert("id".to_owned(), json!({ "type": "string", "description": id }));
    }
    json!({
        "description": "Change an event of the user's calendar; what is not given stays. Times \
            are given together.",
        "parameters": { "type": "object", "properties": properties, "required": ["id"] },
    })
}

#[derive(Deserialize)]
struct Input {
    id: String,
    #[serde(flatten)]
    event: diary::Written,
}

struct CalendarUpdate;

impl Tool for CalendarUpdate {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let work = async {
                let dav = Dav::open(&cx.settings)?;
                let (change, zone) = input.event.change(cx)?;
                dav.update(&input.id, &change, &zone).await
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
