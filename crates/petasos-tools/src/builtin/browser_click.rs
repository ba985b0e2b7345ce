//! `browser_click`: click the element that a reference names.

use std::sync::Arc;

use petasos_browser::{BrowserError, Browsers, ClickKind};
use petasos_contract::effect::Effects;
use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::{self, Act, Answer, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_click",
    description: "Click the element that a reference names",
    emoji: "👆",
    schema,
    examples: &[Example {
        title: "a link or a button",
        args: r#"{"ref":"@e5"}"#,
        shows: r#""success":true"#,
    }],
    build: browser::frame::<BrowserClick>,
    ..browser::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Click an element by its reference, such as @e5; says what changed. A dead reference is not clicked: the answer names its successor.",
        "parameters": {
            "type": "object",
            "properties": {
                "ref": { "type": "string" },
                "kind": { "type": "string", "enum": ["left", "double", "right", "middle", "hover"], "default": "left" },
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

struct BrowserClick;

impl Act for BrowserClick {
    type Input = Input;

    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        input: Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let word = input.kind.as_deref().unwrap_or("left");
            let kind = ClickKind::from_word(word).ok_or_else(|| {
                let text =
                    format!("`{word}` is no kind of click: left, double, right, middle or hover");
                BrowserError::new("bad_argument", text)
            })?;
            browsers.click(cx, &input.reference, kind).await
        })
    }

    fn effects(engine: &Engine, args: &Args, cx: &CallContext) -> Effects {
        engine.form(cx, Some(args.text("ref").unwrap_or_default()), false)
    }
}
