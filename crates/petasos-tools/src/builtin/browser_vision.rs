//! `browser_vision`: a picture of the page for a model that sees.

use std::sync::Arc;

use petasos_browser::Browsers;
use petasos_contract::effect::Effects;
use petasos_contract::output::Multimodal;
use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef, ToolOutput};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::browser::{self, Act, Answer, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_vision",
    description: "Look at a picture of the page",
    emoji: "👁️",
    schema,
    examples: &[Example {
        title: "a picture of the page",
        args: r#"{"question":"what is this?"}"#,
        shows: r#""success":true"#,
    }],
    build: browser::frame::<BrowserVision>,
    ..browser::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Look at a picture of the open page, for what text cannot tell.",
        "parameters": {
            "type": "object",
            "properties": {
                "question": { "type": "string" },
                "annotate": {
                    "type": "boolean",
                    "description": "Say where references are",
                    "default": false
                }
            },
            "required": ["question"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    annotate: bool,
}

struct BrowserVision;

impl Act for BrowserVision {
    type Input = Input;

    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        input: Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(browsers.picture(cx, input.annotate))
    }

    fn effects(_: &Engine, _: &Args, _: &CallContext) -> Effects {
        Effects::none()
    }

    fn output(answer: Answer, args: &Args, cx: &CallContext) -> ToolOutput {
        match answer {
            Ok(answer) => envelope(args.text("question").unwrap_or_default(), answer),
            Err(error) => browser::told(Err(error), cx),
        }
    }
}

/// The picture for a model that sees, and where it is for one that does not.
fn envelope(question: &str, mut answer: Map<String, Value>) -> ToolOutput {
    let Some(Value::String(picture)) = answer.remove("data_url") else {
        return ToolOutput::json(&Value::Object(answer));
    };
    answer.insert("success".to_owned(), true.into());
    answer.insert("question".to_owned(), question.into());
    let words = Value::Object(answer).to_string();
    let content = vec![
        json!({ "type": "text", "text": words }),
        json!({ "type": "image_url", "image_url": { "url": picture } }),
    ];
    ToolOutput::Multimodal(Multimodal { content, text_summary: Some(words) })
}
