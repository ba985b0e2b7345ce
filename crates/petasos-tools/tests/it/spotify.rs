//! The Spotify tools against a stand-in that knows the published interface. E19 152.

use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::effect::Effect;
use petasos_contract::ports::Logins;
use petasos_contract::{BoxFuture, Secret, Settings};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::double::{Double, Said, Seen};

const TABLE: &str = include_str!("../doubles/spotify.json");
const ID: &str = "4uLU6hMCjMI75M1A2tKUQC";

/// Somebody who is signed in; each renewal gives the next token.
#[derive(Default)]
struct SignedIn(Mutex<Vec<Option<String>>>);

impl Logins for SignedIn {
    fn is_signed_in(&self, service: &str, _: &Settings) -> bool {
        service == "spotify"
    }

    fn access<'a>(
        &'a self,
        _: &'a str,
        _: &'a Settings,
        refused: Option<&'a Secret>,
    ) -> BoxFuture<'a, Result<Secret, String>> {
        self.0.lock().push(refused.map(|token| token.expose().to_owned()));
        let token = if refused.is_some() { "token-2" } else { "token-1" };
        Box::pin(std::future::ready(Ok(Secret::new(token))))
    }
}

fn signed_in(
    answer: impl Fn(&Seen) -> Said + Send + Sync + 'static,
) -> (Bench, Double, Arc<SignedIn>) {
    let double = Double::start(TABLE, "/v1", answer);
    let mut bench =
        Bench::set_up(&json!({ "services": { "endpoints": { "spotify": double.url } } }), &[]);
    let logins = Arc::new(SignedIn::default());
    bench.ports.logins = Some(Arc::clone(&logins) as _);
    (bench, double, logins)
}

/// One call of each action.
fn every_action() -> Vec<(&'static str, Value)> {
    let list = format!("https://open.spotify.com/playlist/{ID}");
    let track = format!("spotify:track:{ID}");
    vec![
        (
            "spotify_search",
            json!({ "query": "hat & coat", "types": ["track", "album"], "limit": 900, "market": "de" }),
        ),
        ("spotify_albums", json!({ "action": "get", "album_id": ID })),
        (
            "spotify_albums",
            json!({ "action": "tracks", "id": format!("spotify:album:{ID}"), "limit": 5 }),
        ),
        ("spotify_devices", json!({ "action": "list" })),
        ("spotify_devices", json!({ "action": "transfer", "device_id": "d1", "play": true })),
        ("spotify_queue", json!({ "action": "get" })),
        ("spotify_queue", json!({ "action": "add", "uri": ID })),
        ("spotify_library", json!({ "kind": "albums", "action": "list" })),
        ("spotify_library", json!({ "kind": "tracks", "action": "save", "ids": [ID] })),
        ("spotify_library", json!({ "kind": "albums", "action": "remove", "uris": [ID] })),
        ("spotify_playlists", json!({ "action": "list" })),
        ("spotify_playlists", json!({ "action": "get", "playlist_id": list })),
        ("spotify_playlists", json!({ "action": "create", "name": "Hats", "public": false })),
        (
            "spotify_playlists",
            json!({ "action": "add_items", "playlist_id": list, "uris": [track], "position": 0 }),
        ),
        (
            "spotify_playlists",
            json!({ "action": "remove_items", "playlist_id": list, "uris": [track], "snapshot_id": "s" }),
        ),
        (
            "spotify_playlists",
            json!({ "action": "update_details", "playlist_id": list, "name": "Caps" }),
        ),
        ("spotify_playback", json!({ "action": "get_state", "market": "DE" })),
        ("spotify_playback", json!({ "action": "get_currently_playing" })),
        (
            "spotify_playback",
            json!({ "action": "play", "context_uri": format!("spotify:album:{ID}"), "offset": { "position": 1 } }),
        ),
        (
            "spotify_playback",
            json!({ "action": "play", "uris": [ID], "position_ms": 5, "device_id": "d1" }),
        ),
        ("spotify_playback", json!({ "action": "play" })),
        ("spotify_playback", json!({ "action": "pause" })),
        ("spotify_playback", json!({ "action": "next" })),
        ("spotify_playback", json!({ "action": "previous" })),
        ("spotify_playback", json!({ "action": "seek", "position_ms": 1000 })),
        ("spotify_playback", json!({ "action": "set_repeat", "state": "context" })),
        ("spotify_playback", json!({ "action": "set_shuffle", "state": true })),
        ("spotify_playback", json!({ "action": "set_volume", "volume_percent": 0 })),
        (
            "spotify_playback",
            json!({ "action": "recently_played", "after": 1_700_000_000_000_u64 }),
        ),
    ]
}

#[test]
fn every_action_asks_what_the_interface_knows() {
    let (bench, double, _) = signed_in(|seen| match seen.method.as_str() {
        "GET" => Said::ok(
            json!({ "name": "Hats", "available_markets": ["DE"], "images": [{ "url": "x" }], "items": [{ "id": "1", "href": "h" }] }),
        ),
        "POST" if seen.path.contains("playlists") => {
            Said::status(201, json!({ "id": "p", "snapshot_id": "s" }))
        }
        "DELETE" if seen.path.contains("items") => Said::ok(json!({ "snapshot_id": "s2" })),
        _ => Said::status(204, Value::Null),
    });
    for (tool, args) in every_action() {
        let done = bench.run(tool, &args);
        assert_eq!(done["success"], true, "{tool} {args}: {done}");
        assert!(
            !done.to_string().contains("available_markets") && !done.to_string().contains("images")
        );
    }
    assert_eq!(double.seen().len(), 29);
    assert!(double.seen().iter().all(|seen| seen.headers["authorization"] == "Bearer token-1"));
}

#[test]
fn e152_nothing_to_say_is_told_in_words_and_a_refused_token_is_renewed_once() {
    let (bench, double, logins) = signed_in(|seen| match seen.headers["authorization"].as_str() {
        "Bearer token-1" => Said::status(
            401,
            json!({ "error": { "status": 401, "message": "The access token expired" } }),
        ),
        _ if seen.path == "/me/player/pause" => Said::status(204, Value::Null),
        _ => Said::status(401, json!({ "error": { "status": 401, "message": "still no" } })),
    });
    let paused = bench.run("spotify_playback", &json!({ "action": "pause" }));
    assert_eq!(
        paused,
        json!({ "success": true, "action": "pause", "result": { "message": "it pauses" } })
    );
    assert_eq!(*logins.0.lock(), [None, Some("token-1".to_owned())]);
    let never = bench.run("spotify_devices", &json!({ "action": "list" }));
    assert_eq!(never["error_type"], "auth", "{never}");
    assert_eq!(double.lines().len(), 4, "once and no more");
}

#[test]
fn e152_premium_devices_and_pauses_are_explained() {
    let (bench, _double, _) = signed_in(|seen| match seen.path.as_str() {
        "/me/player/devices" => {
            Said::ok(json!({ "devices": [{ "id": "d1", "name": "Kitchen", "type": "Speaker" }] }))
        }
        "/me/player/next" => Said::status(
            403,
            json!({ "error": { "message": "Player command failed: Premium required" } }),
        ),
        "/me/player/play" => {
            Said::status(404, json!({ "error": { "message": "No active device found" } }))
        }
        _ => {
            Said { status: 429, headers: vec![("retry-after", "7".to_owned())], body: Value::Null }
        }
    });
    let premium = bench.run("spotify_playback", &json!({ "action": "next" }));
    assert!(premium["error"].as_str().unwrap().contains("Premium"), "{premium}");
    let nowhere = bench.run("spotify_playback", &json!({ "action": "play" }));
    assert_eq!(
        (&nowhere["error_type"], &nowhere["candidates"]),
        (&json!("not_found"), &json!([{ "id": "d1", "name": "Kitchen" }])),
        "{nowhere}"
    );
    let limited = bench.run("spotify_search", &json!({ "query": "x" }));
    assert_eq!(
        (&limited["error_type"], &limited["retry_after_s"]),
        (&json!("rate_limited"), &json!(7))
    );
}

#[test]
fn e152_what_is_not_in_order_is_never_asked() {
    let (bench, double, _) = signed_in(|_| Said::ok(Value::Null));
    for (tool, args) in [
        ("spotify_search", json!({ "query": "x", "type": "hat" })),
        ("spotify_search", json!({ "query": "x", "market": "Germany" })),
        ("spotify_albums", json!({ "action": "get", "id": format!("spotify:track:{ID}") })),
        ("spotify_queue", json!({ "action": "add", "uri": format!("spotify:album:{ID}") })),
        ("spotify_playback", json!({ "action": "recently_played", "after": 1, "before": 2 })),
        ("spotify_playback", json!({ "action": "set_volume", "volume_percent": 101 })),
        (
            "spotify_playback",
            json!({ "action": "play", "context_uri": format!("spotify:album:{ID}"), "uris": [ID] }),
        ),
        ("spotify_playback", json!({ "action": "dance" })),
        ("spotify_playlists", json!({ "action": "get", "playlist_id": "../me" })),
        ("spotify_library", json!({ "kind": "tracks", "action": "save" })),
    ] {
        let refused = bench.run(tool, &args);
        assert_eq!(refused["error_type"], "bad_argument", "{tool} {args}: {refused}");
    }
    assert!(double.seen().is_empty());
    let effects =
        |tool: &str, args: Value| bench.effects(tool, &args).iter().cloned().collect::<Vec<_>>();
    let reach = Effect::Reach("127.0.0.1".to_owned());
    let plays = Effect::Actuate { target: "spotify".to_owned(), guarded: false };
    let state = effects("spotify_playback", json!({ "action": "get_state" }));
    assert_eq!(state, std::slice::from_ref(&reach));
    assert_eq!(effects("spotify_playback", json!({ "action": "play" })), [reach.clone(), plays]);
    let keeps = Effect::Remember { store: "spotify".to_owned() };
    assert_eq!(
        effects("spotify_library", json!({ "kind": "tracks", "action": "save", "ids": [ID] })),
        [reach, keeps]
    );
    let nobody = Bench::new().run("spotify_devices", &json!({ "action": "list" }));
    assert_eq!(
        (&nobody["error_type"], &nobody["error"]),
        (&json!("missing_setup"), &json!("needs a Spotify sign-in: petasos auth login spotify"))
    );
}
