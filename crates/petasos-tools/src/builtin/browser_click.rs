//! `browser_click`: click the element that a reference names.

use std::sync::Arc;

use petasos_browser::{BrowserError, ClickKind};
use petasos_contract::tool::{Example, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::browser::{self, BROWSER, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_click",
    toolset: "browser",
    description: "Click the element that a reference names",
    emoji: "👆",
    core: true,
    provenance: Provenance::Foreign,
    check: Some(&BROWSER),
    schema,
    examples: &[Example {
        title: "says what is missing where there is no browser",
        args: r#"{"ref":"@e5"}"#,
        shows: "needs a browser",
    }],
    build: |ports| Arc::new(BrowserClick(Engine::of(ports))),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Click an element by its reference from the last snapshot, such as @e5. The answer says where the page is now and what changed. A reference that died is never clicked: the answer says why and names its successor.",
        "parameters": {
            "type": "object",
            "properties": {
                "ref": { "type": "string", "description": "The reference, such as @e5" },
                "kind": { "type": "string", "enum": ["left", "double", "right", "middle", "hover"], "description": "How to click", "default": "left" },
            },
            "required": ["ref"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    #[serde(rename = "ref")]
    reference: String,
    kind: Option<String>,
}

struct BrowserClick(Engine);

impl BrowserClick {
    async fn answer(
        &self,
        input: Input,
        cx: &CallContext,
    ) -> Result<Map<String, Value>, BrowserError> {
        let word = input.kind.as_deref().unwrap_or("left");
        let kind = ClickKind::from_word(word).ok_or_else(|| {
            let text =
                format!("`{word}` is no kind of click: left, double, right, middle or hover");
            BrowserError::new("bad_argument", text)
        })?;
        self.0.get()?.click(cx, &input.reference, kind).await
    }
}

impl Tool for BrowserClick {
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
