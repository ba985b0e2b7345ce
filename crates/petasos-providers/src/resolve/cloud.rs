//! Providers that are not reached with a plain key at a fixed address: Azure, Vertex, Bedrock, the
//! Copilot process and the mixture of agents.

use petasos_contract::Secret;
use petasos_net::origin::is_below;
use petasos_net::{Allowed, Scope};
use serde_json::Value;

use super::assemble::Parts;
use super::endpoint::not_allowed;
use super::keys::{Claim, Key, missing_key};
use super::scene::Scene;
use super::{Outcome, ResolveError, Verdict};
use crate::credential::minted;
use crate::runtime::{Aws, AwsKeys, BaseUrl, EndpointKind, Launch, Source};
use crate::table::Provider;

fn picked<'a>(scene: &Scene<'a>, id: &str) -> Option<&'a Provider> {
    scene.provider.filter(|provider| provider.id == id)
}

/// The mixture of agents has no endpoint: its members have.
pub(crate) fn mixture(scene: &mut Scene<'_>) -> Option<Outcome> {
    if scene.requested != "moa" {
        return None;
    }
    let provider = scene.table.get("moa")?;
    Some(virtual_runtime(scene, provider, Source::Virtual))
}

/// The Codex program speaks for itself where the user chose it over the API.
pub(crate) fn codex_process(scene: &mut Scene<'_>) -> Option<Outcome> {
    let provider = picked(scene, "openai-codex").or_else(|| picked(scene, "openai-api"))?;
    let runtime = scene.saved.get("openai_runtime").and_then(Value::as_str);
    let explicit = scene.request.api_key.is_some() || scene.request.base_url.is_some();
    if runtime != Some("codex_app_server") || explicit {
        return None;
    }
    let launch = Launch { command: "codex".to_owned(), args: vec!["app-server".to_owned()] };
    let outcome = virtual_runtime(scene, provider, Source::Process);
    Some(outcome.map(|mut runtime| {
        runtime.launch = Some(launch);
        runtime
    }))
}

/// The Copilot program speaks for itself.
pub(crate) fn copilot_process(scene: &mut Scene<'_>) -> Option<Outcome> {
    let provider = picked(scene, "copilot-acp")?;
    let command = ["HERMES_COPILOT_ACP_COMMAND", "COPILOT_CLI_PATH"];
    let command = command.iter().find_map(|name| scene.setting_variable(name)).unwrap_or("copilot");
    let args = scene.setting_variable("HERMES_COPILOT_ACP_ARGS").unwrap_or("--acp --stdio");
    let args = args.split_whitespace().map(str::to_owned).collect();
    let launch = Launch { command: command.to_owned(), args };
    let outcome = virtual_runtime(scene, provider, Source::Process);
    Some(outcome.map(|mut runtime| {
        runtime.launch = Some(launch);
        runtime
    }))
}

fn virtual_runtime(scene: &mut Scene<'_>, provider: &Provider, source: Source) -> Outcome {
    let text = provider.base_url.as_deref().unwrap_or_default();
    let url = BaseUrl::parse(text).map_err(|problem| {
        ResolveError::new("invalid_base_url", &provider.id, problem.to_string())
    })?;
    let mut parts = Parts::new(&provider.id, url, EndpointKind::Registry);
    parts.provider = Some(provider);
    let mut runtime = scene.assemble(parts);
    runtime.source = source;
    Ok(runtime)
}

/// Azure Foundry: the endpoint is the user's resource and its key goes to exactly that.
pub(crate) fn azure_foundry(scene: &mut Scene<'_>) -> Option<Outcome> {
    let provider = picked(scene, "azure-foundry")?;
    Some(at_azure(scene, provider))
}

fn at_azure(scene: &mut Scene<'_>, provider: &Provider) -> Outcome {
    let saved = scene.saved.base_url.filter(|_| scene.is_saved_for(&provider.id));
    let (url, place) = if let Some(url) = scene.explicit_url()? {
        (url, "the request")
    } else if let Some(text) = saved {
        (scene.parse_url(text, "`model.base_url`")?, "`model.base_url`")
    } else if let Some(text) = scene.variable("AZURE_FOUNDRY_BASE_URL") {
        let url = scene.parse_url(text, "the variable `AZURE_FOUNDRY_BASE_URL`")?;
        let at_home = |suffix| url.url().domain().is_some_and(|host| is_below(host, suffix));
        if !["azure.com", "azure.us", "azure.cn"].into_iter().any(at_home) {
            return Err(not_allowed(provider, &url, "the variable `AZURE_FOUNDRY_BASE_URL`"));
        }
        (url, "the variable `AZURE_FOUNDRY_BASE_URL`")
    } else {
        let message = "`azure-foundry` needs the address of your resource".to_owned();
        let error = ResolveError::new("missing_base_url", &provider.id, message);
        return Err(error.hint("set `model.base_url` or `AZURE_FOUNDRY_BASE_URL`"));
    };
    scene.trace(format!("endpoint {url}"), Verdict::Taken, format!("from {place}"));
    let claim = Claim::exactly(&provider.id, &url);
    let encrypted =
        url.origin().is_some_and(|origin| origin.is_encrypted() || origin.is_loopback());
    let by_entra = scene.saved.get("auth_mode").and_then(Value::as_str) == Some("entra_id");
    if by_entra && encrypted && place != "the request" {
        let key = entra_key(scene, &provider.id, &claim)?;
        let mut parts = Parts::new(&provider.id, url, EndpointKind::Registry);
        (parts.provider, parts.key) = (Some(provider), Some(key));
        return Ok(scene.assemble(parts));
    }
    let mut key = scene.explicit_key(&claim);
    if key.is_none() && scene.is_saved_for(&provider.id) {
        key = scene.saved_key(&claim);
    }
    if key.is_none() && encrypted && place != "the request" {
        key = scene
            .pool_key(&provider.id, &claim)
            .or_else(|| scene.variable_key("AZURE_FOUNDRY_API_KEY", &claim));
    }
    let key = key.ok_or_else(|| missing_key(&provider.id, &provider.key_env))?;
    let mut parts = Parts::new(&provider.id, url, EndpointKind::Registry);
    parts.provider = Some(provider);
    parts.key = Some(key);
    Ok(scene.assemble(parts))
}

/// A token of Microsoft Entra, minted before this resolution; never another kind of key instead.
fn entra_key(scene: &mut Scene<'_>, provider: &str, claim: &Claim) -> Result<Key, ResolveError> {
    let stored = scene.vault.store.login(minted::ENTRA_LOGIN).and_then(|login| login.access);
    let (owner, scope) = (claim.owner.clone(), claim.scope.clone());
    let key = stored.map(|secret| Key {
        owner,
        secret,
        scope,
        source: Source::Entra,
        pool: None,
        expiry: None,
        endpoint: None,
    });
    key.ok_or_else(|| {
        let message = "there is no Microsoft Entra token".to_owned();
        let error = ResolveError::new(minted::ENTRA, provider, message);
        error.hint("set `AZURE_TENANT_ID`, `AZURE_CLIENT_ID` and `AZURE_CLIENT_SECRET`")
    })
}

/// Vertex: project and region make the address; the token is minted before.
pub(crate) fn vertex(scene: &mut Scene<'_>) -> Option<Outcome> {
    let provider = picked(scene, "vertex")?;
    Some(at_vertex(scene, provider))
}

fn at_vertex(scene: &mut Scene<'_>, provider: &Provider) -> Outcome {
    let settings = scene.settings;
    let written = |key: &str| settings.text(key).map(str::trim).filter(|text| !text.is_empty());
    let region = written("vertex.region").or_else(|| scene.variable("VERTEX_REGION"));
    let region = region.unwrap_or("global");
    let host = match region {
        "global" => "aiplatform.googleapis.com".to_owned(),
        region => format!("{region}-aiplatform.googleapis.com"),
    };
    let project = written("vertex.project").or_else(|| scene.variable("VERTEX_PROJECT_ID"));
    let Some(project) = project else {
        let message = "Vertex needs a project".to_owned();
        let error = ResolveError::new("vertex_project_missing", "vertex", message);
        return Err(error.hint("set `vertex.project` in config.yaml, or `VERTEX_PROJECT_ID`"));
    };
    let path = format!("/v1/projects/{project}/locations/{region}/endpoints/openapi");
    let url = scene.parse_url(&format!("https://{host}{path}"), "the Vertex variables")?;
    if !is_below(url.host(), "googleapis.com") {
        return Err(not_allowed(provider, &url, "the region"));
    }
    let claim = Claim::new("vertex", Scope::new([Allowed::Host(url.host().to_owned())]));
    let stored =
        scene.vault.store.login("vertex").filter(|login| !login.is_due(scene.vault.now_ms, 60_000));
    let key = scene.explicit_key(&claim).or_else(|| {
        let secret = stored?.access?;
        let (owner, scope) = (claim.owner.clone(), claim.scope.clone());
        let source = Source::VertexOauth;
        Some(Key { owner, secret, scope, source, pool: None, expiry: None, endpoint: None })
    });
    let Some(key) = key else {
        let message = "there is no Google Cloud token for Vertex".to_owned();
        let mut error = ResolveError::new(minted::VERTEX, "vertex", message);
        error.relogin_required = true;
        return Err(error.hint(
            "set `GOOGLE_APPLICATION_CREDENTIALS` or run `gcloud auth application-default login`",
        ));
    };
    let mut parts = Parts::new("vertex", url, EndpointKind::Registry);
    parts.provider = Some(provider);
    parts.key = Some(key);
    Ok(scene.assemble(parts))
}

/// Variables that name a place where keys have to be fetched.
const FETCHED_FROM: [&str; 3] = [
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
];

/// What would let Bedrock be used at once. A profile counts only when a variable names it: half of
/// all developers have a default one for other things.
pub(crate) fn aws_ready(scene: &Scene<'_>) -> Option<String> {
    let set = |name: &str| scene.variable(name).is_some().then(|| format!("`{name}` is set"));
    let profile = scene
        .variable("AWS_PROFILE")
        .filter(|name| scene.vault.aws.get(name).is_some_and(|profile| profile.keys.is_some()));
    set("AWS_BEARER_TOKEN_BEDROCK")
        .or_else(|| aws_keys(scene).and_then(|_| set("AWS_ACCESS_KEY_ID")))
        .or_else(|| profile.map(|name| format!("the AWS profile `{name}` has keys")))
        .or_else(|| FETCHED_FROM.into_iter().find_map(set))
}

/// Bedrock: a bearer token, or keys that sign and never travel.
pub(crate) fn bedrock(scene: &mut Scene<'_>) -> Option<Outcome> {
    let provider = picked(scene, "bedrock")?;
    Some(at_bedrock(scene, provider))
}

fn at_bedrock(scene: &mut Scene<'_>, provider: &Provider) -> Outcome {
    let named = scene.variable("AWS_PROFILE");
    let profile = scene.vault.aws.get(named.unwrap_or("default"));
    let region = scene
        .settings
        .text("bedrock.region")
        .or_else(|| scene.variable("AWS_REGION"))
        .or_else(|| scene.variable("AWS_DEFAULT_REGION"))
        .or_else(|| profile.and_then(|profile| profile.region.as_deref()));
    let region = region.unwrap_or("us-east-1").to_owned();
    let host = format!("bedrock-runtime.{region}.amazonaws.com");
    let (url, place) = bedrock_url(scene, &host)?;
    let claim = Claim::new("bedrock", Scope::new([Allowed::Host(host)]));
    let exact = Claim::exactly("bedrock", &url);
    let bearer = "AWS_BEARER_TOKEN_BEDROCK";
    let key = scene.explicit_key(&exact).or_else(|| scene.scoped_key(bearer, &claim, url.url()));
    let (keys, how) = match (aws_keys(scene), profile.and_then(|profile| profile.keys.clone())) {
        (Some(keys), _) => (Some(keys), "AWS_ACCESS_KEY_ID".to_owned()),
        (None, Some(keys)) => (Some(keys), format!("profile {}", named.unwrap_or("default"))),
        (None, None) => match &scene.vault.aws_fetched {
            Some(fetched) => (Some(fetched.keys.clone()), fetched.how.to_owned()),
            None => (None, String::new()),
        },
    };
    if key.is_none() && keys.is_none() {
        return Err(no_aws_keys(scene));
    }
    if key.is_none() && !may_sign_for(scene, &url, place) {
        return Err(not_allowed(provider, &url, place));
    }
    let guardrail = scene.settings.get("bedrock.guardrail").cloned();
    let signed = key.is_none();
    let mut parts = Parts::new("bedrock", url, EndpointKind::Registry);
    parts.provider = Some(provider);
    parts.key = key;
    let mut runtime = scene.assemble(parts);
    if signed {
        scene.trace(format!("AWS keys from {how}"), Verdict::Taken, "they sign and never travel");
        runtime.source = Source::Aws(how);
    }
    runtime.aws = Some(Aws { region, keys: keys.filter(|_| signed), guardrail });
    Ok(runtime)
}

/// The endpoint and where it was named.
fn bedrock_url(scene: &Scene<'_>, host: &str) -> Result<(BaseUrl, &'static str), ResolveError> {
    let saved = scene.saved.base_url.filter(|_| scene.is_saved_for("bedrock"));
    let own = format!("https://{host}");
    let (text, place) = match (scene.explicit_url()?, saved, scene.variable("BEDROCK_BASE_URL")) {
        (Some(url), _, _) => return Ok((url, REQUEST)),
        (None, Some(text), _) => (text, SAVED),
        (None, None, Some(text)) => (text, "the variable `BEDROCK_BASE_URL`"),
        (None, None, None) => (own.as_str(), "the region"),
    };
    Ok((scene.parse_url(text, place)?, place))
}

const REQUEST: &str = "the request";
const SAVED: &str = "`model.base_url`";

/// Whether requests to an endpoint are signed with keys that lie about. The signature is good for
/// the real service and a session token travels with it, so the rule is that of any other key:
/// Amazon's own hosts, or what the user granted in the configuration. This machine counts as
/// granted where the user wrote it down.
fn may_sign_for(scene: &Scene<'_>, url: &BaseUrl, place: &str) -> bool {
    let Some(origin) = url.origin() else { return false };
    let amazon = ["amazonaws.com", "amazonaws.com.cn", "api.aws"];
    let at_home = origin.is_encrypted()
        && url.url().domain().is_some_and(|host| amazon.iter().any(|own| is_below(host, own)));
    let granted = scene.host_is_granted("bedrock", url.url()) && place != REQUEST;
    let written = origin.is_loopback() && (place == SAVED || place == REQUEST);
    at_home || granted || written
}

/// No keys are written down; whoever asked may fetch those of the container, cluster or machine
/// and resolve again.
fn no_aws_keys(scene: &Scene<'_>) -> ResolveError {
    if let Some(name) = scene.variable("AWS_PROFILE") {
        let message = format!("the AWS profile `{name}` holds no keys");
        let error = ResolveError::new("missing_api_key", "bedrock", message);
        return error.hint("name a profile with keys, or set `AWS_BEARER_TOKEN_BEDROCK`");
    }
    let names = ["AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"].map(str::to_owned);
    let error = missing_key("bedrock", &names);
    // A token that may not go where the user points is no reason to look for other keys.
    match scene.variable("AWS_BEARER_TOKEN_BEDROCK") {
        Some(_) => error,
        None => ResolveError { code: minted::AMAZON, ..error },
    }
}

fn aws_keys(scene: &Scene<'_>) -> Option<AwsKeys> {
    Some(AwsKeys {
        access_key_id: scene.variable("AWS_ACCESS_KEY_ID")?.to_owned(),
        secret_access_key: Secret::new(scene.variable("AWS_SECRET_ACCESS_KEY")?),
        session_token: scene.variable("AWS_SESSION_TOKEN").map(Secret::new),
    })
}
