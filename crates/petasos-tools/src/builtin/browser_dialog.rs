//! `browser_dialog`: answer a dialog of the page.

use std::sync::Arc;

use petasos_browser::{BrowserError, Browsers};
use petasos_contract::tool::Example;
use petasos_contract::{BoxFuture, CallContext, ToolDef};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::{self, Act, Answer};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_dialog",
    description: "Answer a dialog of the page",
    emoji: "💬",
    toolset: "browser-cdp",
    schema,
    examples: &[Example {
        title: "a question of the page is answered",
        args: r#"{"action":"accept"}"#,
        shows: r#""success":true"#,
    }],
    build: browser::frame::<BrowserDialog>,
    ..browser::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Answer the dialog that the page waits for; nothing else works meanwhile.",
        "parameters": {
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ["accept", "dismiss"] },
                "prompt_text": { "type": "string" },
                "dialog_id": { "type": "string" },
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

struct BrowserDialog;

impl Act for BrowserDialog {
    type Input = Input;

    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        input: Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let accept = match input.action.as_str() {
                "accept" => true,
                "dismiss" => false,
                other => {
                    let text = format!("`{other}` is no action: accept or dismiss");
                    return Err(BrowserError::new("bad_argument", text));
                }
            };
            let which = (input.dialog_id.as_deref(), input.prompt_text.as_deref());
            browsers.dialog(cx, accept, which).await
        })
    }
}
