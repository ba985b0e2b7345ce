//! `browser_console`: what the page logged, or the value of an expression.

use std::sync::Arc;

use petasos_browser::Browsers;
use petasos_contract::tool::Example;
use petasos_contract::{BoxFuture, CallContext, ToolDef};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::{self, Act, Answer};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_console",
    description: "What the page logged, or the value of an expression",
    emoji: "🖥️",
    schema,
    examples: &[Example {
        title: "a value of the page",
        args: r#"{"expression":"document.title"}"#,
        shows: r#""result":"#,
    }],
    build: browser::frame::<BrowserConsole>,
    ..browser::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Read the page's log and errors, or evaluate JavaScript in it.",
        "parameters": {
            "type": "object",
            "properties": {
                "clear": { "type": "boolean", "default": false },
                "expression": { "type": "string" },
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

struct BrowserConsole;

impl Act for BrowserConsole {
    type Input = Input;

    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        input: Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(
            async move { browsers.console(cx, input.clear, input.expression.as_deref()).await },
        )
    }
}
