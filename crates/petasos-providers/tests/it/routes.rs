//! The routes that every surface uses: what they add to the resolver.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use petasos_config::Inputs;
use petasos_contract::context::Surface;
use petasos_contract::model::{Reason, Role};
use petasos_contract::settings::{Parts, Source as Origin, Variable};
use petasos_contract::{CallContext, Secret, Settings};
use petasos_net::client::Net;
use petasos_providers::credential::login::{Login, RefreshToken};
use petasos_providers::credential::pool::{Entry, Status};
use petasos_providers::credential::store::{AuthFile, update};
use petasos_providers::failure::Failure;
use petasos_providers::fallback::Wanted;
use petasos_providers::local::{Finder, Known};
use petasos_providers::route::{Routes, VaultRoutes};
use petasos_providers::runtime::{EndpointKind, ProviderRuntime};
use petasos_providers::{ApiMode, Request, Vault, resolve};
use serde_json::{Value, json};

use crate::token_server::TokenServer;

fn settings(home: &Path, config: &Value, variables: &[(&str, &str)]) -> Arc<Settings> {
    let variable = |(name, value): &(&str, &str)| {
        let source = Origin::Environment { variable: (*name).to_owned() };
        ((*name).to_owned(), Variable { value: Secret::new(*value), source })
    };
    Arc::new(Settings::new(Parts {
        home: home.to_owned(),
        user_home: home.join("user"),
        values: config.as_object().unwrap().clone(),
        variables: variables.iter().map(variable).collect(),
        ..Parts::default()
    }))
}

/// Routes that look for local servers where there are none.
fn routes() -> VaultRoutes {
    let nowhere = Known { name: "nobody", base_url: "http://127.0.0.1:9/v1" };
    VaultRoutes::new(Arc::new(Net::default())).with_finder(Finder::at([nowhere; 4]))
}

async fn ask(routes: &VaultRoutes, provider: &str, settings: &Arc<Settings>) -> ProviderRuntime {
    let cx = CallContext::new(settings.clone(), Surface::Cli, "s".into());
    let provider = (!provider.is_empty()).then(|| provider.to_owned());
    let wanted = Wanted { provider, ..Wanted::default() };
    routes.resolve(&wanted, Role::Main, &cx).await.unwrap()
}

fn jwt(account: &str) -> Secret {
    let claims = json!({"https://api.openai.com/auth": {"chatgpt_account_id": account}});
    Secret::new(format!("eyJh.{}.x", URL_SAFE_NO_PAD.encode(claims.to_string())))
}

fn account(runtime: &ProviderRuntime) -> &str {
    let found = runtime.headers.iter().find(|(name, _)| name == "ChatGPT-Account-ID");
    found.map_or("", |(_, value)| value.as_str())
}

fn entry(id: &str, secret: Secret, refresh: Option<&str>) -> Entry {
    Entry {
        id: id.to_owned(),
        label: id.to_owned(),
        oauth: refresh.is_some(),
        priority: 0,
        source: "device_code".to_owned(),
        secret: Some(secret),
        refresh: refresh.map(RefreshToken::new),
        status: Status::Ok,
        reset_at_ms: None,
        expires_at_ms: None,
        request_count: 0,
        base_url: None,
    }
}

#[tokio::test]
async fn a_server_on_this_machine_answers_when_nothing_is_configured() {
    let server = TokenServer::start().await;
    server.say(200, r#"{"data":[{"id":"small"}]}"#);
    let url: &'static str = Box::leak(format!("{}/v1", server.url).into_boxed_str());
    let nowhere = Known { name: "nobody", base_url: "http://127.0.0.1:9/v1" };
    let here = Known { name: "ollama", base_url: url };
    let finder = Finder::at([nowhere, here, nowhere, nowhere]);
    let routes = VaultRoutes::new(Arc::new(Net::default())).with_finder(finder);
    let home = tempfile::tempdir().unwrap();
    let bare = settings(home.path(), &json!({}), &[]);
    for _ in 0..2 {
        let runtime = ask(&routes, "", &bare).await;
        assert_eq!(runtime.base_url.as_str(), url);
        assert_eq!(runtime.endpoint_kind, EndpointKind::Local);
        assert_eq!(runtime.model.as_deref(), Some("small"));
        assert!(runtime.notices[0].text.contains("nothing is configured"));
    }
    assert_eq!(server.ledger.lock().unwrap().bodies.len(), 1, "found once, remembered after");
    let keyed = settings(home.path(), &json!({}), &[("DEEPSEEK_API_KEY", "ds-0123456789")]);
    assert_eq!(ask(&routes, "", &keyed).await.provider, "deepseek");
}

#[tokio::test]
async fn keys_that_take_turns_are_counted_as_they_are_used() {
    let home = tempfile::tempdir().unwrap();
    let config = json!({"credential_pool_strategies": {"deepseek": "round_robin"}});
    let settings = settings(home.path(), &config, &[]);
    for key in ["ds-0000000001", "ds-0000000002"] {
        Vault::of(&settings).add_key("deepseek", "manual", Secret::new(key)).await.unwrap();
    }
    let mut used = Vec::new();
    for _ in 0..4 {
        let runtime = ask(&routes(), "deepseek", &settings).await;
        used.push(runtime.credential.unwrap().secret.expose().chars().last().unwrap());
    }
    assert_eq!(used, ['1', '2', '1', '2']);
}

#[tokio::test]
async fn a_renewed_or_rotated_login_brings_its_own_account() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &json!({}), &[]);
    let routes = routes();
    let login = |name: &str| Login {
        access: Some(jwt(name)),
        refresh: Some(RefreshToken::new("rt-000000")),
        ..Login::default()
    };
    update(home.path(), |file| file.set_login("openai-codex", &login("first"))).await.unwrap();
    let runtime = ask(&routes, "openai-codex", &settings).await;
    assert_eq!(account(&runtime), "first");
    // Another process renewed it meanwhile: the newer token is adopted without asking anybody.
    update(home.path(), |file| file.set_login("openai-codex", &login("second"))).await.unwrap();
    assert!(routes.can_refresh(&runtime));
    let renewed = routes.refresh(&runtime, &settings).await.unwrap();
    assert_eq!(account(&renewed), "second");

    update(home.path(), |file| {
        file.forget("openai-codex");
        file.set_entry("openai-codex", &entry("aaaaaa", jwt("third"), None));
        file.set_entry("openai-codex", &entry("bbbbbb", jwt("fourth"), Some("rt-000001")));
    })
    .await
    .unwrap();
    let runtime = ask(&routes, "openai-codex", &settings).await;
    assert_eq!(account(&runtime), "third");
    assert!(!routes.can_refresh(&runtime) && routes.can_rotate(&runtime, &settings));
    let spent = Failure::new(Reason::RateLimit, "too many");
    let rotated = routes.rotate(&runtime, &spent, &settings).await.unwrap();
    assert_eq!(account(&rotated), "fourth");
    assert!(routes.can_refresh(&rotated), "a login in a pool renews itself");
    assert_eq!(
        AuthFile::read(home.path()).unwrap().pool("openai-codex")[0].status,
        Status::Exhausted
    );
}

#[tokio::test]
async fn a_login_without_a_token_is_renewed_first_and_sends_nothing_before() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("user/.claude");
    std::fs::create_dir_all(&folder).unwrap();
    let claude = json!({"claudeAiOauth": {"refreshToken": "sk-ant-ort01-REFRESH-0001"}});
    let file = std::fs::File::create(folder.join(".credentials.json")).unwrap();
    serde_json::to_writer(file, &claude).unwrap();
    let settings = settings(home.path(), &json!({}), &[]);
    let bare = Login { refresh: Some(RefreshToken::new("rt-secret-0001")), ..Login::default() };
    for provider in ["openai-codex", "nous", "minimax-oauth"] {
        update(home.path(), |file| file.set_login(provider, &bare)).await.unwrap();
    }
    let view = Vault::of(&settings).view(&settings);
    for provider in ["openai-codex", "nous", "minimax-oauth", "anthropic"] {
        let runtime = resolve(&Request::of(provider), &settings, &view).outcome.unwrap();
        assert!(runtime.awaits_renewal(), "{provider}");
        assert_eq!(runtime.credential, None, "{provider}: a refresh token is no credential");
    }
    // Another process has renewed one of them: its token is taken, and only that.
    let fresh = Login { access: Some(jwt("mine")), ..bare };
    update(home.path(), |file| file.set_login("openai-codex", &fresh)).await.unwrap();
    let runtime = ask(&routes(), "openai-codex", &settings).await;
    assert_eq!(account(&runtime), "mine");
}

#[tokio::test]
async fn a_login_in_a_pool_is_renewed_where_it_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("profiles/work");
    std::fs::create_dir_all(&home).unwrap();
    let settings = settings(&home, &json!({}), &[]);
    let put = async |name: &str| {
        let login = entry("aaaaaa", jwt(name), Some("rt-000000"));
        update(root.path(), |file| file.set_entry("openai-codex", &login)).await.unwrap();
    };
    put("old").await;
    let routes = routes();
    let runtime = ask(&routes, "openai-codex", &settings).await;
    assert!(routes.can_refresh(&runtime));
    put("new").await;
    let renewed = routes.refresh(&runtime, &settings).await.unwrap();
    assert_eq!(account(&renewed), "new");
    assert!(!home.join("auth.json").exists(), "the profile got no copy");
}

#[tokio::test]
async fn a_z_ai_key_finds_its_endpoint_once_and_the_resolver_reads_it() {
    let servers = [
        TokenServer::start().await,
        TokenServer::start().await,
        TokenServer::start().await,
        TokenServer::start().await,
    ];
    servers[2].say(200, r#"{"choices":[]}"#);
    let places = servers.each_ref().map(|server| server.url.clone());
    let row = json!({"id": "zai", "base_url": places[0], "key_hosts": ["<loopback>"]});
    let home = tempfile::tempdir().unwrap();
    let config = json!({"provider_rows": [row]});
    let settings = settings(home.path(), &config, &[("GLM_API_KEY", "glm-0123456789")]);
    let routes = routes().with_zai_endpoints(places.clone());
    assert_eq!(ask(&routes, "zai", &settings).await.base_url.as_str(), places[2]);
    let view = Vault::of(&settings).view(&settings);
    let pure = resolve(&Request::of("zai"), &settings, &view).outcome.unwrap();
    assert_eq!(pure.base_url.as_str(), places[2]);
    assert_eq!(ask(&routes, "zai", &settings).await.base_url.as_str(), places[2]);
    let asked: usize =
        servers.iter().map(|server| server.ledger.lock().unwrap().bodies.len()).sum();
    assert_eq!(asked, 4, "each endpoint was asked once");
}

#[test]
fn a_provider_of_the_user_s_own_file_resolves_like_a_built_in_one() {
    let home = tempfile::tempdir().unwrap();
    let rows = "providers:\n  - id: acme\n    aliases: [ac]\n    base_url: https://api.acme.test/v1\n    \
                key_env: [ACME_KEY]\n    key_hosts: [api.acme.test]\n    default_model: acme-1\n";
    petasos_fs::write(
        &home.path().join("providers.yaml"),
        rows.as_bytes(),
        petasos_fs::Mode::Exactly(0o600),
    )
    .unwrap();
    let environment =
        [("PETASOS_HOME", home.path().to_str().unwrap()), ("ACME_KEY", "ak-0123456789")];
    let environment: BTreeMap<String, String> =
        environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let inputs = Inputs { environment, cwd: home.path().into(), ..Inputs::default() };
    let settings = petasos_config::load(&inputs).unwrap();
    let view = Vault::of(&settings).view(&settings);
    assert!(view.problems.is_empty(), "{:?}", view.problems);
    let runtime = resolve(&Request::of("ac"), &settings, &view).outcome.unwrap();
    assert_eq!((runtime.provider.as_str(), runtime.model.as_deref()), ("acme", Some("acme-1")));
    assert_eq!(runtime.source.to_string(), "env:ACME_KEY");
}

#[test]
fn an_entry_brings_its_query_and_headers_and_keeps_them_at_home() {
    let home = tempfile::tempdir().unwrap();
    let entry = json!({"name": "box", "base_url": "https://box.test/v1",
        "query_params": {"api-version": "2024-10-21"}, "extra_headers": {"x-team": "blue"},
        "env_headers": {"x-gateway-token": "BOX_TOKEN", "x-absent": "NOT_SET"}});
    let settings =
        settings(home.path(), &json!({"custom_providers": [entry]}), &[("BOX_TOKEN", "gw-0001")]);
    let view = Vault::of(&settings).view(&settings);
    let of = |request: &Request| resolve(request, &settings, &view).outcome.unwrap();
    let own = of(&Request::of("custom:box"));
    let path = own.base_url.at("/models").unwrap().to_string();
    assert_eq!(path, "https://box.test/v1/models?api-version=2024-10-21");
    let headers = |runtime: &ProviderRuntime| runtime.headers.clone();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(headers(&own), [pair("x-team", "blue"), pair("x-gateway-token", "gw-0001")]);
    let away = Request {
        base_url: Some("https://elsewhere.test/v1".to_owned()),
        ..Request::of("custom:box")
    };
    assert_eq!(headers(&of(&away)), [], "they are for the entry's own host");
}

#[test]
fn an_entry_s_own_dialect_is_honoured_and_a_left_over_is_not() {
    let home = tempfile::tempdir().unwrap();
    let entry =
        json!({"name": "box", "base_url": "https://box.test/v1", "api_mode": "codex_responses"});
    let of = |config: &Value, request: &Request| {
        let settings = settings(home.path(), config, &[]);
        let view = Vault::of(&settings).view(&settings);
        resolve(request, &settings, &view).outcome.unwrap().api_mode
    };
    let named = json!({"custom_providers": [entry]});
    assert_eq!(of(&named, &Request::of("custom:box")), ApiMode::CodexResponses);
    let left = json!({"model": {"provider": "custom", "base_url": "https://box.test/v1",
        "api_mode": "codex_responses"}});
    assert_eq!(of(&left, &Request::default()), ApiMode::ChatCompletions);
    let aws =
        json!({"model": {"provider": "bedrock", "default": "us.anthropic.claude-sonnet-4-5"}});
    let keys = [("AWS_ACCESS_KEY_ID", "AKIA0123"), ("AWS_SECRET_ACCESS_KEY", "aws-secret")];
    let mode = |config: &Value| {
        let settings = settings(home.path(), config, &keys);
        let view = Vault::of(&settings).view(&settings);
        resolve(&Request::default(), &settings, &view).outcome.unwrap().api_mode
    };
    assert_eq!(mode(&aws), ApiMode::AnthropicMessages);
    let mut guarded = aws.clone();
    guarded["bedrock"] = json!({"guardrail": {"guardrailIdentifier": "g"}});
    assert_eq!(mode(&guarded), ApiMode::BedrockConverse);
}

#[tokio::test]
async fn a_gitlab_token_is_exchanged_and_stays_at_gitlab() {
    let server = TokenServer::start().await;
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &json!({}), &[("GITLAB_TOKEN", "glpat-personal-0001")]);
    let made = |token: &str| json!({"token": token, "headers": {"x-gitlab-realm": "saas", "x-api-key": "theirs"}});
    let scope = petasos_net::Scope::new([petasos_net::Allowed::Loopback]);
    let gitlab = || routes().with_gitlab(&format!("{}/direct_access", server.url), scope.clone());
    let routes = gitlab();
    server.say(201, &made("gateway-1").to_string());
    let runtime = ask(&routes, "gitlab", &settings).await;
    let secret =
        |runtime: &ProviderRuntime| runtime.credential.as_ref().unwrap().secret.expose().to_owned();
    assert_eq!(secret(&runtime), "gateway-1");
    assert_eq!(runtime.base_url.as_str(), "https://cloud.gitlab.com/ai/v1/proxy/anthropic");
    let named = |name: &str| runtime.headers.iter().any(|(known, _)| known == name);
    assert!(named("x-gitlab-realm") && !named("x-api-key"), "{:?}", runtime.headers);
    assert_eq!(secret(&ask(&routes, "gitlab", &settings).await), "gateway-1", "it is kept");
    assert_eq!(server.ledger.lock().unwrap().heads.len(), 1);
    server.say(201, &made("gateway-2").to_string());
    let renewed = routes.refresh(&runtime, &settings).await.unwrap();
    assert_eq!(secret(&renewed), "gateway-2");
    // Without an exchange nothing is asked: the personal token is not the gateway's.
    server.say(403, "{}");
    let cx = CallContext::new(settings.clone(), Surface::Cli, "s".into());
    let wanted = Wanted { provider: Some("gitlab".to_owned()), ..Wanted::default() };
    let refused = gitlab().resolve(&wanted, Role::Main, &cx).await.unwrap_err();
    assert_eq!(refused.code, "gitlab_exchange_failed");
    assert!(refused.message.contains("scope `api`"), "{}", refused.message);
}
