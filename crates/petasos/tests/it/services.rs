//! Tools of services: what is missing, in the same words everywhere, and signing in.

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::vendor::{Asked, Reply, Vendors};
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

/// Credentials for documents are no account to chat with: what else there is sends all the same.
#[test]
fn a_platform_that_is_set_up_by_half_keeps_no_other_from_sending() {
    let home = Home::temp();
    let send = |telegram: bool| {
        let program = petasos(&home).with("FEISHU_APP_ID", "cli_a").with("FEISHU_APP_SECRET", "s");
        let program =
            if telegram { program.with("TELEGRAM_BOT_TOKEN", "4242:AAH") } else { program };
        let listing = program.run(&["tools", "list", "--all", "--json"]).json();
        let tools = listing["tools"].as_array().expect("a list").clone();
        tools.into_iter().find(|tool| tool["name"] == "send_message").expect("a row")
    };
    let alone = send(false);
    assert!(alone["reason"].to_string().contains("FEISHU_VERIFICATION_TOKEN"), "{alone}");
    assert_eq!(send(true)["available"], true);
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

fn house(asked: &Asked, _: usize) -> Reply {
    let lamp = json!({ "entity_id": "light.hall", "state": "on", "attributes": {} });
    if asked.authorization.ends_with("of-the-house") {
        (200, lamp.to_string())
    } else {
        (401, "{}".to_owned())
    }
}

/// E11: a house behind TLS is spoken to by its certificate, and one that nobody vouches for gets no
/// token.
#[test]
fn a_house_behind_tls_is_known_by_its_certificate() {
    let home = Home::temp();
    let vendors = Vendors::answering(&home, house);
    let [(proxy, address), (authority, file)] = vendors.proxy();
    let program = || {
        petasos(&home)
            .with(proxy, &address)
            .with("HASS_URL", "https://house.example")
            .with("HASS_TOKEN", "of-the-house")
    };
    let words = ["tools", "call", "ha_get_state", r#"{"entity_id":"light.hall"}"#];
    let path = "/api/states/light.hall";
    let told = program().run(&words).stdout;
    assert!(told.contains("certificate") && !told.contains("of-the-house"), "{told}");
    assert!(vendors.asked(path).is_empty(), "nothing was sent");
    let told = program().with(authority, &file).run(&words).stdout;
    assert!(told.contains("light.hall") && told.contains("on"), "{told}");
    assert_eq!(vendors.asked(path).len(), 1);
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

/// xAI's accounts and its interface: a device login as RFC 8628 has it, tokens that are renewed, and
/// the first token refused once it was used up.
fn xai(asked: &Asked, before: usize) -> Reply {
    let told = |value: Value| (200, value.to_string());
    match asked.path.as_str() {
        "/.well-known/openid-configuration" => told(json!({
            "issuer": "https://auth.x.ai",
            "device_authorization_endpoint": "https://auth.x.ai/oauth2/device/code",
            "token_endpoint": "https://auth.x.ai/oauth2/token" })),
        "/oauth2/device/code" => {
            told(json!({ "device_code": "dc-0123456789", "user_code": "ABCD-EFGH",
            "verification_uri": "https://accounts.x.ai/device", "expires_in": 600, "interval": 1 }))
        }
        "/oauth2/token" if before == 0 => {
            (400, json!({ "error": "authorization_pending" }).to_string())
        }
        "/oauth2/token" => told(json!({ "access_token": format!("at-xai-000000{before}"),
            "refresh_token": format!("rt-xai-000000{before}"), "expires_in": 36_000 })),
        "/v1/responses" if asked.authorization == "at-xai-0000001" && before > 0 => {
            (401, json!({ "error": "the token was revoked" }).to_string())
        }
        "/v1/responses" => told(json!({ "id": "r", "citations": ["https://x.com/a/status/1"],
            "output": [{ "type": "message", "content": [
                { "type": "output_text", "text": "Hats", "annotations": [] }] }] })),
        _ => (404, "{}".to_owned()),
    }
}

/// E15: an account searches without a key, its scopes are shown before anybody is asked, and a
/// refused token is renewed once.
#[test]
fn e153_an_account_of_xai_searches_on_x() {
    let home = Home::temp();
    let vendors = Vendors::answering(&home, xai);
    let proxy = vendors.proxy();
    let program =
        || proxy.iter().fold(petasos(&home), |program, (name, value)| program.with(name, value));
    let search = || {
        let told = program().run(&["tools", "call", "x_search", r#"{"query":"hats"}"#]).stdout;
        // The words of strangers stand between marks.
        let inner = told.lines().find(|line| line.starts_with('{'));
        let inner = inner.unwrap_or_else(|| panic!("no result: {told}"));
        serde_json::from_str::<Value>(inner).expect("a result")
    };
    let missing = search();
    assert_eq!(missing["error_type"], "missing_setup", "{missing}");
    let signed = program().run(&["auth", "login", "xai"]);
    assert_eq!(signed.code, Some(0), "{}{}", signed.stdout, signed.stderr);
    let at = |words: &str| {
        signed.stdout.find(words).unwrap_or_else(|| panic!("{words}: {}", signed.stdout))
    };
    assert!(at("use the interface on your account (api:access)") < at("enter the code ABCD-EFGH"));
    let found = search();
    assert_eq!(
        (&found["success"], &found["credential_source"]),
        (&json!(true), &json!("xai-oauth")),
        "{found}"
    );
    let again = search();
    assert_eq!(again["success"], true, "{again}");
    let shown: Vec<String> =
        vendors.asked("/v1/responses").into_iter().map(|asked| asked.authorization).collect();
    assert_eq!(shown, ["at-xai-0000001", "at-xai-0000001", "at-xai-0000002"], "renewed once");
    assert!(!found.to_string().contains("at-xai"));
    let listed = program().run(&["tools", "list", "--all", "--json"]).json();
    let row =
        listed["tools"].as_array().expect("a list").iter().find(|it| it["name"] == "x_search");
    assert_eq!(row.expect("a row")["available"], true, "{row:?}");
    let gone = program().run(&["auth", "logout", "xai", "--json"]).json();
    assert_eq!(gone["forgotten"], true, "{gone}");
    assert_eq!(search()["error_type"], "missing_setup");
    // A key that is kept serves, too.
    let kept = program().input("xai-kept-0123456789abcdef\n").run(&[
        "auth",
        "login",
        "xai",
        "--key-stdin",
    ]);
    assert_eq!(kept.code, Some(0), "{}{}", kept.stdout, kept.stderr);
    let found = search();
    assert_eq!(found["credential_source"], "xai", "{found}");
}
