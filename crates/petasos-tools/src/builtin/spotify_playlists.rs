//! `spotify_playlists`: lists of tracks.

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
    name: "spotify_playlists",
    toolset: "spotify",
    description: "Read and edit playlists",
    emoji: "📚",
    in_plan_mode: InPlanMode::ByEffects,
    provenance: Provenance::Foreign,
    check: Some(&music::SIGNED_IN),
    schema,
    examples: &[
        Example {
            title: "the lists of the person",
            args: r#"{"action":"list"}"#,
            shows: r#""items":"#,
        },
        Example {
            title: "a list without a name",
            args: r#"{"action":"create"}"#,
            shows: "needs `name`",
        },
    ],
    build: |ports| Arc::new(Music::new(ports, asked)),
    ..ToolDef::USUAL
};

const ACTIONS: [&str; 6] = ["list", "get", "create", "add_items", "remove_items", "update_details"];

fn schema() -> Value {
    json!({
        "description": "List, read, create and edit the user's Spotify playlists: list, get, create (name), add_items and remove_items (playlist_id, uris), update_details (playlist_id).",
        "parameters": {
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ACTIONS, "description": "What to do" },
                "playlist_id": music::text("The playlist: its id, URI or link"),
                "market": music::text("Country of two letters"),
                "limit": { "type": "integer", "description": "How many, 20 without" },
                "offset": { "type": "integer", "description": "How many to pass over" },
                "name": music::text("Its name"),
                "description": music::text("What it is"),
                "public": { "type": "boolean", "description": "Whether everybody sees it" },
                "collaborative": { "type": "boolean", "description": "Whether others may change it" },
                "uris": { "type": "array", "items": { "type": "string" }, "description": "Tracks or episodes: ids, URIs or links" },
                "position": { "type": "integer", "description": "Where they go, 0 is the top" },
                "snapshot_id": music::text("The version that items are removed from")
            },
            "required": ["action"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    action: String,
    playlist_id: Option<String>,
    market: Option<String>,
    limit: Option<u64>,
    offset: Option<u64>,
    name: Option<String>,
    description: Option<String>,
    public: Option<bool>,
    collaborative: Option<bool>,
    #[serde(default)]
    uris: Vec<String>,
    position: Option<u64>,
    snapshot_id: Option<String>,
}

fn asked(args: Args) -> Result<Result<Asked, VendorError>, ToolError> {
    args.parse::<Input>().map(|input| read(&input))
}

const AT_ONCE: usize = 100;

impl Input {
    fn playlist(&self) -> Result<String, VendorError> {
        let named = self.playlist_id.as_deref().unwrap_or_default();
        if named.trim().is_empty() {
            return Err(music::needed("playlist_id", &self.action));
        }
        Named::read(named, &[Kind::Playlist]).map(|named| named.id)
    }

    fn items(&self) -> Result<Vec<String>, VendorError> {
        music::uris(&self.uris, &[Kind::Track, Kind::Episode], AT_ONCE)
    }

    /// What is said about the list itself.
    fn details(&self) -> Value {
        let mut details = json!({});
        let texts = [("name", &self.name), ("description", &self.description)];
        let flags = [("public", self.public), ("collaborative", self.collaborative)];
        for (key, value) in texts {
            if let Some(text) = value {
                details[key] = text.as_str().into();
            }
        }
        for (key, value) in flags {
            if let Some(on) = value {
                details[key] = on.into();
            }
        }
        details
    }
}

fn read(input: &Input) -> Result<Asked, VendorError> {
    let action = input.action.as_str();
    let (doing, deed) = match action {
        "list" => {
            let query = query([
                ("limit", Some(music::limit(input.limit, 20))),
                ("offset", input.offset.map(|offset| offset.to_string())),
            ]);
            (Doing::Reads, Deed::get(format!("/me/playlists{query}")))
        }
        "get" => {
            let query = query([("market", music::market(input.market.clone())?)]);
            (Doing::Reads, Deed::get(format!("/playlists/{}{query}", input.playlist()?)))
        }
        "create" => {
            if input.name.as_deref().is_none_or(|name| name.trim().is_empty()) {
                return Err(music::needed("name", action));
            }
            let deed = Deed::change(Method::POST, "/me/playlists".to_owned(), "it was created");
            (Doing::Keeps, deed.with(input.details()))
        }
        "add_items" => {
            let path = format!("/playlists/{}/items", input.playlist()?);
            let mut body = json!({ "uris": input.items()? });
            if let Some(position) = input.position {
                body["position"] = position.into();
            }
            (Doing::Keeps, Deed::change(Method::POST, path, "the items were added").with(body))
        }
        "remove_items" => {
            let path = format!("/playlists/{}/items", input.playlist()?);
            let items: Vec<Value> =
                input.items()?.into_iter().map(|uri| json!({ "uri": uri })).collect();
            let mut body = json!({ "items": items });
            if let Some(snapshot) = &input.snapshot_id {
                body["snapshot_id"] = snapshot.as_str().into();
            }
            (Doing::Keeps, Deed::change(Method::DELETE, path, "the items were removed").with(body))
        }
        "update_details" => {
            let path = format!("/playlists/{}", input.playlist()?);
            let details = input.details();
            if details.as_object().is_none_or(serde_json::Map::is_empty) {
                return Err(music::needed("name", action));
            }
            (
                Doing::Keeps,
                Deed::change(Method::PUT, path, "the playlist was changed").with(details),
            )
        }
        other => return Err(music::unknown(other, &ACTIONS)),
    };
    Ok(Asked::new(action, doing, deed))
}
