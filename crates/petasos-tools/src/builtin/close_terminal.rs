//! `close_terminal`: a tab of the desktop app goes; the process that it mirrors lives on.

use std::sync::Arc;

use petasos_contract::ports::Ports;
use petasos_contract::tool::Example;
use petasos_contract::{BoxFuture, CallContext, Cleared, Tool, ToolDef, ToolError, ToolOutput};
use serde_json::{Value, json};

use crate::panel::{self, DESKTOP};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "close_terminal",
    toolset: "terminal",
    description: "Close a tab of the desktop app",
    emoji: "🖥️",
    core: true,
    check: Some(&DESKTOP),
    schema,
    examples: &[Example {
        title: "a tab is closed, its process lives on",
        args: r#"{"process_id":"p1"}"#,
        shows: r#""process_id":"p1""#,
    }],
    build: |ports| Arc::new(Close(ports.clone())),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Close the tab that mirrors a background process. The process goes on.",
        "parameters": {
            "type": "object",
            "properties": {
                "process_id": { "type": "string", "description": "The background process" },
            },
            "required": ["process_id"],
        },
    })
}

struct Close(Ports);

impl Tool for Close {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let id = cleared.args().text("process_id").unwrap_or_default().to_owned();
            let value = self.close(&id, cx).await.unwrap_or_else(Trouble::unsuccessful);
            Ok(ToolOutput::json(&value))
        })
    }
}

impl Close {
    async fn close(&self, id: &str, cx: &CallContext) -> Result<Value, Trouble> {
        let panel = panel::panel(&self.0, cx)?;
        panel::answered("a tab of the desktop app", panel.close(id, cx)).await?;
        Ok(json!({ "success": true, "process_id": id }))
    }
}
