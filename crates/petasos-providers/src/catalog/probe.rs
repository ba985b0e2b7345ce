//! How much a model of a local server reads, asked of the server itself.
//!
//! What such a server lists is often what the model was trained with; what it was started with
//! stands in an interface of its own. Which one that is, is read off its list.

use std::time::Duration;

use petasos_contract::wait;
use petasos_net::Method;
use petasos_net::client::{Net, Request};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::listing::{ListError, Listed, list};
use crate::runtime::ProviderRuntime;

const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The list of an endpoint, and the window that it really serves a model with.
pub(crate) async fn probe(
    net: &Net,
    runtime: &ProviderRuntime,
    model: &str,
    within: Duration,
) -> Result<(Vec<Listed>, Option<u64>), ListError> {
    let listed = list(net, runtime, within).await?;
    let entry = listed.iter().find(|one| one.id == model);
    let Some(entry) = entry else { return Ok((listed, None)) };
    let asking = async {
        match entry.owned_by.as_deref() {
            Some("llamacpp") => llama_cpp(net, runtime, within).await,
            Some("library") => ollama(net, runtime, model, within).await,
            Some("organization_owner") => lm_studio(net, runtime, model, within).await,
            _ => None,
        }
    };
    let deadline = Instant::now().into_std() + within;
    let served = wait::until(deadline, "a server's own window", asking).await.ok().flatten();
    let window = served.or(entry.context_length);
    Ok((listed, window))
}

async fn llama_cpp(net: &Net, runtime: &ProviderRuntime, within: Duration) -> Option<u64> {
    let props = ask(net, runtime, "/props", None, within).await?;
    let paths = ["/default_generation_settings/n_ctx", "/n_ctx"];
    paths.iter().find_map(|path| props.pointer(path)?.as_u64()).filter(|length| *length > 0)
}

/// Ollama loads a model with the window of its file or with its own default, which is far below
/// what the model could read: a loaded model is the truth, then the file, then what is possible.
async fn ollama(
    net: &Net,
    runtime: &ProviderRuntime,
    model: &str,
    within: Duration,
) -> Option<u64> {
    let wanted = json!({"model": model});
    let (loaded, shown) = tokio::join!(
        ask(net, runtime, "/api/ps", None, within),
        ask(net, runtime, "/api/show", Some(&wanted), within),
    );
    let running = loaded.as_ref().and_then(|loaded| {
        let models = loaded.get("models")?.as_array()?;
        let same =
            |one: &&Value| one.get("model").or_else(|| one.get("name")) == Some(&json!(model));
        models.iter().find(same)?.get("context_length")?.as_u64()
    });
    let shown = shown.as_ref();
    let written = || {
        let parameters = shown?.get("parameters")?.as_str()?;
        let line = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx"))?;
        line.trim().parse().ok()
    };
    let possible = || {
        let info = shown?.get("model_info")?.as_object()?;
        let is_length = |name: &str| name.ends_with(".context_length");
        info.iter().find(|(name, _)| is_length(name)).and_then(|(_, value)| value.as_u64())
    };
    running.or_else(written).or_else(possible).filter(|length| *length > 0)
}

async fn lm_studio(
    net: &Net,
    runtime: &ProviderRuntime,
    model: &str,
    within: Duration,
) -> Option<u64> {
    let models = ask(net, runtime, "/api/v0/models", None, within).await?;
    let models = models.get("data")?.as_array()?;
    let one = models.iter().find(|one| one.get("id") == Some(&json!(model)))?;
    let names = ["loaded_context_length", "max_context_length"];
    names.iter().find_map(|name| one.get(*name)?.as_u64()).filter(|length| *length > 0)
}

/// One question at the root of a server; nothing where it does not answer in JSON.
async fn ask(
    net: &Net,
    runtime: &ProviderRuntime,
    path: &str,
    body: Option<&Value>,
    within: Duration,
) -> Option<Value> {
    let mut url = runtime.base_url.url().clone();
    url.set_query(None);
    url.set_path(path);
    let method = if body.is_some() { Method::POST } else { Method::GET };
    let mut request =
        Request::new(method, url).credential(runtime.credential.clone()).first_byte(within);
    if let Some(body) = body {
        request = request.header("content-type", "application/json").ok()?.body(body.to_string());
    }
    let reply = net.send(request).await.ok().filter(|reply| reply.status == 200)?;
    let bytes = reply.bytes(ANSWER_BYTES_MAX, within).await.ok()?;
    serde_json::from_slice(&bytes).ok()
}
