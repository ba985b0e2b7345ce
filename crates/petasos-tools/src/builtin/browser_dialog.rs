//! `browser_dialog`: answer a dialog of the page.

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
    name: "browser_dialog",
    toolset: "browser-cdp",
    description: "Answer a dialog of the page",
    emoji: "💬",
    core: true,
    provenance: Provenance::Foreign,
    check: Some(&BROWSER),
    schema,
    examples: &[Example {
        title: "says what is missing where there is no browser",
        args: r#"{"action":"accept"}"#,
        shows: "needs a browser",
    }],
    build: |ports| Arc::new(BrowserDialog(Engine::of(ports))),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Accept or dismiss the dialog that the page waits for. Nothing else works while one is open.",
        "parameters": {
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ["accept", "dismiss"], "description": "What to answer" },
                "prompt_text": { "type": "string", "description": "The text for a prompt" },
                "dialog_id": { "type": "string", "description": "Which dialog, when several are open" },
            },
            "required": ["action"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    action: String,
    prompt_text: Option<String>,
    dialog_id: Option<String>,
}

struct BrowserDialog(Engine);

impl BrowserDialog {
    async fn answer(
        &self,
        input: Input,
        cx: &CallContext,
    ) -> Result<Map<String, Value>, BrowserError> {
        let accept = match input.action.as_str() {
            "accept" => true,
            "dismiss" => false,
            other => {
                let text = format!("`{other}` is no action: accept or dismiss");
                return Err(BrowserError::new("bad_argument", text));
            }
        };
        let which = (input.dialog_id.as_deref(), input.prompt_text.as_deref());
        self.0.get()?.dialog(cx, accept, which).await
    }
}

impl Tool for BrowserDialog {
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
