//! `browser_press`: press a key.

use std::sync::Arc;

use petasos_browser::Browsers;
use petasos_contract::effect::Effects;
use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::{self, Act, Answer, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_press",
    description: "Press a key",
    emoji: "⌨️",
    schema,
    examples: &[Example { title: "a key", args: r#"{"key":"Enter"}"#, shows: r#""success":true"# }],
    build: browser::frame::<BrowserPress>,
    ..browser::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Press a key by its DOM name: Enter, ArrowDown, Control+A.",
        "parameters": {
            "type": "object",
            "properties": { "key": { "type": "string" } },
            "required": ["key"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    key: String,
}

struct BrowserPress;

impl Act for BrowserPress {
    type Input = Input;

    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        input: Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(async move { browsers.press(cx, &input.key).await })
    }

    /// Enter may send the form of the field that was typed into last.
    fn effects(engine: &Engine, args: &Args, cx: &CallContext) -> Effects {
        match args.text("key").unwrap_or_default() {
            "Enter" | "NumpadEnter" => engine.form(cx, None, true),
            _ => engine.page(cx),
        }
    }
}
