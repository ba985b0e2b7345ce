//! `browser_console`: what the page logged, or the value of an expression.

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
    name: "browser_console",
    toolset: "browser",
    description: "What the page logged, or the value of an expression",
    emoji: "🖥️",
    core: true,
    provenance: Provenance::Foreign,
    check: Some(&BROWSER),
    schema,
    examples: &[Example {
        title: "says what is missing where there is no browser",
        args: r#"{"expression":"document.title"}"#,
        shows: "needs a browser",
    }],
    build: |ports| Arc::new(BrowserConsole(Engine::of(ports))),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Read what the page logged and its uncaught errors, or evaluate one JavaScript expression in it.",
        "parameters": {
            "type": "object",
            "properties": {
                "clear": { "type": "boolean", "description": "Forget the messages afterwards", "default": false },
                "expression": { "type": "string", "description": "JavaScript to evaluate; a promise is awaited" },
            },
            "required": [],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    clear: bool,
    expression: Option<String>,
}

struct BrowserConsole(Engine);

impl BrowserConsole {
    async fn answer(
        &self,
        input: Input,
        cx: &CallContext,
    ) -> Result<Map<String, Value>, BrowserError> {
        self.0.get()?.console(cx, input.clear, input.expression.as_deref()).await
    }
}

impl Tool for BrowserConsole {
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
