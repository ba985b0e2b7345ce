//! How much a model reads: what the user wrote, what a refusal stated, what the endpoint listed,
//! what was found out before, the embedded table. One answer for the request and for the loop that
//! shortens conversations.
//!
//! What nobody knows is found out beside the first question to the model, which never waits for it.

use std::time::Duration;

use petasos_contract::model::{Prompt, Role};
use petasos_contract::{CallContext, Settings};

use super::Client;
use crate::catalog::{self, Known, ModelFact, Which};
use crate::mode::Wire;
use crate::roles;
use crate::runtime::ProviderRuntime;

/// The window of a model at a resolved provider, and who says so.
pub(super) fn of(
    client: &Client,
    runtime: &ProviderRuntime,
    model: &str,
    settings: &Settings,
) -> (u64, Known) {
    if let Some(written) = runtime.overrides.context_length {
        return (written, Known::User);
    }
    if let Some(stated) = client.memory.window(runtime) {
        return (stated, Known::Stated);
    }
    let which = Which { base_url: runtime.base_url.as_str(), model };
    client.catalog.context(which, settings)
}

/// The window of the first candidate; nothing where nobody knows it.
pub(super) async fn first(
    client: &Client,
    prompt: &Prompt,
    role: Role,
    cx: &CallContext,
) -> Option<u64> {
    let plan = roles::plan(role, prompt, &cx.settings, &client.table);
    let wanted = plan.candidates.first()?;
    let (tokens, known) = if let Some(mut runtime) = client.routes.preview(wanted, cx).await {
        let only = || client.memory.only_model(runtime.base_url.as_str());
        let model = wanted.model.clone().or_else(|| runtime.model.clone()).or_else(only)?;
        runtime.model = Some(model.clone());
        of(client, &runtime, &model, &cx.settings)
    } else {
        // Who serves it is found out by asking; the model may be known all the same.
        let model = wanted.model.as_deref().or_else(|| cx.settings.text("model.default"))?;
        client.catalog.context(Which { base_url: "", model }, &cx.settings)
    };
    (known != Known::Assumed).then_some(tokens)
}

/// How long an endpoint, and then the public catalogue, may take to describe a model.
const LEARN_WITHIN: Duration = Duration::from_secs(5);

/// Waits for a question and finds out about its model meanwhile; the answer waits for nothing.
pub(super) async fn beside<T>(
    question: impl Future<Output = T>,
    learning: impl Future<Output = ()>,
) -> T {
    tokio::pin!(question);
    tokio::select! {
        biased;
        answer = &mut question => answer,
        () = learning => question.await,
    }
}

/// Finds out what a model reads and costs where that is not known, and keeps it for later runs.
pub(super) async fn learn(client: &Client, runtime: &ProviderRuntime, cx: &CallContext) {
    let (Some(model), true) = (&runtime.model, has_list(runtime)) else { return };
    if cx.settings.home().as_os_str().is_empty() {
        // A program that embeds this without a home keeps nothing, and would ask every time.
        return;
    }
    let which = Which { base_url: runtime.base_url.as_str(), model };
    let (_, known) = of(client, runtime, model, &cx.settings);
    // A name says what a vendor's model reads; what a server of one's own serves it with, it says.
    let is_certain = match known {
        Known::User | Known::Stated => true,
        Known::Listed | Known::Table => !is_own(runtime),
        Known::Found | Known::Assumed => false,
    };
    let is_fresh = client.catalog.fact(which, &cx.settings).is_some_and(|fact| fact.is_fresh());
    if is_certain || is_fresh {
        return;
    }
    let fact = describe(client, runtime, model, cx).await;
    if let Err(error) = client.catalog.keep(which, fact, &cx.settings) {
        tracing::debug!(%error, "what was found out about a model was not kept");
    }
}

async fn describe(
    client: &Client,
    runtime: &ProviderRuntime,
    model: &str,
    cx: &CallContext,
) -> ModelFact {
    let probed = catalog::probe(&client.net, runtime, model, LEARN_WITHIN).await;
    let (listed, window) = probed.unwrap_or_else(|error| {
        tracing::debug!(%error, "an endpoint does not describe its models");
        (Vec::new(), None)
    });
    client.catalog.learn(runtime.base_url.as_str(), &listed);
    let listed = listed.iter().find(|one| one.id == model);
    let own = ModelFact {
        context_length: window,
        price: listed.and_then(|one| one.price),
        ..ModelFact::default()
    };
    let vendor = client.table.get(&runtime.provider).and_then(|row| row.models_dev_id.clone());
    match vendor {
        Some(vendor) if own.context_length.is_none() => {
            let found =
                catalog::find_public(&client.net, &cx.settings, &vendor, model, LEARN_WITHIN).await;
            found.unwrap_or(own)
        }
        _ => own,
    }
}

/// Whether the endpoint is reached by requests that could ask for a list.
fn has_list(runtime: &ProviderRuntime) -> bool {
    runtime.launch.is_none() && runtime.wire != Wire::Virtual
}

/// Whether the endpoint is a server of the user's own.
fn is_own(runtime: &ProviderRuntime) -> bool {
    runtime.provider == "custom" || runtime.provider == "lmstudio"
}
