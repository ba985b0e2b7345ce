//! What holds for any configuration, any variables and any request.

use petasos_net::Url;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;
use crate::table::Table;

const URLS: &[&str] = &[
    "https://api.deepseek.com/v1",
    "https://openrouter.ai/api/v1",
    "https://api.anthropic.com",
    "https://box.test/v1",
    "https://openrouter.ai.evil.test/v1",
    "https://evil.test/api.deepseek.com/v1",
    "http://api.deepseek.com/v1",
    "https://api.deepseek.com@evil.test/v1",
    "https://evil.test\\@api.deepseek.com/",
    "http://127.0.0.1:8080/v1",
    "https://api.deepseek.com.:443/v1",
    "https://API.DEEPSEEK.COM/v1",
    "https://[::1]:9/v1",
    "http://10.0.0.7/v1",
    "https://me.azure.com/anthropic",
    "https://xn--openrouter-.ai/v1",
    "https://api.openai.com/v1",
    "",
    "nonsense",
];

const NAMES: &[&str] = &[
    "auto",
    "custom",
    "deepseek",
    "openrouter",
    "anthropic",
    "openai",
    "kimi",
    "box",
    "custom:box",
    "nvidia",
    "lmstudio",
    "azure",
    "bedrock",
    "copilot",
    "gemini",
    "xai-oauth",
    "nonsense",
];

/// Each variable holds a value that names its owner, so that a stray one is recognised.
fn variables() -> Vec<(String, String)> {
    let table = Table::built_in();
    let keys = table.providers().iter().flat_map(|provider| {
        provider
            .key_env
            .iter()
            .map(|name| (name.clone(), format!("key:{name}")))
            .collect::<Vec<_>>()
    });
    let more = [
        "GROQ_API_KEY",
        "BOX_KEY",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AZURE_ANTHROPIC_KEY",
        "CO_API_KEY",
    ];
    keys.chain(more.iter().map(|name| ((*name).to_owned(), format!("key:{name}")))).collect()
}

#[derive(Debug, Clone)]
struct World {
    config: Value,
    variables: Vec<(String, String)>,
    request: Request,
}

fn world() -> impl Strategy<Value = World> {
    let url = || select(URLS.to_vec()).prop_map(str::to_owned);
    let name = || select(NAMES.to_vec()).prop_map(str::to_owned);
    let all = variables();
    let count = all.len();
    let chosen = prop::sample::subsequence(all, 0..count.min(12));
    let endpoint = (
        select(vec![
            "DEEPSEEK_BASE_URL",
            "OPENROUTER_BASE_URL",
            "OPENAI_BASE_URL",
            "CUSTOM_BASE_URL",
            "ANTHROPIC_BASE_URL",
            "BEDROCK_BASE_URL",
            "AZURE_FOUNDRY_BASE_URL",
            "NVIDIA_BASE_URL",
        ]),
        url(),
    );
    let saved = (prop::option::of(name()), prop::option::of(url()), any::<[bool; 4]>());
    let asked = (prop::option::of(name()), prop::option::of(url()), any::<bool>());
    (chosen, prop::option::of(endpoint), saved, asked, url()).prop_map(
        |(chosen, endpoint, saved, asked, box_url)| {
            let (provider, base_url, [key, allow, strict, entry]) = saved;
            let mut config = json!({"model": {"provider": provider, "base_url": base_url},
            "security": {"strict_key_scope": strict}});
            if key {
                config["model"]["api_key"] = json!("key:saved");
            }
            if allow {
                config["model"]["allow_key_to_host"] = json!("box.test");
            }
            if entry {
                config["custom_providers"] =
                    json!([{"name": "box", "base_url": box_url, "key_env": "BOX_KEY"}]);
            }
            let mut variables = chosen;
            variables.extend(endpoint.map(|(name, url)| (name.to_owned(), url)));
            let (provider, base_url, key) = asked;
            let api_key = key.then(|| Secret::new("key:explicit"));
            World {
                config,
                variables,
                request: Request { provider, base_url, api_key, ..Request::default() },
            }
        },
    )
}

/// Whether a variable's key may go to a URL at all, read from the table alone.
fn at_home(name: &str, url: &Url) -> bool {
    let table = Table::built_in();
    let owners =
        table.providers().iter().filter(|provider| provider.key_env.iter().any(|key| key == name));
    let rows = owners.into_iter().any(|provider| provider.owns(url));
    let host = url.domain().unwrap_or_default();
    let https = url.scheme() == "https";
    rows || https
        && match name {
            "AZURE_ANTHROPIC_KEY" | "ANTHROPIC_API_KEY" | "AZURE_FOUNDRY_API_KEY" => {
                host.ends_with(".azure.com")
            }
            "AWS_BEARER_TOKEN_BEDROCK" => host.ends_with(".amazonaws.com"),
            _ => false,
        }
}

fn judge(world: &World) -> Result<bool, TestCaseError> {
    let borrowed: Vec<(&str, &str)> =
        world.variables.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let resolved = run(&world.request, &world.config, &borrowed);
    let printed = format!("{:?} {}", resolved, resolved.to_json());
    for (_, value) in world.variables.iter().filter(|(_, value)| value.starts_with("key:")) {
        prop_assert!(!printed.contains(value.as_str()), "{value} is printed");
    }
    let Ok(runtime) = &resolved.outcome else { return Ok(false) };
    if runtime.aws.as_ref().is_some_and(|aws| aws.keys.is_some()) {
        let url = runtime.base_url.url();
        let text = Some(runtime.base_url.as_str());
        let written = |value: Option<&str>| value.map(|text| text.trim_end_matches('/')) == text;
        let here = runtime.base_url.origin().unwrap().is_loopback()
            && (written(world.request.base_url.as_deref())
                || written(world.config["model"]["base_url"].as_str()));
        let granted = world.config["model"]["allow_key_to_host"] == json!("box.test")
            && url.host_str() == Some("box.test");
        let amazon = url.scheme() == "https"
            && url.domain().is_some_and(|host| host.ends_with(".amazonaws.com"));
        prop_assert!(amazon || here || granted, "requests to {url} are signed");
    }
    let Some(credential) = &runtime.credential else { return Ok(false) };
    let url = runtime.base_url.url();
    prop_assert!(credential.attach(url).is_ok(), "{} at {url}", credential.scope);
    let secret = credential.secret.expose();
    let Some(name) = secret.strip_prefix("key:") else { return Ok(true) };
    let strict = world.config["security"]["strict_key_scope"] == json!(true);
    let granted = match name {
        // Given or written down together with the endpoint.
        "explicit" | "saved" | "BOX_KEY" => true,
        "OPENAI_API_KEY" if !strict => {
            let owned =
                Table::built_in().owner_of(url).is_some_and(|owner| owner.id != "openai-api");
            !owned && (url.scheme() == "https" || runtime.base_url.origin().unwrap().is_loopback())
        }
        // The user named this host for the saved provider.
        _ => {
            url.host_str() == Some("box.test")
                && world.config["model"]["allow_key_to_host"] == json!("box.test")
        }
    };
    // An endpoint saved for Azure's own provider is its resource, wherever it is.
    let resource = name == "AZURE_FOUNDRY_API_KEY" && runtime.provider == "azure-foundry";
    prop_assert!(granted || resource || at_home(name, url), "{name} went to {url}");
    Ok(true)
}

#[test]
fn no_key_is_chosen_for_an_endpoint_outside_its_scope() {
    let config =
        ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() };
    let with_key = std::cell::Cell::new(0_u32);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&world(), |world| {
        with_key.set(with_key.get() + u32::from(judge(&world)?));
        Ok(())
    });
    outcome.unwrap();
    assert!(with_key.get() > 1_000, "the generator must also make worlds in which a key is sent");
}

#[test]
fn a_complete_saved_choice_is_not_moved_by_any_variable() {
    let config = json!({"model": {"provider": "deepseek", "base_url": "https://api.deepseek.com/v1",
        "api_key": "own-0123456789"}});
    let before = got(&run(&Request::default(), &config, &[]));
    let endpoints =
        ["DEEPSEEK_BASE_URL", "OPENAI_BASE_URL", "CUSTOM_BASE_URL", "OPENROUTER_BASE_URL"];
    let names = endpoints.map(|name| (name.to_owned(), "https://stale.test/v1".to_owned()));
    let selection = ("HERMES_INFERENCE_PROVIDER".to_owned(), "openrouter".to_owned());
    for (name, value) in variables().into_iter().chain(names).chain([selection]) {
        let after = run(&Request::default(), &config, &[(name.as_str(), value.as_str())]);
        assert_eq!(got(&after), before, "{name}");
    }
}
