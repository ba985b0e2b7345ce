//! `ha_get_state`: everything that is known of one thing of a house.

use std::sync::Arc;

use petasos_contract::tool::{Concurrency, Example, InPlanMode};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_vendors::homeassistant::House;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{house, vendors};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "ha_get_state",
    toolset: "homeassistant",
    description: "Read one thing of a house",
    emoji: "🏠",
    core: true,
    idempotent: true,
    concurrency: Concurrency::Safe,
    in_plan_mode: InPlanMode::ByEffects,
    check: Some(&house::HOUSE),
    schema,
    examples: &[Example {
        title: "one thing",
        args: r#"{"entity_id":"light.kitchen"}"#,
        shows: r#""entity_id":"light.kitchen""#,
    }],
    build: |_| Arc::new(GetState),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Read one thing of the house, such as light.kitchen.",
        "parameters": {
            "type": "object",
            "properties": {
                "entity_id": { "type": "string" }
            },
            "required": ["entity_id"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    entity_id: String,
}

struct GetState;

impl Tool for GetState {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let work = async { House::open(&cx.settings)?.state(input.entity_id.trim()).await };
            Ok(house::told(vendors::until_cancelled(cx, Box::pin(work)).await, cx))
        })
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let plan = Plan::new(args).with_effects(house::reach(cx));
        Box::pin(std::future::ready(Ok(plan)))
    }
}
