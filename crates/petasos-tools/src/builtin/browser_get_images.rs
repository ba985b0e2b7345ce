//! `browser_get_images`: the pictures of the page.

use std::sync::Arc;

use petasos_browser::Browsers;
use petasos_contract::effect::Effects;
use petasos_contract::tool::{Example, InPlanMode};
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::{self, Act, Answer, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_get_images",
    description: "The pictures of the page",
    emoji: "🖼️",
    idempotent: true,
    schema,
    examples: &[Example { title: "the pictures of the page", args: "{}", shows: r#""images":["# }],
    build: browser::frame::<BrowserGetImages>,
    in_plan_mode: InPlanMode::ByEffects,
    ..browser::USUAL
};

fn schema() -> Value {
    json!({
        "description": "List the pictures of the open page.",
        "parameters": {
            "type": "object",
            "properties": {},
            "required": [],
        },
    })
}

#[derive(Deserialize)]
struct Input {}

struct BrowserGetImages;

impl Act for BrowserGetImages {
    type Input = Input;

    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        _: Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(browsers.images(cx))
    }

    fn effects(_: &Engine, _: &Args, _: &CallContext) -> Effects {
        Effects::none()
    }
}
