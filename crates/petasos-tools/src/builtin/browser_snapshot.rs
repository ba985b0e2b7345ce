//! `browser_snapshot`: the page as text with references.

use std::sync::Arc;

use petasos_browser::{Browsers, SnapshotAsk};
use petasos_contract::effect::Effects;
use petasos_contract::tool::{Example, InPlanMode};
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::{self, Act, Answer, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_snapshot",
    description: "The page as text with references",
    emoji: "📸",
    idempotent: true,
    schema,
    examples: &[Example {
        title: "the whole page",
        args: r#"{"full":true}"#,
        shows: r#""success":true"#,
    }],
    build: browser::frame::<BrowserSnapshot>,
    in_plan_mode: InPlanMode::ByEffects,
    ..browser::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Read the open page as text with references such as @e5. A long page comes in parts.",
        "parameters": {
            "type": "object",
            "properties": {
                "full": { "type": "boolean", "default": false },
                "part": { "type": "integer", "minimum": 1 },
                "find": { "type": "string", "description": "Lines with these words" },
                "root": { "type": "string", "description": "Inside this reference" },
            },
            "required": [],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    full: bool,
    part: Option<usize>,
    find: Option<String>,
    root: Option<String>,
}

struct BrowserSnapshot;

impl Act for BrowserSnapshot {
    type Input = Input;

    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        input: Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        let Input { full, part, find, root } = input;
        Box::pin(browsers.snapshot(cx, SnapshotAsk { full, part, find, root }))
    }

    fn effects(_: &Engine, _: &Args, _: &CallContext) -> Effects {
        Effects::none()
    }
}
