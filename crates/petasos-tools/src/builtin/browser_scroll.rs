//! `browser_scroll`: scroll the page or an element.

use std::sync::Arc;

use petasos_browser::{BrowserError, ScrollAsk};
use petasos_contract::tool::{Example, InPlanMode, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::browser::{self, BROWSER, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_scroll",
    toolset: "browser",
    description: "Scroll the page or an element",
    emoji: "📜",
    core: true,
    provenance: Provenance::Foreign,
    check: Some(&BROWSER),
    schema,
    examples: &[Example {
        title: "says what is missing where there is no browser",
        args: r#"{"direction":"down"}"#,
        shows: "needs a browser",
    }],
    build: |ports| Arc::new(BrowserScroll(Engine::of(ports))),
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Scroll the page, or the element that `ref` names. The answer says how far it moved, whether the end is reached and how many new elements appeared.",
        "parameters": {
            "type": "object",
            "properties": {
                "direction": { "type": "string", "enum": ["up", "down", "left", "right"], "description": "Where to" },
                "ref": { "type": "string", "description": "Scroll inside this element" },
                "amount": { "type": "number", "description": "Pixels, 500 without" },
            },
            "required": ["direction"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    direction: String,
    #[serde(rename = "ref")]
    reference: Option<String>,
    amount: Option<f64>,
}

struct BrowserScroll(Engine);

impl BrowserScroll {
    async fn answer(
        &self,
        input: Input,
        cx: &CallContext,
    ) -> Result<Map<String, Value>, BrowserError> {
        let Input { direction, reference, amount } = input;
        self.0.get()?.scroll(cx, ScrollAsk { direction, reference, amount }).await
    }
}

impl Tool for BrowserScroll {
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
