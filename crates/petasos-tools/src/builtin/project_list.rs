//! `project_list`: the workspaces that have names.

use std::sync::Arc;

use petasos_contract::ports::Ports;
use petasos_contract::tool::{Example, InPlanMode};
use petasos_contract::{BoxFuture, CallContext, Cleared, Tool, ToolDef, ToolError, ToolOutput};
use petasos_redact::Redactor;
use serde_json::{Value, json};

use crate::panel::DESKTOP;
use crate::projects::{Project, Projects, Register};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "project_list",
    toolset: "project",
    description: "List the workspaces that have names",
    check: Some(&DESKTOP),
    in_plan_mode: InPlanMode::ByEffects,
    schema,
    examples: &[Example { title: "all of them", args: "{}", shows: r#""projects":["# }],
    build: |ports| Arc::new(List(ports.clone())),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "List the named workspaces of the desktop app and mark the active one.",
        "parameters": { "type": "object", "properties": {} },
    })
}

struct List(Ports);

impl Tool for List {
    fn run<'a>(
        &'a self,
        _: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let told = self.read(cx).await.map(|kept| {
                let row = |project: &Project| {
                    let mut row = json!(project);
                    row["active"] = (kept.active_id.as_deref() == Some(&project.id)).into();
                    row
                };
                let rows: Vec<Value> = kept.projects.iter().map(row).collect();
                json!({ "active_id": kept.active_id, "projects": rows })
            });
            let mut value = told.unwrap_or_else(Trouble::value);
            Redactor::of(&cx.settings).value(&mut value);
            Ok(ToolOutput::json(&value))
        })
    }
}

impl List {
    async fn read(&self, cx: &CallContext) -> Result<Projects, Trouble> {
        Register::open(&self.0, &cx.settings)?.read().await
    }
}
