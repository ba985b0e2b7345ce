//! A misbehaving server, and the path that a question takes through each of its moods.

mod server;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use petasos_contract::context::Surface;
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_contract::message::Message;
use petasos_contract::model::{
    Delta, DeltaSink, DeltaSubscriber, Finish, Model, ModelError, Prompt, Reason, Reply, Role, Step,
};
use petasos_contract::settings::Parts;
use petasos_contract::{BoxFuture, CallContext, Secret, Settings, TurnId};
use petasos_net::client::{Net, NetOptions};
use petasos_net::{Allowed, Credential, Scheme, Scope};
use petasos_providers::client::Client;
use petasos_providers::failure::Failure;
use petasos_providers::fallback::Wanted;
use petasos_providers::mode::{ApiMode, Wire};
use petasos_providers::route::{Routes, Unroutable, VaultRoutes};
use petasos_providers::runtime::{BaseUrl, EndpointKind, Overrides, ProviderRuntime, Source};
use petasos_providers::table::Table;
use serde_json::json;
use server::{Act, Server, answer, error, page, stream};

/// Providers `main` and `spare`, each a server of its own.
struct Double {
    main: String,
    spare: String,
    keys: Mutex<Vec<&'static str>>,
    refreshed: Mutex<Option<&'static str>>,
    wire: Wire,
    overrides: Overrides,
}

impl Double {
    fn runtime(&self, base: &str, key: &str) -> ProviderRuntime {
        ProviderRuntime {
            provider: if base == self.spare { "spare" } else { "main" }.to_owned(),
            requested: "main".to_owned(),
            api_mode: ApiMode::ChatCompletions,
            wire: self.wire,
            base_url: BaseUrl::parse(base).unwrap(),
            credential: Some(Credential {
                owner: "main".to_owned(),
                secret: Secret::new(key),
                scope: Scope::new([Allowed::Loopback]),
                scheme: Scheme::Bearer,
            }),
            source: Source::Explicit,
            expiry: None,
            pool: None,
            headers: Vec::new(),
            overrides: self.overrides.clone(),
            model: Some("model-1".to_owned()),
            endpoint_kind: EndpointKind::Custom,
            launch: None,
            aws: None,
            notices: Vec::new(),
        }
    }
}

impl Routes for Double {
    fn resolve<'a>(
        &'a self,
        wanted: &'a Wanted,
        _: Role,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ProviderRuntime, Unroutable>> {
        Box::pin(async move {
            match wanted.provider.as_deref() {
                None => Ok(self.runtime(&self.main, "key-main-0001")),
                Some("spare") => Ok(self.runtime(&self.spare, "key-spare-0001")),
                Some(other) => Err(Unroutable {
                    provider: other.to_owned(),
                    code: "missing_api_key".to_owned(),
                    message: format!("`{other}` has no key"),
                }),
            }
        })
    }

    fn can_refresh(&self, _: &ProviderRuntime) -> bool {
        self.refreshed.lock().unwrap().is_some()
    }

    fn refresh<'a>(
        &'a self,
        runtime: &'a ProviderRuntime,
        _: &'a Settings,
    ) -> BoxFuture<'a, Option<ProviderRuntime>> {
        let key = self.refreshed.lock().unwrap().take();
        let renewed = key.map(|key| self.runtime(runtime.base_url.as_str(), key));
        Box::pin(async move { renewed })
    }

    fn can_rotate(&self, runtime: &ProviderRuntime, _: &Settings) -> bool {
        runtime.provider == "main" && !self.keys.lock().unwrap().is_empty()
    }

    fn rotate<'a>(
        &'a self,
        runtime: &'a ProviderRuntime,
        _: &'a Failure,
        _: &'a Settings,
    ) -> BoxFuture<'a, Option<ProviderRuntime>> {
        let key = self.keys.lock().unwrap().pop();
        let rotated = key.map(|key| self.runtime(runtime.base_url.as_str(), key));
        Box::pin(async move { rotated })
    }
}

#[derive(Default)]
struct Heard {
    notices: Mutex<Vec<String>>,
    text: Mutex<String>,
}

impl Subscriber for Heard {
    fn take(&self, event: Event) {
        if let Event::Notice { text } = event {
            self.notices.lock().unwrap().push(text);
        }
    }
}

impl DeltaSubscriber for Heard {
    fn take(&self, _: u32, delta: &Delta) {
        if let Delta::Text { text } = delta {
            self.text.lock().unwrap().push_str(text);
        }
    }
}

/// One scene: two servers, what the credentials can do, and everything that was heard.
struct Scene {
    main: Server,
    spare: Server,
    client: Client,
    heard: Arc<Heard>,
    has_spare: bool,
}

#[derive(Default)]
struct Setup {
    main: Vec<Act>,
    spare: Vec<Act>,
    has_spare: bool,
    refreshed: Option<&'static str>,
    keys: Vec<&'static str>,
    overrides: Overrides,
}

impl Scene {
    async fn new(setup: Setup) -> Self {
        let main = Server::start(setup.main).await;
        let spare = Server::start(setup.spare).await;
        let routes = Double {
            main: main.url(),
            spare: spare.url(),
            keys: Mutex::new(setup.keys),
            refreshed: Mutex::new(setup.refreshed),
            wire: Wire::ChatCompletions,
            overrides: setup.overrides,
        };
        let net = Arc::new(Net::new(NetOptions::default()));
        let client = Client::new(Arc::new(routes), net, Table::built_in());
        let client = client.with_dice(|| 0.0).with_pace(0.001);
        Self { main, spare, client, heard: Arc::default(), has_spare: setup.has_spare }
    }

    fn context(&self) -> CallContext {
        self.context_on(Surface::Cli)
    }

    fn context_on(&self, surface: Surface) -> CallContext {
        let mut values = json!({});
        if self.has_spare {
            values = json!({"fallback_providers": [{"provider": "absent", "model": "m"},
                {"provider": "spare", "model": "model-2"}]});
        }
        let settings = Arc::new(Settings::from_values(values.as_object().cloned().unwrap()));
        let mut cx = CallContext::new(settings, surface, "s".into());
        cx.events = EventSink::to(self.heard.clone());
        cx.deadline = Instant::now() + Duration::from_secs(20);
        cx
    }

    fn prompt(&self) -> Prompt {
        Prompt {
            messages: vec![Message::user("hello")],
            deltas: DeltaSink::to(self.heard.clone()),
            ..Prompt::default()
        }
    }

    async fn ask(&self) -> Result<Reply, ModelError> {
        self.client.ask(&self.prompt(), Role::Main, &self.context()).await
    }
}

/// A path in few words.
fn told(outcome: &Result<Reply, ModelError>) -> String {
    let words = petasos_providers::client::path(outcome).iter().map(|step| match step {
        Step::Sent { provider, .. } => provider.clone(),
        Step::Failed { reason, status } => {
            let reason = serde_json::to_value(reason).unwrap().as_str().unwrap().to_owned();
            status.map_or(reason.clone(), |status| format!("{reason}/{status}"))
        }
        Step::Waited { wait_ms } => format!("wait {wait_ms}"),
        Step::Refreshed => "refreshed".to_owned(),
        Step::Rotated => "rotated".to_owned(),
        Step::Repaired { repair } => format!("[{repair}]"),
        Step::FellBack { provider, .. } => format!("> {provider}"),
        Step::Skipped { provider, .. } => format!("skip {provider}"),
        Step::GaveUp => "gave up".to_owned(),
        _ => "?".to_owned(),
    });
    let mut words: Vec<String> = words.collect();
    if let Ok(reply) = outcome {
        words.push(format!("= {}", reply.message.text()));
    }
    words.join(", ")
}

async fn check(name: &str, setup: Setup, expected: &str) -> Scene {
    let scene = Scene::new(setup).await;
    let outcome = scene.ask().await;
    assert_eq!(told(&outcome), expected, "{name}: {outcome:?}");
    scene
}

fn alone(main: Vec<Act>) -> Setup {
    Setup { main, ..Setup::default() }
}

fn pair(main: Vec<Act>) -> Setup {
    Setup { main, spare: vec![stream("spare")], has_spare: true, ..Setup::default() }
}

#[tokio::test]
async fn every_status_takes_its_own_path() {
    let ok = || stream("ok");
    let cases: Vec<(&str, Setup, &str)> = vec![
        ("fine", alone(vec![ok()]), "main, = ok"),
        ("401 alone", alone(vec![error(401)]), "main, auth/401, gave up"),
        (
            "401 spare",
            pair(vec![error(401)]),
            "main, auth/401, skip absent, > spare, spare, = spare",
        ),
        ("403 alone", alone(vec![error(403)]), "main, auth/403, gave up"),
        (
            "403 spare",
            pair(vec![error(403)]),
            "main, auth/403, skip absent, > spare, spare, = spare",
        ),
        (
            "404 json",
            pair(vec![error(404)]),
            "main, format/404, skip absent, > spare, spare, = spare",
        ),
        (
            "404 page",
            alone(vec![page(404), ok()]),
            "main, invalid_response/404, wait 5000, main, = ok",
        ),
        (
            "404 page again",
            pair(vec![page(404), page(404)]),
            "main, invalid_response/404, wait 5000, main, invalid_response/404, skip absent, > spare, spare, = spare",
        ),
        ("408", alone(vec![error(408), ok()]), "main, timeout/408, wait 2000, main, = ok"),
        ("413", pair(vec![error(413)]), "main, payload_too_large/413, gave up"),
        (
            "500",
            alone(vec![error(500), error(500), ok()]),
            "main, server_error/500, wait 2000, main, server_error/500, wait 4000, main, = ok",
        ),
        (
            "500 for ever",
            alone(vec![error(500), error(500), error(500), error(500), ok()]),
            "main, server_error/500, wait 2000, main, server_error/500, wait 4000, main, server_error/500, wait 8000, main, server_error/500, gave up",
        ),
        (
            "502 spare",
            pair(vec![error(502), error(502), error(502), error(502)]),
            "main, server_error/502, wait 2000, main, server_error/502, wait 4000, main, server_error/502, wait 8000, main, server_error/502, skip absent, > spare, spare, = spare",
        ),
        ("503", alone(vec![error(503), ok()]), "main, overloaded/503, wait 2000, main, = ok"),
        (
            "529 spare",
            pair(vec![error(529), error(529), error(529)]),
            "main, overloaded/529, wait 2000, main, overloaded/529, wait 4000, main, overloaded/529, skip absent, > spare, spare, = spare",
        ),
        (
            "html error",
            alone(vec![page(502), ok()]),
            "main, server_error/502, wait 2000, main, = ok",
        ),
        (
            "html success",
            alone(vec![page(200), ok()]),
            "main, invalid_response, wait 5000, main, = ok",
        ),
    ];
    for (name, setup, expected) in cases {
        check(name, setup, expected).await;
    }
}

#[tokio::test]
async fn a_rate_limit_waits_as_long_as_it_is_told_and_then_looks_elsewhere() {
    let ok = || stream("ok");
    let limited = |header: &'static str, value: &str| {
        answer(429, &[(header, value)], "{\"error\":{\"message\":\"Rate limit reached\"}}")
    };
    let later = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_mins(10));
    check(
        "seconds",
        alone(vec![limited("retry-after", "7"), ok()]),
        "main, rate_limit/429, wait 7000, main, = ok",
    )
    .await;
    check(
        "milliseconds",
        alone(vec![limited("retry-after-ms", "1500"), ok()]),
        "main, rate_limit/429, wait 1500, main, = ok",
    )
    .await;
    check(
        "no header",
        alone(vec![error(429), ok()]),
        "main, rate_limit/429, wait 2000, main, = ok",
    )
    .await;
    let dated = Scene::new(alone(vec![limited("retry-after", &later), ok()])).await;
    let outcome = dated.ask().await;
    let Step::Waited { wait_ms } = petasos_providers::client::path(&outcome)[2] else { panic!() };
    assert!((590_000..=600_000).contains(&wait_ms), "{wait_ms}");
    check(
        "too long with a spare",
        pair(vec![limited("retry-after", &later)]),
        "main, rate_limit/429, skip absent, > spare, spare, = spare",
    )
    .await;
    let pool = Setup {
        main: vec![error(429), error(429), ok()],
        keys: vec!["key-main-0002"],
        ..Setup::default()
    };
    let scene = check(
        "rotates at the second",
        pool,
        "main, rate_limit/429, wait 2000, main, rate_limit/429, rotated, main, = ok",
    )
    .await;
    assert_eq!(scene.main.keys(), ["key-main-0001", "key-main-0001", "key-main-0002"]);
    let counters = answer(
        200,
        &[("x-ratelimit-remaining-requests", "41"), ("content-type", "application/json")],
        "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}",
    );
    let scene = check("counters", alone(vec![counters]), "main, = ok").await;
    assert_eq!(scene.client.limits()[0].1.requests.remaining, Some(41));
}

#[tokio::test]
async fn a_refused_credential_is_renewed_once_then_rotated_then_left() {
    let ok = || stream("ok");
    let renewed = Setup {
        main: vec![error(401), ok()],
        refreshed: Some("key-main-new1"),
        ..Setup::default()
    };
    let scene = check("renewed", renewed, "main, auth/401, refreshed, main, = ok").await;
    assert_eq!(scene.main.keys(), ["key-main-0001", "key-main-new1"]);
    let refused = Setup {
        main: vec![error(401), error(401), error(401)],
        refreshed: Some("key-main-new1"),
        keys: vec!["key-main-0002"],
        spare: vec![stream("spare")],
        has_spare: true,
        ..Setup::default()
    };
    let scene = check("everything", refused,
        "main, auth/401, refreshed, main, auth/401, rotated, main, auth/401, skip absent, > spare, spare, = spare").await;
    assert_eq!(scene.main.keys(), ["key-main-0001", "key-main-new1", "key-main-0002"]);
    assert_eq!(scene.spare.keys(), ["key-spare-0001"]);
    let unpaid = answer(402, &[], "{\"error\":{\"message\":\"Insufficient credits\"}}");
    let unpaid =
        Setup { main: vec![unpaid, ok()], keys: vec!["key-main-0002"], ..Setup::default() };
    check("unpaid", unpaid, "main, billing/402, rotated, main, = ok").await;
}

#[tokio::test]
async fn broken_connections_are_tried_again_until_text_was_shown() {
    let ok = || stream("ok");
    for act in [
        Act::ResetAtOnce,
        Act::CloseAtOnce,
        Act::ResetInHeaders,
        Act::ResetAfterHeaders,
        Act::CloseAfterHeaders,
    ] {
        check(&format!("{act:?}"), alone(vec![act, ok()]), "main, timeout, wait 2000, main, = ok")
            .await;
    }
    for act in [Act::ResetAfterText, Act::HalfClosed] {
        let name = format!("{act:?}");
        let scene = Scene::new(alone(vec![act, ok()])).await;
        let reply = scene.ask().await.unwrap();
        assert_eq!((reply.message.text(), reply.finish), ("half an ans", Finish::Length), "{name}");
        assert!(reply.broken.is_some(), "{name}");
        assert_eq!(*scene.heard.text.lock().unwrap(), "half an ans", "{name}");
        assert_eq!(scene.main.keys().len(), 1, "{name}: asked twice");
    }
    check("reset after the end", alone(vec![Act::ResetAfterEnd]), "main, = whole").await;
}

#[tokio::test]
async fn silence_ends_at_its_deadline() {
    let overrides = Overrides { stale_timeout_s: Some(0.05), ..Overrides::default() };
    let silent = |act| Setup {
        main: vec![act, stream("ok")],
        overrides: overrides.clone(),
        ..Setup::default()
    };
    check("no headers", silent(Act::Silent), "main, timeout, wait 2000, main, = ok").await;
    check("no body", silent(Act::SilentAfterHeaders), "main, timeout, wait 2000, main, = ok").await;
    let scene = Scene::new(silent(Act::SilentAfterText)).await;
    assert_eq!(scene.ask().await.unwrap().message.text(), "half an ans");
    check("no end mark", silent(Act::SilentAfterEnd), "main, = whole").await;
    let whole = Overrides { request_timeout_s: Some(0.3), ..Overrides::default() };
    let endless = Setup {
        main: vec![Act::KeepAliveForEver, stream("ok")],
        overrides: whole,
        ..Setup::default()
    };
    check("comments for ever", endless, "main, timeout, wait 2000, main, = ok").await;
}

#[tokio::test]
async fn an_interrupt_ends_a_wait_and_a_stream_at_once() {
    let patient =
        answer(429, &[("retry-after", "600")], "{\"error\":{\"message\":\"Rate limit\"}}");
    for act in [patient, Act::SilentAfterText, Act::Silent] {
        let scene = Scene::new(alone(vec![act])).await;
        let scene = Scene { client: scene.client.with_pace(1.0), ..scene };
        let (prompt, cx) = (scene.prompt(), scene.context());
        let asked = scene.client.ask(&prompt, Role::Main, &cx);
        let interrupt = async {
            scene.main.served_one().await;
            cx.cancel.cancel();
            Instant::now()
        };
        let (outcome, at) = tokio::join!(asked, interrupt);
        assert_eq!(outcome.unwrap_err().reason, Reason::Cancelled);
        assert!(at.elapsed() < Duration::from_millis(250));
    }
}

#[tokio::test]
async fn requests_are_repaired_when_the_provider_says_how() {
    let ok = || stream("ok");
    let said =
        |message: &str| answer(400, &[], &json!({"error": {"message": message}}).to_string());
    check(
        "parameter",
        alone(vec![said("Unsupported parameter: 'stream_options'"), ok()]),
        "main, unsupported_parameter/400, [drop `stream_options`], main, = ok",
    )
    .await;
    check("stream", alone(vec![said("streaming is not supported"), answer(200, &[("content-type", "application/json")],
        "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}")]),
        "main, stream_refused/400, [ask without streaming], main, = whole").await;
    check(
        "overflow",
        pair(vec![said("maximum context length is 8192 tokens")]),
        "main, context_overflow/400, gave up",
    )
    .await;
    let scene =
        Scene::new(alone(vec![said("Invalid schema for function 'bad': nope"), ok()])).await;
    let tool = |name: &str| petasos_contract::model::Definition {
        name: name.into(),
        description: "d".to_owned(),
        parameters: json!({}),
    };
    let prompt = Prompt { tools: Arc::from([tool("good"), tool("bad")]), ..scene.prompt() };
    let outcome = scene.client.ask(&prompt, Role::Main, &scene.context()).await;
    assert_eq!(told(&outcome), "main, tool_schema/400, [leave out the tool `bad`], main, = ok");
    assert!(scene.heard.notices.lock().unwrap()[0].contains("`bad`"));
    assert!(
        !scene.main.bodies()[1].contains("\"bad\"") && scene.main.bodies()[1].contains("\"good\"")
    );
}

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
        ["switched to `model-2` at `spare` for this turn"]
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
async fn no_error_shows_the_secret() {
    let echo = answer(401, &[], "{\"error\":{\"message\":\"bad key key-main-0001\"}}");
    let scene = Scene::new(alone(vec![echo])).await;
    let error = scene.ask().await.unwrap_err();
    assert!(!format!("{error:?}").contains("key-main-0001"), "{error:?}");
    assert!(error.line.contains("petasos auth status"), "{}", error.line);
}

#[tokio::test]
async fn the_path_is_the_same_on_every_surface() {
    let surfaces =
        [Surface::Cli, Surface::Gateway, Surface::Cron, Surface::Acp, Surface::ApiServer];
    for surface in surfaces {
        let scene = Scene::new(pair(vec![error(503), error(401)])).await;
        let outcome =
            scene.client.ask(&scene.prompt(), Role::Main, &scene.context_on(surface)).await;
        let expected =
            "main, overloaded/503, wait 2000, main, auth/401, skip absent, > spare, spare, = spare";
        assert_eq!(told(&outcome), expected, "{surface:?}");
    }
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
        "custom_providers": [{"name": "box", "base_url": server.url()}]});
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

#[tokio::test]
async fn a_repair_is_learnt_once_and_told_once() {
    let refused =
        answer(400, &[], "{\"error\":{\"message\":\"Unsupported parameter: 'stream_options'\"}}");
    let scene = Scene::new(alone(vec![refused, stream("one"), stream("two")])).await;
    assert_eq!(scene.ask().await.unwrap().message.text(), "one");
    assert_eq!(told(&scene.ask().await), "main, = two");
    assert!(!scene.main.bodies()[2].contains("stream_options"));
    assert_eq!(scene.heard.notices.lock().unwrap().len(), 1);
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

#[tokio::test]
async fn a_conversation_never_follows_a_redirect() {
    let redirect = answer(307, &[("location", "http://127.0.0.1:9/v1/x")], "");
    let expected = "main, refused/307, skip absent, > spare, spare, = spare";
    check("redirect", pair(vec![redirect]), expected).await;
}
