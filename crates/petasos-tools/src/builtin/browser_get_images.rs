//! `browser_get_images`: the pictures of the page.

use std::sync::Arc;

use petasos_browser::BrowserError;
use petasos_contract::tool::{Example, InPlanMode, Provenance};
use petasos_contract::{BoxFuture, CallContext, Cleared, Tool, ToolDef, ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::browser::{self, BROWSER, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_get_images",
    toolset: "browser",
    description: "The pictures of the page",
    emoji: "🖼️",
    core: true,
    idempotent: true,
    provenance: Provenance::Foreign,
    check: Some(&BROWSER),
    schema,
    examples: &[Example {
        title: "says what is missing where there is no browser",
        args: "{}",
        shows: "needs a browser",
    }],
    build: |ports| Arc::new(BrowserGetImages(Engine::of(ports))),
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "List the pictures of the open page with their addresses, alternative texts and sizes.",
        "parameters": {
            "type": "object",
            "properties": {},
            "required": [],
        },
    })
}

#[derive(Deserialize)]
struct Input {}

struct BrowserGetImages(Engine);

impl BrowserGetImages {
    async fn answer(
        &self,
        input: Input,
        cx: &CallContext,
    ) -> Result<Map<String, Value>, BrowserError> {
        let Input {} = input;
        self.0.get()?.images(cx).await
    }
}

impl Tool for BrowserGetImages {
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
