//! `spotify_search`: the catalogue.

use std::sync::Arc;

use petasos_contract::tool::{Example, InPlanMode, Provenance};
use petasos_contract::{Args, ToolDef, ToolError};
use petasos_vendors::VendorError;
use petasos_vendors::spotify::Deed;
use petasos_vendors::text::query;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::music::{self, Asked, Doing, Music};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "spotify_search",
    toolset: "spotify",
    description: "Search the Spotify catalogue",
    emoji: "🔎",
    in_plan_mode: InPlanMode::ByEffects,
    provenance: Provenance::Foreign,
    check: Some(&music::SIGNED_IN),
    schema,
    examples: &[
        Example {
            title: "a track by its words",
            args: r#"{"query":"felt hat","types":["track"]}"#,
            shows: r#""tracks":"#,
        },
        Example {
            title: "nothing to look for",
            args: r#"{"query":" "}"#,
            shows: "`query` is empty",
        },
    ],
    build: |ports| Arc::new(Music::new(ports, asked)),
    ..ToolDef::USUAL
};

const KINDS: [&str; 6] = ["track", "album", "artist", "playlist", "show", "episode"];

fn schema() -> Value {
    json!({
        "description": "Search the Spotify catalogue for tracks, albums, artists, playlists, shows or episodes.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": music::text("What to look for; operators such as artist: and year: go through"),
                "types": { "type": "array", "items": { "type": "string" }, "description": "Kinds: track, album, artist, playlist, show, episode" },
                "type": music::text("One kind"),
                "limit": { "type": "integer", "description": "How many of each kind, 10 without" },
                "offset": { "type": "integer", "description": "How many to pass over" },
                "market": music::text("Country of two letters"),
                "include_external": music::text("`audio` for what is hosted elsewhere")
            },
            "required": ["query"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    query: String,
    #[serde(default)]
    types: Vec<String>,
    r#type: Option<String>,
    limit: Option<u64>,
    offset: Option<u64>,
    market: Option<String>,
    include_external: Option<String>,
}

fn asked(args: Args) -> Result<Result<Asked, VendorError>, ToolError> {
    args.parse::<Input>().map(read)
}

fn read(input: Input) -> Result<Asked, VendorError> {
    if input.query.trim().is_empty() {
        return Err(VendorError::argument("`query` is empty: say what to look for"));
    }
    let mut kinds: Vec<String> = input.types.into_iter().chain(input.r#type).collect();
    if kinds.is_empty() {
        kinds.push("track".to_owned());
    }
    if let Some(bad) = kinds.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
        return Err(music::unknown(bad, &KINDS));
    }
    let external = input.include_external.filter(|text| text == "audio");
    let query = query([
        ("q", Some(input.query.trim().to_owned())),
        ("type", Some(kinds.join(","))),
        ("limit", Some(music::limit(input.limit, 10))),
        ("offset", input.offset.map(|offset| offset.to_string())),
        ("market", music::market(input.market)?),
        ("include_external", external),
    ]);
    Ok(Asked::new("search", Doing::Reads, Deed::get(format!("/search{query}"))))
}
