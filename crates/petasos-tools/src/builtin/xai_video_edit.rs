//! `xai_video_edit`: a film that is there is changed, by the one vendor that does so.

use petasos_contract::ToolDef;
use petasos_contract::tool::Example;
use petasos_media::filming::Task;
use serde_json::{Value, json};

use crate::film::{Changing, XAI};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "xai_video_edit",
    toolset: "video_gen",
    description: "Change a film",
    emoji: "video",
    check: Some(&XAI),
    schema,
    examples: &[
        Example {
            title: "rain is added",
            args: r#"{"prompt":"let it rain","video_url":"https://example.com/film.mp4"}"#,
            shows: "MEDIA:",
        },
        Example {
            title: "a film of this machine is not taken",
            args: r#"{"prompt":"rain","video_url":"film.mp4"}"#,
            shows: "public https address",
        },
    ],
    build: |ports| Changing::shared(ports, Task::Edit),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Change an existing film as described: a public https address of an MP4. It costs money.",
        "parameters": {
            "type": "object",
            "properties": {
                "prompt": { "type": "string", "description": "What changes" },
                "video_url": { "type": "string", "description": "Public https address of an MP4" },
                "model": { "type": "string", "description": "Another model of xAI" }
            },
            "required": ["prompt", "video_url"],
        },
    })
}
