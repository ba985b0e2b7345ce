//! Who else answers, for how long, and what it is billed as.

use std::sync::Arc;

use petasos_contract::context::Surface;
use petasos_contract::event::EventSink;
use petasos_contract::message::Message;
use petasos_contract::model::{Model as _, Prompt, Role};
use petasos_contract::settings::Parts;
use petasos_contract::{CallContext, Settings, TurnId};
use petasos_net::client::{Net, NetOptions};
use petasos_providers::client::Client;
use petasos_providers::credential::pool::Status;
use petasos_providers::credential::store::AuthFile;
use petasos_providers::route::VaultRoutes;
use petasos_providers::table::Table;
use serde_json::json;

use super::scene::{Heard, Scene, Setup, told};
use super::server::{Act, Server, error, stream};

#[tokio::test]
async fn a_turn_stays_where_it_fell_and_the_next_one_starts_at_the_first_again() {
    let setup = Setup {
        main: vec![error(403), stream("back")],
        spare: vec![stream("one"), stream("two")],
        has_spare: true,
        ..Setup::default()
    };
    let scene = Scene::new(setup).await;
    let cx = scene.context();
    let texts = async |cx: &CallContext| {
        scene.client.ask(&scene.prompt(), Role::Main, cx).await.unwrap().message.text().to_owned()
    };
    assert_eq!(texts(&cx).await, "one");
    assert_eq!(texts(&cx).await, "two");
    assert_eq!(
        *scene.heard.notices.lock().unwrap(),
        ["switched to `model-2` at `spare` for this turn: \
             `main` refused the request (403)"]
    );
    let next = CallContext { turn: TurnId::from("turn-1"), ..cx };
    assert_eq!(texts(&next).await, "back");
}

#[tokio::test]
async fn a_limited_primary_rests_in_the_next_turn_and_its_use_is_billed_by_role() {
    let setup = Setup {
        main: vec![error(429), error(429), stream("main again")],
        spare: vec![stream("one"), stream("two")],
        has_spare: true,
        ..Setup::default()
    };
    let scene = Scene::new(setup).await;
    let cx = scene.context();
    let first = scene.client.ask(&scene.prompt(), Role::Main, &cx).await;
    assert_eq!(
        told(&first),
        "main, rate_limit/429, wait 2000, main, rate_limit/429, skip absent, > spare, spare, = one"
    );
    let next = CallContext { turn: TurnId::from("turn-1"), ..cx };
    let second = scene.client.ask(&scene.prompt(), Role::Subagent, &next).await;
    assert_eq!(told(&second), "skip default, skip absent, > spare, spare, = two");
    let lines = scene.client.ledger().lines(&next.session);
    let roles: Vec<_> = lines.iter().map(|line| (line.role, line.usage.output)).collect();
    assert_eq!(roles, [(Some(Role::Main), 2), (Some(Role::Subagent), 2)]);
}

#[tokio::test]
async fn a_pool_in_the_store_is_rotated_and_remembers() {
    let server = Server::start(vec![error(401), stream("ok"), stream("again")]).await;
    let home = tempfile::tempdir().unwrap();
    let entry = |id: &str, key: &str, priority: u32| {
        json!({"id": id, "label": id, "auth_type": "api_key", "priority": priority,
            "source": "manual", "access_token": key})
    };
    let pool = json!({"version": 1, "credential_pool": {"custom:box":
        [entry("aaaaaa", "key-pool-0001", 0), entry("bbbbbb", "key-pool-0002", 1)]}});
    let file = std::fs::File::create(home.path().join("auth.json")).unwrap();
    serde_json::to_writer(file, &pool).unwrap();
    let values = json!({"model": {"provider": "custom:box", "default": "m"},
        "custom_providers": [{"name": "box", "base_url": server.url(), "context_length": 8192}]});
    let settings = Settings::new(Parts {
        home: home.path().to_owned(),
        user_home: home.path().to_owned(),
        values: values.as_object().cloned().unwrap(),
        ..Parts::default()
    });
    let net = Arc::new(Net::new(NetOptions::default()));
    let routes = Arc::new(VaultRoutes::new(net.clone()));
    let client = Client::new(routes, net, Table::built_in()).with_pace(0.001);
    let cx = CallContext::new(Arc::new(settings), Surface::Cli, "s".into());
    let prompt = Prompt { messages: vec![Message::user("hello")], ..Prompt::default() };
    let first = client.ask(&prompt, Role::Main, &cx).await;
    assert_eq!(told(&first), "custom, auth/401, rotated, custom, = ok");
    assert_eq!(client.ask(&prompt, Role::Main, &cx).await.unwrap().message.text(), "again");
    assert_eq!(server.keys(), ["key-pool-0001", "key-pool-0002", "key-pool-0002"]);
}

/// A client over the real routes, with this configuration.
fn client_of(values: &serde_json::Value) -> (Client, CallContext) {
    let settings = Arc::new(Settings::from_values(values.as_object().cloned().unwrap()));
    let net = Arc::new(Net::new(NetOptions::default()));
    let routes = Arc::new(VaultRoutes::new(net.clone()));
    let client = Client::new(routes, net, Table::built_in()).with_pace(0.001);
    (client, CallContext::new(settings, Surface::Cli, "s".into()))
}

#[tokio::test]
async fn the_same_model_on_another_machine_is_a_fallback_and_on_the_same_one_is_not() {
    let limited = || vec![error(429), error(429), stream("first again")];
    let (first, second) =
        (Server::start(limited()).await, Server::start(vec![stream("one"), stream("two")]).await);
    let entry =
        |server: &Server| json!({"provider": "custom", "model": "qwen3", "base_url": server.url()});
    let values = json!({
        "model": {"provider": "custom", "default": "qwen3", "base_url": first.url()},
        "fallback_providers": [entry(&first), entry(&second)]});
    let (client, cx) = client_of(&values);
    let prompt = Prompt { messages: vec![Message::user("hello")], ..Prompt::default() };
    let asked = client.ask(&prompt, Role::Main, &cx).await;
    let path = told(&asked);
    assert!(path.ends_with("rate_limit/429, skip custom, > custom, custom, = one"), "{path}");
    let next = CallContext { turn: TurnId::from("turn-1"), ..cx };
    let path = told(&client.ask(&prompt, Role::Main, &next).await);
    assert!(path.ends_with("custom, = two"), "the first still rests: {path}");
    assert_eq!(first.keys().len(), 2);
}

#[tokio::test]
async fn a_small_window_is_learnt_from_the_first_refusal() {
    let words = "This model's maximum context length is 32768 tokens. However, you requested \
                 65636 tokens (100 in the messages, 65536 in the completion).";
    let refusal = json!({"object": "error", "message": words, "code": 400}).to_string();
    let acts = vec![super::server::answer(400, &[], &refusal), stream("one"), stream("two")];
    let server = Server::start(acts).await;
    let values = json!({
        "model": {"provider": "custom", "default": "m", "base_url": server.url()}});
    let (client, cx) = client_of(&values);
    let prompt = Prompt { messages: vec![Message::user("hello")], ..Prompt::default() };
    assert_eq!(client.window(&prompt, Role::Main, &cx).await, None, "nobody knows it yet");
    for expected in ["one", "two"] {
        let reply = client.ask(&prompt, Role::Main, &cx).await.unwrap();
        assert_eq!(reply.message.text(), expected);
    }
    assert_eq!(client.window(&prompt, Role::Main, &cx).await, Some(32_768));
    let limits: Vec<u64> = server
        .bodies()
        .iter()
        .map(|body| {
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            body["max_tokens"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(limits, [65_536, 16_384, 16_384]);
}

#[tokio::test]
async fn the_only_listed_model_is_adopted_and_several_are_named() {
    let listed = |ids: &[&str]| {
        let data: Vec<_> = ids.iter().map(|id| json!({"id": id})).collect();
        let body = json!({"data": data}).to_string();
        super::server::answer(200, &[("content-type", "application/json")], &body)
    };
    let prompt = Prompt { messages: vec![Message::user("hello")], ..Prompt::default() };
    let ask = async |server: &Server| {
        let values = json!({"model": {"provider": "custom",
            "base_url": format!("{}?api-version=7", server.url())}});
        let (client, cx) = client_of(&values);
        client.ask(&prompt, Role::Main, &cx).await
    };
    let one = Server::start(vec![listed(&["only-one"]), stream("ok")]).await;
    assert_eq!(ask(&one).await.unwrap().message.text(), "ok");
    assert!(one.bodies()[1].contains(r#""model":"only-one""#), "{:?}", one.bodies());
    let paths = ["/v1/models?api-version=7", "/v1/chat/completions?api-version=7"];
    assert_eq!(one.paths(), paths, "a query of the endpoint stays behind every path");
    let two = Server::start(vec![listed(&["a-1", "b-2"])]).await;
    let line = ask(&two).await.unwrap_err().line;
    assert!(line.contains("`a-1`, `b-2`") && line.contains("petasos model"), "{line}");
    assert_eq!(two.paths().len(), 1, "nothing is asked with an empty model");
}

#[tokio::test]
async fn settings_reach_the_providers_that_know_them_and_no_others() {
    let ask = async |more: serde_json::Value, provider: &str, model: &str| {
        let server = Server::start(vec![stream("ok")]).await;
        let row = json!({"id": "openrouter", "base_url": server.url(),
            "key_hosts": ["<loopback>"]});
        let mut values = json!({
            "model": {"provider": provider, "default": model, "base_url": server.url(),
                "api_key": "key-0123456789", "ollama_num_ctx": 16_384},
            "provider_rows": [row],
            "provider_routing": {"order": ["deepinfra"]},
            "openrouter": {"response_cache": true, "min_coding_score": 0.5},
            "agent": {"service_tier": "fast"}});
        values.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (client, cx) = client_of(&values);
        let prompt = Prompt {
            system: "You are terse.".to_owned(),
            messages: vec![Message::user("hello")],
            ..Prompt::default()
        };
        client.ask(&prompt, Role::Main, &cx).await.unwrap();
        let body: serde_json::Value = serde_json::from_str(&server.bodies()[0]).unwrap();
        (body, server.heads().remove(0))
    };
    let claude = "anthropic/claude-sonnet-4.5";
    let (body, head) = ask(json!({}), "openrouter", claude).await;
    assert_eq!(body["provider"], json!({"order": ["deepinfra"]}));
    assert!(head.contains("x-openrouter-cache: true") && head.contains("cache-ttl: 300"), "{head}");
    assert!(body.to_string().contains(r#""cache_control":{"type":"ephemeral"}"#), "{body}");
    for absent in ["options", "plugins", "service_tier"] {
        assert_eq!(body.get(absent), None, "{absent}");
    }
    let hour = json!({"prompt_caching": {"cache_ttl": "1h"}});
    assert!(ask(hour, "openrouter", claude).await.0.to_string().contains(r#""ttl":"1h""#));
    let off = json!({"prompt_caching": {"enabled": false}});
    assert!(!ask(off, "openrouter", claude).await.0.to_string().contains("cache_control"));
    let (pareto, _) = ask(json!({}), "openrouter", "openrouter/pareto-code").await;
    assert_eq!(pareto["plugins"], json!([{"id": "pareto-router", "min_coding_score": 0.5}]));
    let (custom, head) = ask(json!({}), "custom", "m").await;
    assert_eq!(custom["options"], json!({"num_ctx": 16_384}));
    assert!(custom.get("provider").is_none() && !head.contains("openrouter"), "{custom}");
}

#[tokio::test]
async fn logins_of_a_pool_that_are_refused_rest_instead_of_taking_turns_for_ever() {
    let server = Server::start(vec![error(401); 60]).await;
    let home = tempfile::tempdir().unwrap();
    let entry = |id: &str, priority: u32| {
        json!({"id": id, "label": id, "auth_type": "oauth", "priority": priority,
            "source": "device_code", "access_token": format!("at-{id}"),
            "refresh_token": format!("rt-{id}")})
    };
    let pool = json!({"version": 1, "credential_pool": {"custom:box":
        [entry("aaaaaa", 0), entry("bbbbbb", 1)]}});
    let file = std::fs::File::create(home.path().join("auth.json")).unwrap();
    serde_json::to_writer(file, &pool).unwrap();
    let values = json!({"model": {"provider": "custom:box", "default": "m"},
        "custom_providers": [{"name": "box", "base_url": server.url(), "context_length": 8192}]});
    let settings = Settings::new(Parts {
        home: home.path().to_owned(),
        user_home: home.path().to_owned(),
        values: values.as_object().cloned().unwrap(),
        ..Parts::default()
    });
    let net = Arc::new(Net::new(NetOptions::default()));
    let routes = Arc::new(VaultRoutes::new(net.clone()));
    let client = Client::new(routes, net, Table::built_in()).with_pace(0.001);
    let heard = Arc::new(Heard::default());
    let mut cx = CallContext::new(Arc::new(settings), Surface::Cli, "s".into());
    cx.events = EventSink::to(heard.clone());
    let prompt = Prompt { messages: vec![Message::user("hello")], ..Prompt::default() };
    let outcome = client.ask(&prompt, Role::Main, &cx).await;
    assert_eq!(told(&outcome), "custom, auth/401, rotated, custom, auth/401, gave up");
    let entries = AuthFile::read(home.path()).unwrap().pool("custom:box");
    assert_eq!(entries[0].status, Status::Exhausted, "the refused login rests");
    let notices = heard.notices.lock().unwrap().clone();
    assert_eq!(
        notices,
        ["`custom:box` did not accept the credential (401); trying its next credential"]
    );
    client.ask(&prompt, Role::Main, &cx).await.unwrap_err();
    assert_eq!(server.keys(), ["at-aaaaaa", "at-bbbbbb", "at-bbbbbb"]);
}

#[tokio::test]
async fn a_side_task_with_its_own_provider_tells_of_a_broken_key_and_survives_a_busy_one() {
    let values = json!({"auxiliary": {"compression": {"provider": "spare", "model": "small"}}});
    let ask = async |spare: Vec<Act>| {
        let setup = Setup { main: vec![stream("by main")], spare, ..Setup::default() };
        let scene = Scene::new(setup).await;
        let settings = Arc::new(Settings::from_values(values.as_object().cloned().unwrap()));
        let cx = CallContext { settings, ..scene.context() };
        told(&scene.client.ask(&scene.prompt(), Role::Compression, &cx).await)
    };
    assert_eq!(ask(vec![stream("by spare")]).await, "spare, = by spare");
    assert_eq!(ask(vec![error(401)]).await, "spare, auth/401, gave up");
    let busy = "spare, overloaded/503, wait 1000, spare, overloaded/503, > main, main, = by main";
    assert_eq!(ask(vec![error(503), error(503)]).await, busy);
}
