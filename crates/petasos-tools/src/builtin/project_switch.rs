//! `project_switch`: the conversation moves to another workspace that has a name.

use std::sync::Arc;

use petasos_contract::ports::Ports;
use petasos_contract::tool::Example;
use petasos_contract::{BoxFuture, CallContext, Cleared, Tool, ToolDef, ToolError, ToolOutput};
use petasos_redact::Redactor;
use serde_json::{Value, json};

use crate::panel::{self, DESKTOP};
use crate::projects::Register;
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "project_switch",
    toolset: "project",
    description: "Go to another workspace that has a name",
    check: Some(&DESKTOP),
    schema,
    examples: &[Example {
        title: "work goes on there",
        args: r#"{"project":"notes"}"#,
        shows: r#""slug":"notes""#,
    }],
    build: |ports| Arc::new(Switch(ports.clone())),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Move the conversation to another named workspace when this turn ends.",
        "parameters": {
            "type": "object",
            "properties": {
                "project": { "type": "string", "description": "Its name, short name or id" },
            },
            "required": ["project"],
        },
    })
}

struct Switch(Ports);

impl Tool for Switch {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let word = cleared.args().text("project").unwrap_or_default().trim().to_owned();
            let mut value = self.go(&word, cx).await.unwrap_or_else(Trouble::unsuccessful);
            Redactor::of(&cx.settings).value(&mut value);
            Ok(ToolOutput::json(&value))
        })
    }
}

impl Switch {
    async fn go(&self, word: &str, cx: &CallContext) -> Result<Value, Trouble> {
        let panel = panel::panel(&self.0, cx)?;
        let register = Register::open(&self.0, &cx.settings)?;
        let project = register.read().await?.find(word)?.clone();
        if !project.primary_path.is_dir() {
            let why = format!("the folder `{}` is gone", project.primary_path.display());
            return Err(Trouble::new("not_found", why));
        }
        let moved = panel.move_to(&project.primary_path, cx);
        panel::answered("a move to another workspace", moved).await?;
        register.activate(&project).await?;
        let mut told = json!(project);
        told["success"] = true.into();
        Ok(told)
    }
}
