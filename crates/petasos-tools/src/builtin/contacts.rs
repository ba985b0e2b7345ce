//! `contacts`: people of the address books.

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
    name: "contacts",
    toolset: "contacts",
    description: "Find people",
    emoji: "👤",
    idempotent: true,
    concurrency: Concurrency::Safe,
    in_plan_mode: InPlanMode::ByEffects,
    provenance: Provenance::Foreign,
    check: Some(&diary::ACCOUNT),
    schema,
    examples: &[Example {
        title: "somebody by a name",
        args: r#"{"query":"ada"}"#,
        shows: "Lovelace",
    }],
    build: |_| Arc::new(Contacts),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Find people in the user's address books: names, mail addresses, phones.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "Words of name, address, phone or organisation" },
                "limit": { "type": "integer", "description": "How many", "default": LIMIT_USUAL, "minimum": 1, "maximum": LIMIT_MAX }
            },
            "required": ["query"],
        },
    })
}

const LIMIT_USUAL: usize = 20;
const LIMIT_MAX: usize = 200;

#[derive(Deserialize)]
struct Input {
    query: String,
    limit: Option<usize>,
}

struct Contacts;

impl Tool for Contacts {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let limit = input.limit.unwrap_or(LIMIT_USUAL).clamp(1, LIMIT_MAX);
            let work = async { Dav::open(&cx.settings)?.contacts(&input.query, limit).await };
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
