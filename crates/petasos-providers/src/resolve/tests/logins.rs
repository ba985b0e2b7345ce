//! Logins, pools, clouds and local servers.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::*;
use crate::credential::aws::AwsProfiles;
use crate::credential::borrowed::{ClaudeCode, CliLogin};
use crate::credential::login::Login;
use crate::credential::store::AuthFile;
use crate::local::LocalServer;
use crate::runtime::EndpointKind;

const FRESH_S: u64 = NOW_MS / 1000 + 86_400;

fn vault(store: Value) -> VaultView {
    VaultView { store: AuthFile::from_value(store), ..VaultView::empty(NOW_MS) }
}

fn check(
    request: &Request,
    config: &Value,
    variables: &[(&str, &str)],
    vault: &VaultView,
) -> (String, String) {
    let resolved = resolve(request, &settings(config, variables), vault);
    match got(&resolved) {
        Ok(got) => (got.key.unwrap_or_default(), got.source),
        Err(code) => (String::new(), code.to_owned()),
    }
}

fn pair(key: &str, source: &str) -> (String, String) {
    (key.to_owned(), source.to_owned())
}

fn token(claims: &Value) -> String {
    format!("eyJh.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

#[test]
fn a_login_is_found_and_its_absence_has_a_code() {
    let request = |name| Request::of(name);
    let empty = vault(json!({}));
    for (name, code) in [
        ("openai-codex", "codex_auth_missing"),
        ("qwen-oauth", "qwen_auth_missing"),
        ("nous", "nous_auth_missing"),
        ("xai-oauth", "xai_auth_missing"),
    ] {
        let resolved = resolve(&request(name), &settings(&json!({}), &[]), &empty);
        let error = resolved.outcome.unwrap_err();
        assert_eq!((error.code, error.relogin_required), (code, true));
    }
    let account =
        json!({"exp": FRESH_S, "https://api.openai.com/auth": {"chatgpt_account_id": "acc-1"}});
    let codex = token(&account);
    let held = vault(json!({"providers": {"openai-codex": {"tokens": {"access_token": codex}}}}));
    let resolved = resolve(&request("codex"), &settings(&json!({}), &[]), &held);
    let runtime = resolved.outcome.unwrap();
    assert_eq!(runtime.source.to_string(), "hermes-auth-store");
    assert_eq!(runtime.expiry.unwrap().at_ms, Some(FRESH_S * 1000));
    assert!(runtime.headers.contains(&("ChatGPT-Account-ID".to_owned(), "acc-1".to_owned())));
}

#[test]
fn a_dead_login_asks_for_a_person_and_an_automatic_choice_looks_further() {
    let dead = json!({"active_provider": "nous",
        "providers": {"nous": {"access_token": "at-0001", "last_auth_error": "invalid_grant"}}});
    let dead = vault(dead);
    assert_eq!(check(&Request::of("nous"), &json!({}), &[], &dead).1, "nous_auth_missing");
    assert_eq!(check(&Request::default(), &json!({}), &[], &dead).1, "no_provider_configured");
    let alive = vault(json!({"active_provider": "nous",
        "providers": {"nous": {"access_token": "at-0001", "expires_at": FRESH_S}}}));
    assert_eq!(
        check(&Request::default(), &json!({}), &[], &alive),
        pair("at-0001", "hermes-auth-store")
    );
    let key = ("DEEPSEEK_API_KEY", "ds-0123456789");
    let first =
        resolve(&Request::default(), &settings(&json!({}), &[key]), &alive).outcome.unwrap();
    assert_eq!(first.provider, "deepseek");
    assert!(
        first.notices.iter().any(|notice| notice.text.contains("nous")),
        "it says what it came before"
    );
}

#[test]
fn the_file_of_another_program_is_borrowed_while_it_is_fresh() {
    let login = |seconds: u64| CliLogin {
        login: Login::from_value(
            &json!({"access_token": "at-cli", "refresh_token": "rt-cli", "expires_at": seconds}),
        )
        .unwrap(),
        resource: None,
    };
    let fresh = VaultView { codex_cli: Some(login(FRESH_S)), ..VaultView::empty(NOW_MS) };
    assert_eq!(check(&Request::of("codex"), &json!({}), &[], &fresh), pair("at-cli", "codex-cli"));
    let stale = VaultView { codex_cli: Some(login(1)), ..VaultView::empty(NOW_MS) };
    assert_eq!(check(&Request::of("codex"), &json!({}), &[], &stale).1, "codex_auth_missing");
    let qwen = VaultView { qwen_cli: Some(login(1)), ..VaultView::empty(NOW_MS) };
    let resolved = resolve(&Request::of("qwen"), &settings(&json!({}), &[]), &qwen);
    assert!(
        resolved.outcome.unwrap().expiry.unwrap().is_due(NOW_MS),
        "it renews itself before use"
    );
}

#[test]
fn claude_code_serves_only_a_user_who_chose_anthropic() {
    let file = |refresh: Option<&str>| {
        let own = json!({"claudeAiOauth": {"accessToken": "sk-ant-oat-file", "refreshToken": refresh,
            "expiresAt": FRESH_S * 1000}});
        VaultView { claude_code: ClaudeCode::from_value(&own), ..VaultView::empty(NOW_MS) }
    };
    let full = file(Some("sk-ant-ort-1"));
    let chosen = json!({"model": {"provider": "anthropic"}});
    let env = ("ANTHROPIC_TOKEN", "sk-ant-oat-env");
    let api_key = ("ANTHROPIC_API_KEY", "ak-0123456789");
    let plain = ("ANTHROPIC_TOKEN", "plain-0123456789");
    let never = json!({"model": {"provider": "anthropic"}, "anthropic": {"claude_code_credentials": "never"}});
    let any = Request::default();
    assert_eq!(check(&any, &chosen, &[], &full), pair("sk-ant-oat-file", "claude_code"));
    assert_eq!(check(&any, &chosen, &[env], &full), pair("sk-ant-oat-file", "claude_code"));
    assert_eq!(
        check(&any, &chosen, &[env], &file(None)),
        pair("sk-ant-oat-env", "env:ANTHROPIC_TOKEN")
    );
    assert_eq!(
        check(&any, &chosen, &[plain], &full),
        pair("plain-0123456789", "env:ANTHROPIC_TOKEN")
    );
    assert_eq!(
        check(&any, &chosen, &[api_key], &full),
        pair("ak-0123456789", "env:ANTHROPIC_API_KEY")
    );
    assert_eq!(check(&any, &never, &[], &full).1, "missing_api_key");
    let ambient = ("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat-cc");
    assert_eq!(
        check(&any, &json!({}), &[ambient], &full),
        pair("sk-ant-oat-cc", "env:CLAUDE_CODE_OAUTH_TOKEN")
    );
    assert_eq!(check(&any, &json!({}), &[], &full).1, "no_provider_configured");
}

#[test]
fn a_pool_comes_after_the_configuration_and_before_variables() {
    let pool = vault(json!({"credential_pool": {"deepseek": [
        {"id": "b", "priority": 2, "access_token": "pool-b", "source": "manual"},
        {"id": "a", "priority": 1, "access_token": "pool-a", "source": "manual", "last_status": "exhausted",
         "last_error_reset_at": FRESH_S},
        {"id": "c", "priority": 0, "access_token": "changeme", "source": "manual"}]}}));
    let key = ("DEEPSEEK_API_KEY", "ds-0123456789");
    let asked = Request::of("deepseek");
    assert_eq!(check(&asked, &json!({}), &[key], &pool), pair("pool-b", "credential_pool:manual"));
    let saved = json!({"model": {"provider": "deepseek", "api_key": "own-0123456789"}});
    assert_eq!(check(&asked, &saved, &[key], &pool), pair("own-0123456789", "config"));
    let runtime = resolve(&asked, &settings(&json!({}), &[]), &pool).outcome.unwrap();
    assert_eq!(runtime.pool.unwrap().entry, "b");
}

#[test]
fn copilot_takes_an_exchanged_token_only_for_the_token_it_was_made_from() {
    let github = ("GH_TOKEN", "gho_0123456789");
    let stamp = crate::credential::usable::fingerprint(&Secret::new(github.1));
    let held = |stamp: &str| {
        vault(json!({"providers": {"copilot": {"access_token": "tid=1;exp=2",
        "expires_at": FRESH_S, "exchanged_from": stamp}}}))
    };
    let ask = Request::of("copilot");
    assert_eq!(check(&ask, &json!({}), &[github], &held(&stamp)).0, "tid=1;exp=2");
    assert_eq!(check(&ask, &json!({}), &[github], &held("sha256:other")).0, github.1);
    let classic = ("GITHUB_TOKEN", "ghp_0123456789");
    assert_eq!(
        check(&ask, &json!({}), &[classic], &vault(json!({}))).1,
        "copilot_token_unsupported"
    );
    assert_eq!(
        check(&Request::default(), &json!({}), &[github], &vault(json!({}))).1,
        "no_provider_configured"
    );
}

#[test]
fn clouds_and_processes_give_what_their_transports_need() {
    let keys = [
        ("AWS_ACCESS_KEY_ID", "AKIA0123"),
        ("AWS_SECRET_ACCESS_KEY", "aws-secret"),
        ("AWS_REGION", "eu-west-1"),
    ];
    let runtime = run(&Request::default(), &json!({}), &keys).outcome.unwrap();
    assert_eq!(runtime.base_url.as_str(), "https://bedrock-runtime.eu-west-1.amazonaws.com");
    assert!(runtime.credential.is_none() && runtime.aws.unwrap().keys.is_some());
    let bearer =
        [("AWS_BEARER_TOKEN_BEDROCK", "bt-0123456789"), ("BEDROCK_BASE_URL", "https://evil.test")];
    let away = got(&run(&Request::of("bedrock"), &json!({}), &bearer));
    assert_eq!(away, Err("missing_api_key"), "the token stays at Amazon's hosts");
    for (place, expected) in [
        ("https://evil.test", Err("key_not_allowed_for_host")),
        ("http://bedrock-runtime.eu-west-1.amazonaws.com", Err("key_not_allowed_for_host")),
        ("http://127.0.0.1:9", Err("key_not_allowed_for_host")),
        ("https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com", Ok(())),
    ] {
        let moved = [keys[0], keys[1], ("BEDROCK_BASE_URL", place)];
        let signed = run(&Request::of("bedrock"), &json!({}), &moved).outcome;
        assert_eq!(signed.map(drop).map_err(|error| error.code), expected, "{place}");
    }
    let aws = AwsProfiles::from_texts("[work]\naws_access_key_id=A\naws_secret_access_key=s", "");
    let profiles = VaultView { aws, ..VaultView::empty(NOW_MS) };
    let named = check(&Request::default(), &json!({}), &[("AWS_PROFILE", "work")], &profiles);
    assert_eq!(named.1, "aws:profile work");
    let empty = check(&Request::default(), &json!({}), &[("AWS_PROFILE", "sso")], &profiles);
    assert_eq!(empty.1, "no_provider_configured");

    let acp = run(&Request::of("copilot-acp"), &json!({}), &[]).outcome.unwrap();
    assert_eq!((acp.base_url.as_str(), acp.launch.unwrap().args.len()), ("acp://copilot", 2));
    let moa = run(&Request::of("moa"), &json!({}), &[]).outcome.unwrap();
    assert_eq!(
        (moa.base_url.as_str(), moa.source.to_string().as_str()),
        ("moa://local", "moa-virtual-provider")
    );

    let azure = json!({"model": {"provider": "azure", "base_url": "https://me.openai.azure.com/openai/v1"}});
    let key = ("AZURE_FOUNDRY_API_KEY", "az-0123456789");
    assert_eq!(run(&Request::default(), &azure, &[key]).outcome.unwrap().provider, "azure-foundry");
    let elsewhere = [key, ("AZURE_FOUNDRY_BASE_URL", "https://evil.test")];
    assert_eq!(
        got(&run(&Request::of("azure"), &json!({}), &elsewhere)),
        Err("key_not_allowed_for_host")
    );
}

#[test]
fn a_server_on_this_machine_is_the_last_resort_and_says_so() {
    let server = LocalServer {
        name: "ollama".to_owned(),
        base_url: "http://127.0.0.1:11434/v1".to_owned(),
        models: vec!["small".to_owned()],
    };
    let here = VaultView { local: vec![server], ..VaultView::empty(NOW_MS) };
    let runtime = resolve(&Request::default(), &settings(&json!({}), &[]), &here).outcome.unwrap();
    assert_eq!(
        (runtime.endpoint_kind, runtime.model.as_deref()),
        (EndpointKind::Local, Some("small"))
    );
    assert_eq!(runtime.notices.len(), 1);
    let key = ("DEEPSEEK_API_KEY", "ds-0123456789");
    assert_eq!(check(&Request::default(), &json!({}), &[key], &here).0, key.1);
}

#[test]
fn hosts_of_an_account_get_their_path_and_only_their_own_key() {
    for (provider, host, path, key) in [
        (
            "databricks",
            "https://dbc-1.cloud.databricks.com",
            "/serving-endpoints",
            "DATABRICKS_TOKEN",
        ),
        (
            "snowflake",
            "https://acme-eu.snowflakecomputing.com",
            "/api/v2/cortex/v1",
            "SNOWFLAKE_TOKEN",
        ),
    ] {
        let variable = format!("{}_HOST", provider.to_uppercase());
        let variables = [(variable.as_str(), host), (key, "tok-0123456789")];
        let got = got(&run(&Request::of(provider), &json!({}), &variables)).unwrap();
        assert_eq!(
            (got.base_url, got.key),
            (format!("{host}{path}"), Some("tok-0123456789".into()))
        );
        let foreign = [(variable.as_str(), "https://evil.test"), (key, "tok-0123456789")];
        let refused = run(&Request::of(provider), &json!({}), &foreign).outcome.unwrap_err();
        assert_eq!(refused.code, "key_not_allowed_for_host");
        let nowhere = run(&Request::of(provider), &json!({}), &[(key, "tok-0123456789")]);
        let hint = nowhere.outcome.unwrap_err().hint.unwrap_or_default();
        assert!(hint.contains(&variable), "{hint}");
    }
}

#[test]
fn vertex_is_named_in_the_file_and_serves_claude_in_its_own_dialect() {
    let config = json!({"vertex": {"project": "p1", "region": "europe-west4"}});
    let mut held = vault(json!({}));
    let login = Login { access: Some(Secret::new("tok-0123456789")), ..Login::default() };
    held.store.set_login("vertex", &login);
    for (model, end, mode) in [
        ("google/gemini-3-flash-preview", "/endpoints/openapi", "chat_completions"),
        ("claude-sonnet-4-5@20250929", "/publishers/anthropic/models", "anthropic_messages"),
    ] {
        let request = Request { model: Some(model.to_owned()), ..Request::of("vertex") };
        let resolved = resolve(&request, &settings(&config, &[]), &held);
        let got = got(&resolved).unwrap();
        let place =
            "https://europe-west4-aiplatform.googleapis.com/v1/projects/p1/locations/europe-west4";
        assert_eq!((got.base_url, got.mode), (format!("{place}{end}"), mode));
        assert_eq!(got.key.as_deref(), Some("tok-0123456789"));
    }
}

#[test]
fn a_key_of_a_pool_goes_to_the_endpoint_that_was_kept_with_it() {
    let entry = |url: &str, kind: &str| {
        json!({"id": "abc123", "auth_type": kind, "source": "manual", "access_token": "tok-0123456789",
               "base_url": url})
    };
    let at = |provider: &str, entry: Value| {
        let held = vault(json!({"credential_pool": {provider: [entry]}}));
        got(&resolve(&Request::of(provider), &settings(&json!({}), &[]), &held)).unwrap().base_url
    };
    let other = "https://gateway.acme.test/v1";
    assert_eq!(at("openrouter", entry(other, "api_key")), other);
    // Nothing unencrypted, and nothing that only a server of logins named.
    assert_ne!(
        at("openrouter", entry("http://gateway.acme.test/v1", "api_key")),
        "http://gateway.acme.test/v1"
    );
    assert_ne!(at("nous", entry(other, "oauth")), other);
}

#[test]
fn a_key_that_has_to_be_printed_is_asked_for_and_nothing_is_taken_instead() {
    let config =
        json!({"providers": {"box": {"base_url": "https://box.test/v1", "api_key": "op://a/b/c"}}});
    let request = Request::of("custom:box");
    let resolved = run(&request, &config, &[]);
    let [wanted] = &resolved.wants[..] else { panic!("{:?}", resolved.wants) };
    assert_eq!(wanted.name(), "op read --no-newline op://a/b/c");
    let mut held = vault(json!({}));
    let printed = crate::credential::command::PrintedSecret {
        secret: Secret::new("tok-printed-0123"),
        expires_at_ms: u64::MAX,
    };
    held.printed.insert(wanted.clone(), printed);
    let resolved = resolve(&request, &settings(&config, &[]), &held);
    assert!(resolved.wants.is_empty());
    assert_eq!(got(&resolved).unwrap().key.as_deref(), Some("tok-printed-0123"));
}
