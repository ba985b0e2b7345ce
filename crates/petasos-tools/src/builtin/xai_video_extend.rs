//! `xai_video_extend`: a film that is there goes on, by the one vendor that does so.

use petasos_contract::ToolDef;
use petasos_contract::tool::Example;
use petasos_media::filming::Task;
use serde_json::{Value, json};

use crate::film::{Changing, XAI};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "xai_video_extend",
    toolset: "video_gen",
    description: "Make a film longer",
    emoji: "video",
    check: Some(&XAI),
    schema,
    examples: &[
        Example {
            title: "it goes on",
            args: r#"{"prompt":"the cat jumps","video_url":"https://example.com/film.mp4"}"#,
            shows: "MEDIA:",
        },
        Example {
            title: "a film of this machine is not taken",
            args: r#"{"prompt":"rain","video_url":"film.mp4"}"#,
            shows: "public https address",
        },
    ],
    build: |ports| Changing::shared(ports, Task::Extend),
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
