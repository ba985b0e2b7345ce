//! `browser_press`: press a key.

use std::sync::Arc;

use petasos_browser::BrowserError;
use petasos_contract::tool::{Example, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::browser::{self, BROWSER, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_press",
    toolset: "browser",
    description: "Press a key",
    emoji: "⌨️",
    core: true,
    provenance: Provenance::Foreign,
    check: Some(&BROWSER),
    schema,
    examples: &[Example {
        title: "says what is missing where there is no browser",
        args: r#"{"key":"Enter"}"#,
        shows: "needs a browser",
    }],
    build: |ports| Arc::new(BrowserPress(Engine::of(ports))),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Press one key in the page, such as Enter, Tab, Escape, ArrowDown, or a combination such as Control+A.",
        "parameters": {
            "type": "object",
            "properties": { "key": { "type": "string", "description": "The key, by its DOM name" } },
            "required": ["key"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    key: String,
}

struct BrowserPress(Engine);

impl BrowserPress {
    async fn answer(
        &self,
        input: Input,
        cx: &CallContext,
    ) -> Result<Map<String, Value>, BrowserError> {
        self.0.get()?.press(cx, &input.key).await
    }
}

impl Tool for BrowserPress {
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

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let effects = self.0.page(cx);
        Box::pin(std::future::ready(Ok(Plan::new(args).with_effects(effects))))
    }
}
