//! Tools of services: what is missing, in the same words everywhere, and signing in.

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::{petasos, run};

#[test]
fn a_listing_says_what_each_service_needs() {
    let listing = run(&["tools", "list", "--all", "--json"]).json();
    let reason = |name: &str| {
        let all = listing["tools"].as_array().expect("a list");
        let tool = all.iter().find(|tool| tool["name"] == name);
        tool.unwrap_or_else(|| panic!("{name} is not listed"))["reason"].clone()
    };
    for (name, needs) in [
        (
            "ha_call_service",
            "needs HASS_TOKEN (and HASS_URL if it is not http://homeassistant.local:8123)",
        ),
        ("discord", "needs DISCORD_BOT_TOKEN"),
        ("feishu_doc_read", "needs FEISHU_APP_ID and FEISHU_APP_SECRET"),
        ("spotify_search", "needs a Spotify sign-in: petasos auth login spotify"),
        ("x_search", "needs xAI credentials: XAI_API_KEY or petasos auth login xai"),
    ] {
        let told = reason(name);
        let told = told.as_str().unwrap_or_default();
        assert!(told.contains(needs), "{name}: {told}");
    }
}

/// E19 139: nobody is there, so that the lock stays shut whatever the settings say.
#[test]
fn a_lock_is_not_opened_where_nobody_can_agree() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "approvals:\n  headless_mode: approve\n  mode: \"off\"\n");
    let call = |args: &Value| {
        let words = ["tools", "call", "ha_call_service", &args.to_string()];
        petasos(&home)
            .with("HASS_URL", "http://127.0.0.1:9")
            .with("HASS_TOKEN", "t")
            .run(&words)
            .json()
    };
    let lock = call(&json!({ "domain": "lock", "service": "unlock", "entity_id": "lock.door" }));
    let text = lock.to_string();
    assert!(text.contains("safety device") && !text.contains("cannot connect"), "{text}");
    let lamp = call(&json!({ "domain": "light", "service": "turn_on", "entity_id": "light.hall" }));
    assert_eq!(lamp["error_type"], "upstream", "a lamp is only out of reach: {lamp}");
}

#[test]
fn signing_in_shows_what_is_asked_for_before_anything_is_asked() {
    let home = Home::temp();
    let bare = petasos(&home).run(&["auth", "login", "spotify"]);
    assert_eq!(bare.code, Some(1), "{bare:?}");
    assert!(bare.stderr.contains("SPOTIFY_CLIENT_ID"), "{}", bare.stderr);
    let begun =
        petasos(&home).with("SPOTIFY_CLIENT_ID", "app-1").run(&["auth", "login", "spotify"]);
    assert_ne!(begun.code, Some(0), "no address was pasted");
    for words in ["user-modify-playback-state", "change your private playlists", "client_id=app-1"]
    {
        assert!(begun.stdout.contains(words), "{words}: {}", begun.stdout);
    }
}
