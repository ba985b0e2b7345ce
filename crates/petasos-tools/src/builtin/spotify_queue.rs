//! `spotify_queue`: what plays next.

use std::sync::Arc;

use petasos_contract::tool::{Example, InPlanMode, Provenance};
use petasos_contract::{Args, ToolDef, ToolError};
use petasos_net::Method;
use petasos_vendors::VendorError;
use petasos_vendors::spotify::{Deed, Kind, Named};
use petasos_vendors::text::query;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::music::{self, Asked, Doing, Music};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "spotify_queue",
    toolset: "spotify",
    description: "Read the queue or add to it",
    emoji: "📻",
    in_plan_mode: InPlanMode::ByEffects,
    provenance: Provenance::Foreign,
    check: Some(&music::SIGNED_IN),
    schema,
    examples: &[
        Example { title: "what comes next", args: r#"{"action":"get"}"#, shows: r#""queue":"# },
        Example { title: "nothing to add", args: r#"{"action":"add"}"#, shows: "needs `uri`" },
    ],
    build: |ports| Arc::new(Music::new(ports, asked)),
    ..ToolDef::USUAL
};

const ACTIONS: [&str; 2] = ["get", "add"];

fn schema() -> Value {
    json!({
        "description": "Read what Spotify plays next (get), or add a track or an episode to it (add).",
        "parameters": {
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ACTIONS, "description": "What to do" },
                "uri": music::text("The track or episode: its id, URI or link"),
                "device_id": music::text("The device; without, the one that plays")
            },
            "required": ["action"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    action: String,
    uri: Option<String>,
    device_id: Option<String>,
}

fn asked(args: Args) -> Result<Result<Asked, VendorError>, ToolError> {
    args.parse::<Input>().map(read)
}

fn read(input: Input) -> Result<Asked, VendorError> {
    match input.action.as_str() {
        "get" => Ok(Asked::new("get", Doing::Reads, Deed::get("/me/player/queue".to_owned()))),
        "add" => {
            let uri = input.uri.ok_or_else(|| music::needed("uri", "add"))?;
            let named = Named::read(&uri, &[Kind::Track, Kind::Episode])?;
            let query = query([("uri", Some(named.uri())), ("device_id", input.device_id)]);
            let path = format!("/me/player/queue{query}");
            let deed = Deed::change(Method::POST, path, "it was added to the queue");
            Ok(Asked::new("add", Doing::Plays, deed.of_player()))
        }
        other => Err(music::unknown(other, &ACTIONS)),
    }
}
