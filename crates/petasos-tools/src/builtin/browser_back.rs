//! `browser_back`: go one page back.

use std::sync::Arc;

use petasos_browser::BrowserError;
use petasos_contract::tool::{Example, InPlanMode, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::browser::{self, BROWSER, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_back",
    toolset: "browser",
    description: "Go one page back",
    emoji: "◀️",
    core: true,
    provenance: Provenance::Foreign,
    check: Some(&BROWSER),
    schema,
    examples: &[Example {
        title: "says what is missing where there is no browser",
        args: "{}",
        shows: "needs a browser",
    }],
    build: |ports| Arc::new(BrowserBack(Engine::of(ports))),
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Go one step back in the history of the open tab and read the page.",
        "parameters": {
            "type": "object",
            "properties": {},
            "required": [],
        },
    })
}

#[derive(Deserialize)]
struct Input {}

struct BrowserBack(Engine);

impl BrowserBack {
    async fn answer(
        &self,
        input: Input,
        cx: &CallContext,
    ) -> Result<Map<String, Value>, BrowserError> {
        let Input {} = input;
        self.0.get()?.back(cx).await
    }
}

impl Tool for BrowserBack {
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
