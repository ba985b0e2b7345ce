//! Who is let in, from where, and by which name.

use petasos_agent::{Act, Scripted};
use petasos_api::{ApiOptions, OptionsError, create_token};
use petasos_store::{ApiStore as _, ApiToken};
use serde_json::json;
use tempfile::TempDir;

use crate::world::{Ask, OTHER, World, with};

#[test]
fn s109_what_cannot_be_served_safely_does_not_start() {
    let home = TempDir::new().unwrap();
    let read = |values, variables: &[(&str, &str)]| {
        ApiOptions::read(&with(home.path(), values, variables), None, (None, None))
    };
    let good = [("API_SERVER_KEY", "0123456789abcdefghij")];
    assert_eq!(read(json!({}), &good).unwrap().address.to_string(), "127.0.0.1:8642");
    for key in [
        "short",
        "changeme-changeme-changeme",
        "aaaaaaaaaaaaaaaaaaaaaaaa",
        "your-api-key-goes-here",
    ] {
        let refused = read(json!({}), &[("API_SERVER_KEY", key)]);
        assert!(matches!(refused, Err(OptionsError::Setting { .. })), "{key}");
        assert!(!format!("{refused:?}").contains(key), "the key is not told");
    }
    let extra = |extra| json!({ "platforms": { "api_server": { "extra": extra } } });
    for bad in [
        json!({ "key": "in-the-file-0123456789" }),
        json!({ "host": "everywhere" }),
        json!({ "cors_origins": ["*"] }),
        json!({ "cors_origins": ["https://a.example/path"] }),
        json!({ "keys": [{ "name": "x", "key_env": "NOT_SET", "scopes": ["chat"] }] }),
        json!({ "keys": [{ "name": "default", "key_env": "API_SERVER_KEY", "scopes": ["chat"] }] }),
        json!({ "keys": [{ "name": "x", "key_env": "API_SERVER_KEY", "scopes": ["everything"] }] }),
        json!({ "keys": [{ "name": "x", "key_env": "API_SERVER_KEY" }] }),
        json!({ "model_routes": { "fast": {} } }),
    ] {
        assert!(read(extra(bad.clone()), &good).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn s109_t18_t19_only_our_names_and_listed_pages_are_answered() {
    let origin = "https://page.example";
    let world =
        World::with(Scripted::default(), json!({ "cors_origins": [origin], "hosts": ["box.lan"] }))
            .await;
    let models = || Ask::get("/v1/models");
    for (host, status) in [
        ("localhost", 200),
        ("127.0.0.1:8642", 200),
        ("[::1]:9", 200),
        ("BOX.lan:80", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("10.0.0.1", 403),
        ("", 403),
    ] {
        assert_eq!(world.ask(models().with("Host", host)).await.status, status, "{host}");
    }
    let foreign = world.ask(models().with("Origin", "https://evil.example")).await;
    assert_eq!(foreign.error(), (403, "origin_not_allowed".to_owned()));
    assert_eq!(foreign.header("access-control-allow-origin"), "");
    let page = world.ask(models().with("Origin", origin)).await;
    assert_eq!((page.status, page.header("access-control-allow-origin")), (200, origin));
    let asked = Ask::new("OPTIONS", "/v1/chat/completions", Vec::new()).without("Authorization");
    let flight = world.ask(asked.with("Origin", origin)).await;
    assert_eq!((flight.status, flight.header("access-control-max-age")), (204, "600"));
    assert!(flight.header("access-control-allow-headers").contains("Idempotency-Key"));
    for header in
        ["x-content-type-options", "referrer-policy", "content-security-policy", "x-request-id"]
    {
        assert!(!page.header(header).is_empty() && !foreign.header(header).is_empty(), "{header}");
    }
}

#[tokio::test]
async fn a_key_does_what_its_scopes_say_and_nothing_else() {
    let world = World::new(Scripted::default()).await;
    assert_eq!(world.get("/v1/models").await.status, 200);
    let told = world.ask(Ask::get("/metrics").by(OTHER)).await;
    assert_eq!(told.error(), (403, "insufficient_scope".to_owned()));
    let none = world.ask(Ask::get("/v1/models").without("Authorization")).await;
    assert_eq!(
        (none.error(), none.header("www-authenticate")),
        ((401, "invalid_api_key".to_owned()), "Bearer")
    );
    let health = world.ask(Ask::get("/health").without("Authorization")).await;
    assert_eq!(health.json(), json!({ "status": "ok", "version": "0.0.0-test" }));
    let basic = world.ask(Ask::get("/v1/models").with("Authorization", "Basic dW5hOng=")).await;
    assert_eq!(basic.status, 401);
}

#[tokio::test]
async fn a_token_is_kept_as_a_digest_and_refused_once_it_is_taken_back() {
    let world = World::new(Scripted::new([Act::say("hi")])).await;
    let about = ApiToken {
        name: "laptop".to_owned(),
        scopes: vec!["chat".to_owned()],
        toolsets: Some(vec!["todo".to_owned()]),
        created_ms: 1,
        expires_ms: None,
        used_ms: None,
    };
    let made = create_token(&*world.store, about.clone()).await.unwrap().unwrap();
    assert!(
        create_token(&*world.store, about.clone()).await.unwrap().is_none(),
        "the name is taken"
    );
    let secret = made.secret.expose();
    let body = json!({ "messages": [{ "role": "user", "content": "x" }] });
    let told = world.ask(Ask::post("/v1/chat/completions", &body).by(secret)).await;
    assert_eq!(told.status, 200, "{told:?}");
    assert_eq!(world.around.wishes.lock()[0].toolsets, Some(vec!["todo".to_owned()]));
    assert_eq!(world.ask(Ask::get("/metrics").by(secret)).await.status, 403);
    assert!(world.store.tokens().await.unwrap()[0].used_ms.is_some());
    assert!(world.store.revoke_token("laptop").await.unwrap());
    assert_eq!(world.ask(Ask::get("/v1/models").by(secret)).await.status, 401);
    let gone = ApiToken { name: "old".to_owned(), expires_ms: Some(2), ..about };
    let made = create_token(&*world.store, gone).await.unwrap().unwrap();
    assert_eq!(world.ask(Ask::get("/v1/models").by(made.secret.expose())).await.status, 401);
    let folder = world.end().await;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains(secret), "the token itself is not kept");
    }
}

#[tokio::test]
async fn guessing_gets_slower_and_then_locks_the_guesser_out_but_not_who_was_let_in() {
    let world = World::new(Scripted::default()).await;
    assert_eq!(world.get("/v1/models").await.status, 200, "a good key that is known");
    let guess =
        |number: usize| Ask::get("/v1/models").by(&format!("guess-number-{number}-0123456789"));
    let mut locked = None;
    for number in 0..12 {
        let began = std::time::Instant::now();
        let told = world.ask(guess(number)).await;
        if told.status == 429 {
            locked = Some(told);
            break;
        }
        assert_eq!(told.status, 401);
        let least = if number >= 4 { 700 } else { 40 };
        assert!(began.elapsed().as_millis() >= least, "{number}: {:?}", began.elapsed());
    }
    let locked = locked.unwrap();
    assert_eq!(locked.error(), (429, "rate_limit_exceeded".to_owned()));
    assert!(locked.header("retry-after").parse::<u64>().unwrap() <= 60);
    assert_eq!(world.ask(Ask::get("/v1/models").by(OTHER)).await.status, 429, "not looked at");
    assert_eq!(world.get("/v1/models").await.status, 200, "who was let in stays in");
}

#[tokio::test]
async fn nothing_begins_while_everything_is_stopped() {
    let world = World::new(Scripted::default()).await;
    *world.around.halted.lock() = Some("una stopped everything".to_owned());
    let body = json!({ "messages": [{ "role": "user", "content": "x" }] });
    assert_eq!(world.post("/v1/chat/completions", &body).await.error(), (503, "halted".to_owned()));
    assert_eq!(world.get("/ready").await.status, 503);
}

#[tokio::test]
async fn s110_a_key_that_asks_too_often_waits_and_others_do_not() {
    let world = World::with(Scripted::default(), json!({ "rate_limit": 3 })).await;
    for _ in 0..3 {
        assert_eq!(world.get("/v1/models").await.status, 200);
    }
    let refused = world.get("/v1/models").await;
    assert_eq!(refused.error(), (429, "rate_limit_exceeded".to_owned()));
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=21).contains(&wait), "{wait}");
    assert_eq!(world.ask(Ask::get("/v1/models").by(OTHER)).await.status, 200, "another key");
    assert_eq!(world.get("/health").await.status, 200, "nobody is counted there");
}
