//! `browser_snapshot`: the page as text with references.

use std::sync::Arc;

use petasos_browser::{BrowserError, SnapshotAsk};
use petasos_contract::tool::{Example, InPlanMode, Provenance};
use petasos_contract::{BoxFuture, CallContext, Cleared, Tool, ToolDef, ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::browser::{self, BROWSER, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_snapshot",
    toolset: "browser",
    description: "The page as text with references",
    emoji: "📸",
    core: true,
    idempotent: true,
    provenance: Provenance::Foreign,
    check: Some(&BROWSER),
    schema,
    examples: &[Example {
        title: "says what is missing where there is no browser",
        args: r#"{"full":true}"#,
        shows: "needs a browser",
    }],
    build: |ports| Arc::new(BrowserSnapshot(Engine::of(ports))),
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Read the open page as text: one line per element, with references such as @e5. Compact unless `full`. A long page comes in parts: ask for the next with `part`, look for words with `find`, or read one element with `root`.",
        "parameters": {
            "type": "object",
            "properties": {
                "full": { "type": "boolean", "description": "Everything, with addresses and lists", "default": false },
                "part": { "type": "integer", "description": "Which part of a long page, from 1", "minimum": 1 },
                "find": { "type": "string", "description": "Only lines with these words" },
                "root": { "type": "string", "description": "Only what is inside this reference" },
            },
            "required": [],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    full: bool,
    part: Option<usize>,
    find: Option<String>,
    root: Option<String>,
}

struct BrowserSnapshot(Engine);

impl BrowserSnapshot {
    async fn answer(
        &self,
        input: Input,
        cx: &CallContext,
    ) -> Result<Map<String, Value>, BrowserError> {
        let Input { full, part, find, root } = input;
        let ask = SnapshotAsk { full, part, find, root };
        self.0.get()?.snapshot(cx, ask).await
    }
}

impl Tool for BrowserSnapshot {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            Ok(browser::told(Box::pin(self.answer(input, cx)).await, cx))
        })
    }
}
