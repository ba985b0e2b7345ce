//! `spotify_albums`: an album and its tracks.

use std::sync::Arc;

use petasos_contract::tool::{Example, InPlanMode, Provenance};
use petasos_contract::{Args, ToolDef, ToolError};
use petasos_vendors::VendorError;
use petasos_vendors::spotify::{Deed, Kind, Named};
use petasos_vendors::text::query;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::music::{self, Asked, Doing, Music};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "spotify_albums",
    toolset: "spotify",
    description: "Read a Spotify album",
    emoji: "💿",
    in_plan_mode: InPlanMode::ByEffects,
    provenance: Provenance::Foreign,
    check: Some(&music::SIGNED_IN),
    schema,
    examples: &[
        Example {
            title: "an album",
            args: r#"{"action":"get","album_id":"4aawyAB9vmqN3uQ7FjRGTy"}"#,
            shows: r#""name":"#,
        },
        Example {
            title: "a name of something else",
            args: r#"{"action":"get","album_id":"spotify:track:4uLU6hMCjMI75M1A2tKUQC"}"#,
            shows: "is a track",
        },
    ],
    build: |ports| Arc::new(Music::new(ports, asked)),
    ..ToolDef::USUAL
};

const ACTIONS: [&str; 2] = ["get", "tracks"];

fn schema() -> Value {
    json!({
        "description": "Read a Spotify album (get) or its tracks (tracks).",
        "parameters": {
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ACTIONS, "description": "What to do" },
                "album_id": music::text("The album: its id, URI or link"),
                "id": music::text("The same"),
                "market": music::text("Country of two letters"),
                "limit": { "type": "integer", "description": "How many tracks, 20 without" },
                "offset": { "type": "integer", "description": "How many to pass over" }
            },
            "required": ["action"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    action: String,
    album_id: Option<String>,
    id: Option<String>,
    market: Option<String>,
    limit: Option<u64>,
    offset: Option<u64>,
}

fn asked(args: Args) -> Result<Result<Asked, VendorError>, ToolError> {
    args.parse::<Input>().map(read)
}

fn read(input: Input) -> Result<Asked, VendorError> {
    let action = input.action.as_str();
    if !ACTIONS.contains(&action) {
        return Err(music::unknown(action, &ACTIONS));
    }
    let named = input.album_id.or(input.id).ok_or_else(|| music::needed("album_id", action))?;
    let album = Named::read(&named, &[Kind::Album])?;
    let market = music::market(input.market)?;
    let path = if action == "get" {
        format!("/albums/{}{}", album.id, query([("market", market)]))
    } else {
        let query = query([
            ("market", market),
            ("limit", Some(music::limit(input.limit, 20))),
            ("offset", input.offset.map(|offset| offset.to_string())),
        ]);
        format!("/albums/{}/tracks{query}", album.id)
    };
    Ok(Asked::new(action, Doing::Reads, Deed::get(path)))
}
