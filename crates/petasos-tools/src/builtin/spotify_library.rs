//! `spotify_library`: what the person has saved.

use std::sync::Arc;

use petasos_contract::tool::{Example, InPlanMode, Provenance};
use petasos_contract::{Args, ToolDef, ToolError};
use petasos_net::Method;
use petasos_vendors::VendorError;
use petasos_vendors::spotify::{Deed, Kind};
use petasos_vendors::text::query;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::music::{self, Asked, Doing, Music};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "spotify_library",
    toolset: "spotify",
    description: "List, save or remove tracks and albums",
    emoji: "❤️",
    in_plan_mode: InPlanMode::ByEffects,
    provenance: Provenance::Foreign,
    check: Some(&music::SIGNED_IN),
    schema,
    examples: &[
        Example {
            title: "what was saved",
            args: r#"{"kind":"tracks","action":"list"}"#,
            shows: r#""items":"#,
        },
        Example {
            title: "nothing to save",
            args: r#"{"kind":"tracks","action":"save"}"#,
            shows: "`uris` is empty",
        },
    ],
    build: |ports| Arc::new(Music::new(ports, asked)),
    ..ToolDef::USUAL
};

const ACTIONS: [&str; 3] = ["list", "save", "remove"];

fn schema() -> Value {
    json!({
        "description": "List, save or remove tracks or albums of the user's Spotify library.",
        "parameters": {
            "type": "object",
            "properties": {
                "kind": { "type": "string", "enum": ["tracks", "albums"], "description": "Tracks or albums" },
                "action": { "type": "string", "enum": ACTIONS, "description": "What to do" },
                "limit": { "type": "integer", "description": "How many, 20 without" },
                "offset": { "type": "integer", "description": "How many to pass over" },
                "market": music::text("Country of two letters"),
                "uris": { "type": "array", "items": { "type": "string" }, "description": "What to save or remove: ids, URIs or links" },
                "ids": { "type": "array", "items": { "type": "string" }, "description": "The same" },
                "items": { "type": "array", "items": { "type": "string" }, "description": "The same" }
            },
            "required": ["kind", "action"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    kind: String,
    action: String,
    limit: Option<u64>,
    offset: Option<u64>,
    market: Option<String>,
    #[serde(default)]
    uris: Vec<String>,
    #[serde(default)]
    ids: Vec<String>,
    #[serde(default)]
    items: Vec<String>,
}

fn asked(args: Args) -> Result<Result<Asked, VendorError>, ToolError> {
    args.parse::<Input>().map(read)
}

const AT_ONCE: usize = 40;

fn read(input: Input) -> Result<Asked, VendorError> {
    let kind = match input.kind.as_str() {
        "tracks" => Kind::Track,
        "albums" => Kind::Album,
        other => return Err(music::unknown(other, &["tracks", "albums"])),
    };
    let named = || {
        let all: Vec<String> =
            [&input.uris, &input.ids, &input.items].into_iter().flatten().cloned().collect();
        music::uris(&all, &[kind], AT_ONCE)
    };
    let (method, done) = match input.action.as_str() {
        "list" => {
            let query = query([
                ("limit", Some(music::limit(input.limit, 20))),
                ("offset", input.offset.map(|offset| offset.to_string())),
                ("market", music::market(input.market)?),
            ]);
            let deed = Deed::get(format!("/me/{}{query}", input.kind));
            return Ok(Asked::new("list", Doing::Reads, deed));
        }
        "save" => (Method::PUT, "it was saved"),
        "remove" => (Method::DELETE, "it was removed"),
        other => return Err(music::unknown(other, &ACTIONS)),
    };
    let path = format!("/me/library{}", query([("uris", Some(named()?.join(",")))]));
    Ok(Asked::new(&input.action, Doing::Keeps, Deed::change(method, path, done)))
}
