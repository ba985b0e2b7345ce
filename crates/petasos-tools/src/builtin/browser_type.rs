//! `browser_type`: type text into a field.

use std::sync::Arc;

use petasos_browser::{Browsers, TypeAsk};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::{self, Act, Answer, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_type",
    description: "Type text into a field",
    emoji: "⌨️",
    schema,
    examples: &[Example {
        title: "words into a field",
        args: r#"{"ref":"@e5","text":"hello"}"#,
        shows: r#""success":true"#,
    }],
    build: browser::frame::<BrowserType>,
    ..browser::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Fill the field of a reference. Lists take an option's label, dates their ISO form, file fields paths, one a line.",
        "parameters": {
            "type": "object",
            "properties": {
                "ref": { "type": "string" },
                "text": { "type": "string" },
                "submit": { "type": "boolean", "description": "Press Enter", "default": false },
                "append": { "type": "boolean", "description": "Keep what is there", "default": false },
            },
            "required": ["ref", "text"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    #[serde(rename = "ref")]
    reference: String,
    text: String,
    #[serde(default)]
    submit: bool,
    #[serde(default)]
    append: bool,
}

struct BrowserType;

impl Act for BrowserType {
    type Input = Input;

    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        input: Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        let Input { reference, text, submit, append } = input;
        Box::pin(browsers.type_text(cx, TypeAsk { reference, text, submit, append }))
    }

    /// Passwords and files leave for the page's host; so does a file's content.
    fn effects(engine: &Engine, args: &Args, cx: &CallContext) -> Effects {
        let reference = args.text("ref").unwrap_or_default();
        let submits = args.get("submit").and_then(Value::as_bool).unwrap_or(false);
        let effects =
            if submits { engine.form(cx, Some(reference), true) } else { engine.page(cx) };
        let host = effects.iter().find_map(|effect| match effect {
            Effect::Reach(host) => Some(host.clone()),
            _ => None,
        });
        let target = host.unwrap_or_else(|| "the open page".to_owned());
        match engine.input_type(cx, reference).as_str() {
            "file" => {
                let paths = args.text("text").unwrap_or_default().lines();
                let paths = paths.map(str::trim).filter(|path| !path.is_empty());
                let reads = paths.map(|path| Effect::Read(cx.workspace.join(path)));
                reads.fold(effects.and(Effect::Send { target }), Effects::and)
            }
            "password" => effects.and(Effect::Send { target }),
            _ => effects,
        }
    }
}
