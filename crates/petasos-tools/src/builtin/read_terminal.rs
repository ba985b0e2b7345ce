//! `read_terminal`: what the person sees in the terminal of the desktop app.

use std::sync::Arc;

use petasos_contract::ports::Ports;
use petasos_contract::tool::{Example, InPlanMode, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_redact::Redactor;
use serde_json::{Value, json};

use crate::panel::{self, DESKTOP};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "read_terminal",
    toolset: "terminal",
    description: "Read the terminal of the desktop app",
    emoji: "🖥️",
    core: true,
    provenance: Provenance::Foreign,
    check: Some(&DESKTOP),
    in_plan_mode: InPlanMode::ByEffects,
    schema,
    examples: &[Example { title: "what the person sees", args: "{}", shows: r#""text":"# }],
    build: |ports| Arc::new(Read(ports.clone())),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Read lines of the pane where the person sees commands run; the visible \
            ones without arguments.",
        "parameters": {
            "type": "object",
            "properties": {
                "start_line": { "type": "integer", "description": "The first line, from 0" },
                "count": { "type": "integer", "description": "How many lines" },
            },
        },
    })
}

struct Read(Ports);

impl Tool for Read {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let read = self.read(cleared.args(), cx).await;
            let mut value = read.unwrap_or_else(Trouble::value);
            Redactor::of(&cx.settings).value(&mut value);
            Ok(ToolOutput::json(&value))
        })
    }
}

impl Read {
    async fn read(&self, args: &Args, cx: &CallContext) -> Result<Value, Trouble> {
        let panel = panel::panel(&self.0, cx)?;
        let number = |name: &str| args.get(name).and_then(Value::as_u64);
        let lines = panel.read(number("start_line"), number("count"), cx);
        let lines = panel::answered("the terminal of the desktop app", lines).await?;
        Ok(json!({
            "total_lines": lines.total_lines,
            "start": lines.start,
            "end": lines.end,
            "viewport_rows": lines.viewport_rows,
            "cursor_row": lines.cursor_row,
            "text": lines.text,
        }))
    }
}
