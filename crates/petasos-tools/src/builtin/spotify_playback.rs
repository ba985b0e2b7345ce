//! `spotify_playback`: the player.

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
    name: "spotify_playback",
    toolset: "spotify",
    description: "Read and control playback",
    emoji: "🎵",
    in_plan_mode: InPlanMode::ByEffects,
    provenance: Provenance::Foreign,
    check: Some(&music::SIGNED_IN),
    schema,
    examples: &[
        Example {
            title: "what plays",
            args: r#"{"action":"get_state"}"#,
            shows: r#""success":true"#,
        },
        Example {
            title: "a loudness that is none",
            args: r#"{"action":"set_volume","volume_percent":140}"#,
            shows: "0 to 100",
        },
    ],
    build: |ports| Arc::new(Music::new(ports, asked)),
    ..ToolDef::USUAL
};

const ACTIONS: [&str; 11] = [
    "get_state",
    "get_currently_playing",
    "play",
    "pause",
    "next",
    "previous",
    "seek",
    "set_repeat",
    "set_shuffle",
    "set_volume",
    "recently_played",
];

fn schema() -> Value {
    json!({
        "description": "Read and control what Spotify plays for the user: get_state, get_currently_playing, play (context_uri or uris), pause, next, previous, seek (position_ms), set_repeat and set_shuffle (state), set_volume (volume_percent), recently_played.",
        "parameters": {
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ACTIONS, "description": "What to do" },
                "device_id": music::text("The device; without, the one that plays"),
                "market": music::text("Country of two letters"),
                "context_uri": music::text("An album, artist, playlist or show to play: its URI or link"),
                "uris": { "type": "array", "items": { "type": "string" }, "description": "Tracks or episodes to play: ids, URIs or links" },
                "offset": { "type": "object", "description": "Where in them to begin: position, or uri" },
                "position_ms": { "type": "integer", "description": "Where in the track" },
                "state": { "type": ["string", "boolean"], "description": "Repeat: track, context or off. Shuffle: true or false" },
                "volume_percent": { "type": "integer", "description": "0 to 100" },
                "limit": { "type": "integer", "description": "How many, 20 without" },
                "after": { "type": "integer", "description": "Only what was played after this time in milliseconds" },
                "before": { "type": "integer", "description": "Only what was played before it" }
            },
            "required": ["action"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    action: String,
    device_id: Option<String>,
    market: Option<String>,
    context_uri: Option<String>,
    #[serde(default)]
    uris: Vec<String>,
    offset: Option<Value>,
    position_ms: Option<u64>,
    state: Option<Value>,
    volume_percent: Option<i64>,
    limit: Option<u64>,
    after: Option<u64>,
    before: Option<u64>,
}

fn asked(args: Args) -> Result<Result<Asked, VendorError>, ToolError> {
    args.parse::<Input>().map(|input| read(&input))
}

/// What can be played as a whole.
const CONTEXTS: [Kind; 4] = [Kind::Album, Kind::Playlist, Kind::Artist, Kind::Show];
const AT_ONCE: usize = 100;

impl Input {
    /// A change of the player.
    fn tell(
        &self,
        method: Method,
        path: &str,
        extra: Option<(&str, String)>,
        done: &'static str,
    ) -> Asked {
        let extra = extra.map(|(name, value)| (name, Some(value)));
        let pairs = extra.into_iter().chain([("device_id", self.device_id.clone())]);
        let deed = Deed::change(method, format!("/me/player/{path}{}", query(pairs)), done);
        Asked::new(&self.action, Doing::Plays, deed.of_player())
    }

    fn look(&self, path: String) -> Asked {
        Asked::new(&self.action, Doing::Reads, Deed::get(path))
    }

    /// What is to be played; nothing goes on where it stopped.
    fn played(&self) -> Result<Value, VendorError> {
        let mut body = json!({});
        match (&self.context_uri, self.uris.is_empty()) {
            (Some(_), false) => {
                return Err(VendorError::argument("give `context_uri` or `uris`, not both"));
            }
            (Some(context), true) => {
                body["context_uri"] = Named::read(context, &CONTEXTS)?.uri().into();
            }
            (None, false) => {
                let fits = [Kind::Track, Kind::Episode];
                body["uris"] = json!(music::uris(&self.uris, &fits, AT_ONCE)?);
            }
            (None, true) => {}
        }
        if let Some(offset) = self.offset.as_ref().filter(|offset| offset.is_object()) {
            body["offset"] = offset.clone();
        }
        if let Some(position) = self.position_ms {
            body["position_ms"] = position.into();
        }
        Ok(body)
    }

    fn recent(&self) -> Result<Asked, VendorError> {
        if self.after.is_some() && self.before.is_some() {
            return Err(VendorError::argument("give `after` or `before`, not both"));
        }
        let query = query([
            ("limit", Some(music::limit(self.limit, 20))),
            ("after", self.after.map(|at| at.to_string())),
            ("before", self.before.map(|at| at.to_string())),
        ]);
        Ok(self.look(format!("/me/player/recently-played{query}")))
    }
}

fn read(input: &Input) -> Result<Asked, VendorError> {
    let market = music::market(input.market.clone())?;
    let word = input.state.as_ref().map(|state| match state {
        Value::String(text) => text.trim().to_lowercase(),
        other => other.to_string(),
    });
    Ok(match input.action.as_str() {
        "get_state" => input.look(format!("/me/player{}", query([("market", market)]))),
        "get_currently_playing" => {
            input.look(format!("/me/player/currently-playing{}", query([("market", market)])))
        }
        "play" => {
            let body = input.played()?;
            let mut asked = input.tell(Method::PUT, "play", None, "it plays");
            if body.as_object().is_some_and(|body| !body.is_empty()) {
                asked.deed = asked.deed.with(body);
            }
            asked
        }
        "pause" => input.tell(Method::PUT, "pause", None, "it pauses"),
        "next" => input.tell(Method::POST, "next", None, "the next one plays"),
        "previous" => input.tell(Method::POST, "previous", None, "the one before plays"),
        "seek" => {
            let at = input.position_ms.ok_or_else(|| music::needed("position_ms", "seek"))?;
            let extra = Some(("position_ms", at.to_string()));
            input.tell(Method::PUT, "seek", extra, "it plays from there")
        }
        "set_repeat" => match word.as_deref() {
            Some(state @ ("track" | "context" | "off")) => {
                let extra = Some(("state", state.to_owned()));
                input.tell(Method::PUT, "repeat", extra, "repeating was set")
            }
            _ => return Err(VendorError::argument("`state` is track, context or off")),
        },
        "set_shuffle" => match word.as_deref() {
            Some(state @ ("true" | "false")) => {
                let extra = Some(("state", state.to_owned()));
                input.tell(Method::PUT, "shuffle", extra, "shuffling was set")
            }
            _ => return Err(VendorError::argument("`state` is true or false")),
        },
        "set_volume" => match input.volume_percent {
            Some(volume @ 0..=100) => {
                let extra = Some(("volume_percent", volume.to_string()));
                input.tell(Method::PUT, "volume", extra, "the volume was set")
            }
            _ => return Err(VendorError::argument("`volume_percent` is 0 to 100")),
        },
        "recently_played" => input.recent()?,
        other => return Err(music::unknown(other, &ACTIONS)),
    })
}
