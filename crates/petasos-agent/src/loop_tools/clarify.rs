//! `clarify`: a question to the person on the other side.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::tool::{Example, InPlanMode, Route, Tool};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, ToolDef, ToolError, ToolOutput, wait,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::engine::Question;
use crate::seat;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "clarify",
    toolset: "clarify",
    description: "Ask the user a question",
    emoji: "❓",
    core: true,
    route: Route::AgentLoop,
    schema,
    examples: &[Example {
        title: "a choice",
        args: r#"{"question":"Which hat?","choices":["felt","straw"]}"#,
        shows: r#""user_response":"#,
    }],
    build: |_| Arc::new(Clarify),
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

const CHOICES_MAX: usize = 4;
/// How long a question stays open when nothing is configured.
const OPEN_SECONDS: f64 = 3600.0;

fn schema() -> Value {
    json!({
        "description": "Ask the user what no tool can find out, with up to four choices; they may \
            answer freely.",
        "parameters": {
            "type": "object",
            "properties": {
                "question": { "type": "string" },
                "choices": {
                    "type": "array", "maxItems": CHOICES_MAX, "items": { "type": "string" }
                }
            },
            "required": ["question"]
        }
    })
}

#[derive(Debug, Deserialize)]
struct Input {
    question: String,
    #[serde(default)]
    choices: Vec<Value>,
}

struct Clarify;

impl Tool for Clarify {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let text = input.question.trim().to_owned();
            if text.is_empty() {
                return Ok(ToolOutput::plain_error(
                    "`question` is empty: say what you want to know",
                ));
            }
            let choices: Vec<String> =
                input.choices.iter().filter_map(label).take(CHOICES_MAX).collect();
            let Some(asker) = &seat::of(cx)?.engine.asker else {
                let why = "nobody can be asked here: decide yourself and say what you assumed";
                return Ok(ToolOutput::plain_error(why));
            };
            let question = Question { text, choices };
            let deadline = (Instant::now() + open(cx)).min(cx.deadline);
            let answer = cx.pauses.during(asker.ask(&question, cx));
            match wait::until(deadline, "an answer of the user", answer).await {
                Ok(Ok(answer)) => Ok(ToolOutput::json(&json!({
                    "question": question.text,
                    "choices_offered": question.choices,
                    "user_response": answer,
                }))),
                Ok(Err(why)) => Ok(ToolOutput::plain_error(&why)),
                Err(_) => Ok(ToolOutput::plain_error(
                    "nobody answered in time: decide yourself and say what you assumed",
                )),
            }
        })
    }

    fn time_limit(&self, _: &Args, cx: &CallContext) -> Option<Duration> {
        Some(open(cx) + Duration::from_mins(1))
    }
}

/// How long a question stays open.
fn open(cx: &CallContext) -> Duration {
    let seconds = cx.settings.get("agent.clarify_timeout").and_then(Value::as_f64);
    let open = Duration::try_from_secs_f64(seconds.unwrap_or(OPEN_SECONDS));
    open.unwrap_or(Duration::from_hours(1))
}

/// Models sometimes write choices as objects.
fn label(choice: &Value) -> Option<String> {
    let text = match choice {
        Value::String(text) => text.as_str(),
        Value::Object(object) => ["label", "description", "text", "title"]
            .iter()
            .find_map(|key| object.get(*key)?.as_str())?,
        _ => return None,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
