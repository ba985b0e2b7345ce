//! `browser_vision`: a picture of the page for a model that sees.

use std::sync::Arc;

use petasos_contract::output::Multimodal;
use petasos_contract::tool::{Example, Provenance};
use petasos_contract::{BoxFuture, CallContext, Cleared, Tool, ToolDef, ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::browser::{self, BROWSER, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_vision",
    toolset: "browser",
    description: "Look at a picture of the page",
    emoji: "👁️",
    core: true,
    provenance: Provenance::Foreign,
    check: Some(&BROWSER),
    schema,
    examples: &[Example {
        title: "says what is missing where there is no browser",
        args: r#"{"question":"what is this?"}"#,
        shows: "needs a browser",
    }],
    build: |ports| Arc::new(BrowserVision(Engine::of(ports))),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Take a picture of what is visible of the open page and look at it with a \
            question in mind. With `annotate` the answer says where each reference is. Use it for \
            what text cannot tell: layout, charts, drawings.",
        "parameters": {
            "type": "object",
            "properties": {
                "question": { "type": "string", "description": "What to find out" },
                "annotate": {
                    "type": "boolean",
                    "description": "Say where the references are",
                    "default": false
                }
            },
            "required": ["question"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    question: String,
    #[serde(default)]
    annotate: bool,
}

struct BrowserVision(Engine);

impl Tool for BrowserVision {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let engine = match self.0.get() {
                Ok(engine) => engine,
                Err(error) => return Ok(browser::told(Err(error), cx)),
            };
            match Box::pin(engine.picture(cx, input.annotate)).await {
                Ok(answer) => Ok(envelope(&input.question, answer)),
                Err(error) => Ok(browser::told(Err(error), cx)),
            }
        })
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
