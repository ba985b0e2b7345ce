//! How much a model reads: what the user wrote, what a refusal stated, what the endpoint listed,
//! the embedded table. One answer for the request and for the loop that shortens conversations.

use petasos_contract::model::{Prompt, Role};
use petasos_contract::{CallContext, Settings};

use super::Client;
use crate::catalog::{Known, Which};
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
