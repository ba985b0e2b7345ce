//! `yb_search_sticker`: stickers of Yuanbao, by what they show.

use std::sync::Arc;

use petasos_contract::bridging::{Inline, SyncTool};
use petasos_contract::tool::Example;
use petasos_contract::{Args, CallContext, ToolDef, ToolError, ToolOutput};
use petasos_vendors::yuanbao;
use serde_json::{Value, json};

use crate::yuanbao::YUANBAO;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "yb_search_sticker",
    toolset: "hermes-yuanbao",
    description: "Look for a Yuanbao sticker",
    emoji: "🔍",
    check: Some(&YUANBAO),
    schema,
    examples: &[Example {
        title: "a sticker that applauds",
        args: r#"{"query":"applause"}"#,
        shows: r#""sticker_id":"183""#,
    }],
    build: |_| Arc::new(Inline::new(Search)),
    ..ToolDef::USUAL
};

const LIMIT_USUAL: u64 = 10;
const LIMIT_MAX: u64 = 50;

fn schema() -> Value {
    json!({
        "description": "Look for Yuanbao stickers by name or by what they show.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What it shows; any without" },
                "limit": { "type": "integer", "description": "At most so many: 10, up to 50" },
            },
        },
    })
}

struct Search;

impl SyncTool for Search {
    fn call(&self, args: Args, _: &CallContext) -> Result<ToolOutput, ToolError> {
        let query = args.text("query").unwrap_or_default();
        let limit = args.get("limit").and_then(Value::as_u64).unwrap_or(LIMIT_USUAL);
        let limit = usize::try_from(limit.clamp(1, LIMIT_MAX)).unwrap_or(1);
        let found = yuanbao::search(query, limit);
        let rows = found.iter().map(|it| {
            json!({
                "sticker_id": it.id,
                "name": it.name,
                "description": it.about,
                "package_id": it.package,
            })
        });
        let rows: Vec<Value> = rows.collect();
        Ok(ToolOutput::json(&json!({
            "success": true,
            "query": query,
            "count": rows.len(),
            "results": rows,
        })))
    }
}
