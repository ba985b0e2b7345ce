//! `web_search`: titles, addresses and a few words of pages.

use std::sync::Arc;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::tool::{Concurrency, Example, InPlanMode, Limit, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_web::search::{SearchAsk, choose, search};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::waiting::telling;
use crate::web;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "web_search",
    toolset: "web",
    description: "Search the web",
    emoji: "🔍",
    core: true,
    idempotent: true,
    concurrency: Concurrency::Safe,
    provenance: Provenance::Foreign,
    result_chars_max: Limit::Chars(100_000),
    requires_env: &[
        "TAVILY_API_KEY",
        "EXA_API_KEY",
        "PARALLEL_API_KEY",
        "FIRECRAWL_API_KEY",
        "SEARXNG_URL",
        "BRAVE_SEARCH_API_KEY",
        "SERPER_API_KEY",
    ],
    check: Some(&SEARCH),
    schema,
    examples: &[
        Example {
            title: "pages about something",
            args: r#"{"query":"felt hats"}"#,
            shows: r#""success":true"#,
        },
        Example {
            title: "an empty question is not asked",
            args: r#"{"query":" "}"#,
            shows: "say what to look for",
        },
    ],
    build: |_| Arc::new(WebSearch),
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

/// Some service can be asked; the choice is the one that a call makes.
static SEARCH: CheckDef = CheckDef {
    id: "web_search",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            match choose(&cx.settings).chosen {
                Ok(_) => Availability::Ready,
                Err(why) => Availability::Missing(why),
            }
        })
    },
};

fn schema() -> Value {
    json!({
        "description": "Search the web: titles, addresses, a few words of each page.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": { "type": "string" },
                "limit": {
                    "type": "integer",
                    "default": LIMIT_USUAL,
                    "minimum": 1,
                    "maximum": LIMIT_MAX
                },
                "freshness": {
                    "type": "string",
                    "enum": ["day", "week", "month", "year"]
                },
                "offset": { "type": "integer", "minimum": 0 }
            },
            "required": ["query"],
        },
    })
}

const LIMIT_USUAL: usize = 5;
const LIMIT_MAX: usize = 100;

#[derive(Deserialize)]
struct Input {
    query: String,
    limit: Option<usize>,
    freshness: Option<String>,
    offset: Option<usize>,
}

struct WebSearch;

impl Tool for WebSearch {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let ask = SearchAsk {
                query: input.query,
                limit: input.limit.unwrap_or(LIMIT_USUAL).clamp(1, LIMIT_MAX),
                freshness: input.freshness,
                offset: input.offset.unwrap_or(0),
            };
            Ok(web::told(telling(cx, "the search service", search(&ask, cx)).await, cx))
        })
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let host = choose(&cx.settings)
            .chosen
            .ok()
            .and_then(|provider| provider.service.host(&cx.settings));
        let effects = host.map_or(Effects::none(), |host| Effects::one(Effect::Reach(host)));
        Box::pin(std::future::ready(Ok(Plan::new(args).with_effects(effects))))
    }
}
