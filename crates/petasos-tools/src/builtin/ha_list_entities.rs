//! `ha_list_entities`: the things of a house, as compact rows.

use std::sync::Arc;

use petasos_contract::tool::{Concurrency, Example, InPlanMode};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_vendors::homeassistant::{House, Wanted};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{house, vendors};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "ha_list_entities",
    toolset: "homeassistant",
    description: "List the things of a house",
    emoji: "🏠",
    core: true,
    idempotent: true,
    concurrency: Concurrency::Safe,
    in_plan_mode: InPlanMode::ByEffects,
    check: Some(&house::HOUSE),
    schema,
    examples: &[Example {
        title: "every light",
        args: r#"{"domain":"light"}"#,
        shows: r#""entity_id":"light.kitchen""#,
    }],
    build: |_| Arc::new(ListEntities),
    ..ToolDef::USUAL
};

const LIMIT_USUAL: usize = 100;
const LIMIT_MAX: usize = 500;

fn schema() -> Value {
    json!({
        "description": "List things of the house (Home Assistant) and their states.",
        "parameters": {
            "type": "object",
            "properties": {
                "domain": { "type": "string" },
                "area": { "type": "string" },
                "search": { "type": "string" },
                "limit": { "type": "integer", "default": LIMIT_USUAL },
                "offset": { "type": "integer" }
            },
        },
    })
}

#[derive(Deserialize)]
struct Input {
    domain: Option<String>,
    area: Option<String>,
    search: Option<String>,
    limit: Option<usize>,
    offset: Option<usize>,
}

struct ListEntities;

impl Tool for ListEntities {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
            let wanted = Wanted {
                domain: given(input.domain),
                area: given(input.area),
                search: input.search,
                limit: input.limit.unwrap_or(LIMIT_USUAL).clamp(1, LIMIT_MAX),
                offset: input.offset.unwrap_or(0),
            };
            let work = async { House::open(&cx.settings)?.entities(&wanted).await };
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
