//! `spotify_devices`: where music plays.

use std::sync::Arc;

use petasos_contract::tool::{Example, InPlanMode, Provenance};
use petasos_contract::{Args, ToolDef, ToolError};
use petasos_net::Method;
use petasos_vendors::VendorError;
use petasos_vendors::spotify::Deed;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::music::{self, Asked, Doing, Music};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "spotify_devices",
    toolset: "spotify",
    description: "List devices or move playback",
    emoji: "🔈",
    in_plan_mode: InPlanMode::ByEffects,
    provenance: Provenance::Foreign,
    check: Some(&music::SIGNED_IN),
    schema,
    examples: &[
        Example {
            title: "where it can play",
            args: r#"{"action":"list"}"#,
            shows: r#""devices":"#,
        },
        Example {
            title: "nowhere to move to",
            args: r#"{"action":"transfer"}"#,
            shows: "needs `device_id`",
        },
    ],
    build: |ports| Arc::new(Music::new(ports, asked)),
    ..ToolDef::USUAL
};

const ACTIONS: [&str; 2] = ["list", "transfer"];

fn schema() -> Value {
    json!({
        "description": "List the devices that Spotify can play on, or move playback to one (transfer).",
        "parameters": {
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ACTIONS, "description": "What to do" },
                "device_id": music::text("The device's id"),
                "play": { "type": "boolean", "description": "Whether it plays there at once" }
            },
            "required": ["action"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    action: String,
    device_id: Option<String>,
    play: Option<bool>,
}

fn asked(args: Args) -> Result<Result<Asked, VendorError>, ToolError> {
    args.parse::<Input>().map(read)
}

fn read(input: Input) -> Result<Asked, VendorError> {
    match input.action.as_str() {
        "list" => Ok(Asked::new("list", Doing::Reads, Deed::get("/me/player/devices".to_owned()))),
        "transfer" => {
            let device = input.device_id.filter(|device| !device.trim().is_empty());
            let device = device.ok_or_else(|| music::needed("device_id", "transfer"))?;
            let mut body = json!({ "device_ids": [device] });
            if let Some(play) = input.play {
                body["play"] = play.into();
            }
            let deed = Deed::change(Method::PUT, "/me/player".to_owned(), "playback was moved");
            Ok(Asked::new("transfer", Doing::Plays, deed.with(body).of_player()))
        }
        other => Err(music::unknown(other, &ACTIONS)),
    }
}
