//! `browser_back`: go one page back.

use std::sync::Arc;

use petasos_browser::Browsers;
use petasos_contract::tool::{Example, InPlanMode};
use petasos_contract::{BoxFuture, CallContext, ToolDef};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::{self, Act, Answer};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_back",
    description: "Go one page back",
    emoji: "◀️",
    schema,
    examples: &[Example { title: "the page before", args: "{}", shows: r#""success":true"# }],
    build: browser::frame::<BrowserBack>,
    in_plan_mode: InPlanMode::ByEffects,
    ..browser::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Go back in the open tab and read the page.",
        "parameters": {
            "type": "object",
            "properties": {},
            "required": [],
        },
    })
}

#[derive(Deserialize)]
struct Input {}

struct BrowserBack;

impl Act for BrowserBack {
    type Input = Input;

    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        _: Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(browsers.back(cx))
    }
}
