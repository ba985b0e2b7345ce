//! `browser_type`: type text into a field.

use std::sync::Arc;

use petasos_browser::{BrowserError, TypeAsk};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::tool::{Example, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::browser::{self, BROWSER, Engine};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_type",
    toolset: "browser",
    description: "Type text into a field",
    emoji: "⌨️",
    core: true,
    provenance: Provenance::Foreign,
    check: Some(&BROWSER),
    schema,
    examples: &[Example {
        title: "says what is missing where there is no browser",
        args: r#"{"ref":"@e5","text":"hello"}"#,
        shows: "needs a browser",
    }],
    build: |ports| Arc::new(BrowserType(Engine::of(ports))),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Type text into the field that a reference names; what is there is replaced unless `append`. Lists take the label of an option, dates their ISO form, file fields a path of the workspace. The answer says what the field holds when that differs.",
        "parameters": {
            "type": "object",
            "properties": {
                "ref": { "type": "string", "description": "The reference of the field, such as @e5" },
                "text": { "type": "string", "description": "The text; for a file field paths, one a line" },
                "submit": { "type": "boolean", "description": "Press Enter afterwards", "default": false },
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

struct BrowserType(Engine);

impl BrowserType {
    async fn answer(
        &self,
        input: Input,
        cx: &CallContext,
    ) -> Result<Map<String, Value>, BrowserError> {
        let Input { reference, text, submit, append } = input;
        self.0.get()?.type_text(cx, TypeAsk { reference, text, submit, append }).await
    }
}

impl Tool for BrowserType {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            Ok(browser::told(Box::pin(self.answer(input, cx)).await, cx))
        })
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let effects = self.typed(&args, cx);
        Box::pin(std::future::ready(Ok(Plan::new(args).with_effects(effects))))
    }
}

impl BrowserType {
    /// Passwords and files leave for the page's host; so does a file's content.
    fn typed(&self, args: &Args, cx: &CallContext) -> Effects {
        let effects = self.0.page(cx);
        let reference = args.text("ref").unwrap_or_default();
        let kind = self.0.input_type(cx, reference);
        let host = effects.iter().find_map(|effect| match effect {
            Effect::Reach(host) => Some(host.clone()),
            _ => None,
        });
        let target = host.unwrap_or_else(|| "the open page".to_owned());
        match kind.as_str() {
            "file" => {
                let paths = args.text("text").unwrap_or_default().lines();
                let paths = paths.map(str::trim).filter(|path| !path.is_empty());
                let reads = paths.map(|path| Effect::Read(cx.workspace.join(path)));
                let sent = effects.and(Effect::Send { target });
                reads.fold(sent, Effects::and)
            }
            "password" => effects.and(Effect::Send { target }),
            _ => effects,
        }
    }
}
