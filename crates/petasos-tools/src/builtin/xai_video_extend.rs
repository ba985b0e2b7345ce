//! `xai_video_extend`: a film that is there goes on, by the one vendor that does so.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_media::filming::Task;
use serde_json::{Value, json};

use crate::film::{self, Studio, XAI};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "xai_video_extend",
    toolset: "video_gen",
    description: "Make a film longer",
    emoji: "video",
    check: Some(&XAI),
    schema,
    examples: &[Example {
        title: "a film of this machine is not taken",
        args: r#"{"prompt":"rain","video_url":"film.mp4"}"#,
        shows: "public https address",
    }],
    build: |ports| Arc::new(Extend(Studio::new(ports))),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Make an existing film go on as described: a public https address of an MP4. It costs money.",
        "parameters": {
            "type": "object",
            "properties": {
                "prompt": { "type": "string", "description": "What happens next" },
                "video_url": { "type": "string", "description": "Public https address of an MP4" },
                "duration": { "type": "integer", "description": "Seconds to add, 6 without it" },
                "model": { "type": "string", "description": "Another model of xAI" }
            },
            "required": ["prompt", "video_url"],
        },
    })
}

struct Extend(Studio);

impl Tool for Extend {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(std::future::ready(film::planned(args, Task::Extend, cx)))
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.0.changed(cleared, cx))
    }

    fn time_limit(&self, _: &Args, cx: &CallContext) -> Option<Duration> {
        Some(film::whole(cx))
    }
}
