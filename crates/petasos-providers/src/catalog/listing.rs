//! A provider's own list of models, in the shapes in use.

use std::time::Duration;

use petasos_net::Method;
use petasos_net::client::{Net, Request};
use petasos_net::fault::NetError;
use serde::Serialize;
use serde_json::Value;

use super::Price;
use crate::mode::Wire;
use crate::runtime::ProviderRuntime;

/// A model that a provider lists.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// How much it reads.
    pub context_length: Option<u64>,
    /// What it costs.
    pub price: Option<Price>,
    /// Who owns it, by which local servers are told apart.
    #[serde(skip)]
    pub owned_by: Option<String>,
}

/// Why a list could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// No answer.
    #[error(transparent)]
    Net(#[from] NetError),
    /// Not a success.
    #[error("`{provider}` answered its model list with status {status}")]
    Status {
        /// Who.
        provider: String,
        /// The status.
        status: u16,
    },
    /// Not a list.
    #[error("`{provider}` gave a model list that cannot be read")]
    Unreadable {
        /// Who.
        provider: String,
    },
    /// The user switched it off.
    #[error("`{provider}` is not asked for its models: `discover_models` is off")]
    Off {
        /// Who.
        provider: String,
    },
    /// It has none.
    #[error("`{provider}` has no model list")]
    None {
        /// Who.
        provider: String,
    },
}

const LIST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Asks a provider for its models, through the same door as everything else.
pub async fn list(
    net: &Net,
    runtime: &ProviderRuntime,
    within: Duration,
) -> Result<Vec<Listed>, ListError> {
    let provider = runtime.provider.clone();
    if runtime.overrides.unlisted {
        return Err(ListError::Off { provider: runtime.name().to_owned() });
    }
    if provider == "vertex" {
        return Err(ListError::None { provider });
    }
    let stem = runtime.base_url.url().path().trim_end_matches('/');
    let path = match runtime.wire {
        Wire::ChatCompletions | Wire::CodexResponses | Wire::Gemini => "/models",
        Wire::AnthropicMessages if stem.ends_with("/v1") => "/models",
        Wire::AnthropicMessages => "/v1/models",
        _ => return Err(ListError::None { provider }),
    };
    let url = runtime.base_url.at(path).map_err(NetError::from)?;
    let mut request = Request::new(Method::GET, url)
        .credential(runtime.credential.clone())
        .first_byte(within)
        .header("anthropic-version", "2023-06-01")?;
    for (name, value) in &runtime.headers {
        request = request.header(name, value)?;
    }
    let reply = net.send(request).await?;
    if !(200..300).contains(&reply.status) {
        return Err(ListError::Status { provider, status: reply.status });
    }
    let body = reply.bytes(LIST_BYTES_MAX, within).await?;
    let body: Value =
        serde_json::from_slice(&body).map_err(|_| ListError::Unreadable { provider })?;
    Ok(read_listing(&body))
}

/// Reads OpenAI's, OpenRouter's, Google's, llama.cpp's and vLLM's shape.
pub fn read_listing(body: &Value) -> Vec<Listed> {
    let models = body.get("data").or_else(|| body.get("models")).unwrap_or(body);
    models.as_array().into_iter().flatten().filter_map(one).collect()
}

fn one(model: &Value) -> Option<Listed> {
    let id = model.get("id").or_else(|| model.get("name"))?.as_str()?;
    let lengths = [
        "/context_length",
        "/max_model_len",
        "/context_window",
        "/max_context_length",
        "/top_provider/context_length",
        "/inputTokenLimit",
        "/max_input_tokens",
        "/meta/n_ctx",
        "/meta/n_ctx_train",
    ];
    let number = |path: &&str| model.pointer(path).and_then(Value::as_u64);
    Some(Listed {
        id: id.strip_prefix("models/").unwrap_or(id).to_owned(),
        context_length: lengths.iter().find_map(number).filter(|length| *length > 0),
        price: model.get("pricing").and_then(price),
        owned_by: model.get("owned_by").and_then(Value::as_str).map(str::to_owned),
    })
}

/// Prices for one token, as text or number, under either pair of names.
fn price(pricing: &Value) -> Option<Price> {
    let of = |names: [&str; 2]| {
        let value = names.iter().find_map(|name| pricing.get(*name))?;
        let number = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
        (number >= 0.0).then_some(number * 1e6)
    };
    Some(Price {
        input: of(["prompt", "input"])?,
        output: of(["completion", "output"])?,
        cache_read: of(["input_cache_read", "input_cache_reads"]),
        cache_write: of(["input_cache_write", "input_cache_writes"]),
    })
}
