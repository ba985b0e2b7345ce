//! `browser_scroll`: scroll the page or an element.

use std::sync::Arc;

use petasos_browser::{Browsers, ScrollAsk};
use petasos_contract::tool::{Example, InPlanMode};
use petasos_contract::{BoxFuture, CallContext, ToolDef};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::{self, Act, Answer};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_scroll",
    description: "Scroll the page or an element",
    emoji: "📜",
    schema,
    examples: &[Example {
        title: "further down",
        args: r#"{"direction":"down"}"#,
        shows: r#""success":true"#,
    }],
    build: browser::frame::<BrowserScroll>,
    in_plan_mode: InPlanMode::ByEffects,
    ..browser::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Scroll the page, or inside `ref`; says what appeared and whether the end is reached.",
        "parameters": {
            "type": "object",
            "properties": {
                "direction": { "type": "string", "enum": ["up", "down", "left", "right"] },
                "ref": { "type": "string" },
                "amount": { "type": "number", "description": "Pixels: 500" },
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

struct BrowserScroll;

impl Act for BrowserScroll {
    type Input = Input;

    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        input: Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        let Input { direction, reference, amount } = input;
        Box::pin(browsers.scroll(cx, ScrollAsk { direction, reference, amount }))
    }
}
