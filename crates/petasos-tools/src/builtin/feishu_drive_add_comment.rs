//! `feishu_drive_add_comment`: a comment on a whole file.

use std::sync::Arc;

use petasos_contract::tool::{Example, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_vendors::feishu::Feishu;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::paper;
use crate::vendors::{self, Shape};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "feishu_drive_add_comment",
    toolset: "feishu_drive",
    description: "Comment on a Feishu file",
    emoji: "✉️",
    provenance: Provenance::Foreign,
    check: Some(&paper::APP),
    schema,
    examples: &[Example {
        title: "a comment on the whole document",
        args: r#"{"file_token":"doxcnabc","content":"Well done"}"#,
        shows: r#""success":true"#,
    }],
    build: |_| Arc::new(AddComment),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Comment on a Feishu or Lark file as a whole, in plain text. Others see it.",
        "parameters": {
            "type": "object",
            "properties": {
                "file_token": { "type": "string", "description": "The file's token, the last part of its address" },
                "content": { "type": "string", "description": "Plain text" },
                "file_type": { "type": "string", "default": "docx", "description": "What kind of file it is" }
            },
            "required": ["file_token", "content"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    file_token: String,
    content: String,
    file_type: Option<String>,
}

struct AddComment;

impl Tool for AddComment {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let work = async {
                let app = Feishu::open(&cx.settings)?;
                let kind = paper::kind(input.file_type.as_deref())?;
                app.comment(&input.file_token, kind, &input.content).await
            };
            let done = vendors::until_cancelled(cx, Box::pin(work)).await;
            Ok(vendors::told(done, Shape::Success, cx))
        })
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let effects = paper::comments(&args, cx);
        Box::pin(std::future::ready(Ok(Plan::new(args).with_effects(effects))))
    }
}
