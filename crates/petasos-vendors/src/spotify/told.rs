//! Spotify's answers without pictures, markets and the like.

use serde_json::{Map, Value};

/// Fields that are told; all others only cost.
const KEPT: [&str; 47] = [
    "album",
    "album_type",
    "added_at",
    "artists",
    "collaborative",
    "context",
    "currently_playing",
    "cursors",
    "description",
    "device",
    "devices",
    "display_name",
    "duration_ms",
    "episode",
    "explicit",
    "id",
    "is_active",
    "is_playing",
    "is_restricted",
    "item",
    "items",
    "limit",
    "message",
    "name",
    "next",
    "offset",
    "owner",
    "played_at",
    "playlists",
    "tracks",
    "albums",
    "progress_ms",
    "public",
    "publisher",
    "queue",
    "release_date",
    "repeat_state",
    "shows",
    "shuffle_state",
    "snapshot_id",
    "total",
    "total_tracks",
    "track",
    "type",
    "uri",
    "volume_percent",
    "episodes",
];

/// The same answer with the fields that matter.
pub(super) fn cut_to_fields(value: &Value) -> Value {
    match value {
        Value::Array(many) => many.iter().filter(|it| !it.is_null()).map(cut_to_fields).collect(),
        Value::Object(object) => {
            let kept = object
                .iter()
                .filter(|(key, value)| KEPT.contains(&key.as_str()) && !value.is_null());
            Value::Object(
                kept.map(|(key, value)| (key.clone(), cut_to_fields(value))).collect::<Map<_, _>>(),
            )
        }
        other => other.clone(),
    }
}
