//! `ha_list_services`: what a house can be told to do.

use std::sync::Arc;

use petasos_contract::tool::{Concurrency, Example, InPlanMode};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_vendors::homeassistant::{House, Told};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{house, vendors};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "ha_list_services",
    toolset: "homeassistant",
    description: "List what a house can do",
    emoji: "🏠",
    core: true,
    idempotent: true,
    concurrency: Concurrency::Safe,
    in_plan_mode: InPlanMode::ByEffects,
    check: Some(&house::HOUSE),
    schema,
    examples: &[Example {
        title: "what lights can do",
        args: r#"{"domain":"light"}"#,
        shows: r#""turn_on""#,
    }],
    build: |_| Arc::new(ListServices),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "List services of the house; with a domain, their fields.",
        "parameters": {
            "type": "object",
            "properties": {
                "domain": { "type": "string" }
            },
        },
    })
}

#[derive(Deserialize)]
struct Input {
    domain: Option<String>,
}

struct ListServices;

impl Tool for ListServices {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let domain = input.domain.filter(|domain| !domain.trim().is_empty());
            let work = async {
                let value = House::open(&cx.settings)?.services(domain.as_deref()).await?;
                Ok(Told { value, strangers: false })
            };
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
