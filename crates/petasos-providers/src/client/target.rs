//! What a dialect may know of a resolved provider.

use petasos_contract::message::{Content, Message, Part};
use petasos_contract::model::{Prompt, Served};
use petasos_contract::{CallContext, Settings};

use super::{Client, extras, window};
use crate::fallback::Wanted;
use crate::runtime::ProviderRuntime;
use crate::transport::target::Target;

/// The target of a question at a resolved provider.
pub(super) fn of(
    client: &Client,
    runtime: &ProviderRuntime,
    wanted: &Wanted,
    prompt: &Prompt,
    cx: &CallContext,
) -> Target {
    let model = wanted.model.clone().or_else(|| runtime.model.clone());
    let model = model.or_else(|| prompt.model.clone()).unwrap_or_default();
    let base_url = runtime.base_url.as_str().to_owned();
    let context = window::of(client, runtime, &model, &cx.settings).0;
    let mut extra_body = extras::body(runtime, &model, &cx.settings);
    extra_body.extend(runtime.overrides.extra_body.clone());
    extra_body.extend(wanted.extra_body.clone());
    if let Some(guardrail) = runtime.aws.as_ref().and_then(|aws| aws.guardrail.clone()) {
        extra_body.insert("guardrailConfig".to_owned(), guardrail);
    }
    let row = client.table.get(&runtime.provider);
    let limit = runtime.overrides.max_output_tokens.and_then(|limit| u32::try_from(limit).ok());
    let secret = runtime.credential.as_ref().map_or("", |credential| credential.secret.expose());
    Target {
        provider: runtime.provider.clone(),
        model,
        base_url,
        headers: headers(runtime, prompt, &cx.settings),
        extra_body,
        max_output_tokens: limit,
        default_max_tokens: row.and_then(|row| row.default_max_tokens),
        context_length: Some(context),
        oauth: is_oauth(secret),
        session: Some(cx.session.to_string()),
        cache: extras::cache(&cx.settings),
        name: runtime.name().to_owned(),
        repairs: std::collections::BTreeSet::new(),
    }
}

/// Copilot bills by who began: a person's message, or the agent going on by itself.
fn headers(
    runtime: &ProviderRuntime,
    prompt: &Prompt,
    settings: &Settings,
) -> Vec<(String, String)> {
    let mut headers = extras::headers(runtime, settings);
    headers.extend(runtime.headers.clone());
    if runtime.provider == "copilot" {
        let begun = matches!(prompt.messages.last(), Some(Message::User { .. }));
        let initiator = if begun { "user" } else { "agent" };
        headers.push(("x-initiator".to_owned(), initiator.to_owned()));
        if prompt.messages.iter().any(has_image) {
            headers.push(("copilot-vision-request".to_owned(), "true".to_owned()));
        }
    }
    headers
}

fn has_image(message: &Message) -> bool {
    let content = match message {
        Message::User { content } => content,
        Message::Tool(result) => &result.content,
        Message::Assistant(_) => return false,
    };
    match content {
        Content::Text(_) => false,
        Content::Parts(parts) => parts.iter().any(|part| matches!(part, Part::ImageUrl { .. })),
    }
}

/// The shapes of Anthropic's OAuth tokens, which are attached and announced differently.
fn is_oauth(secret: &str) -> bool {
    (secret.starts_with("sk-ant-") && !secret.starts_with("sk-ant-api"))
        || secret.starts_with("eyJ")
        || secret.starts_with("cc-")
}

/// Who answers, as replies tell it.
pub(super) fn served(target: &Target, runtime: &ProviderRuntime) -> Served {
    Served {
        provider: target.provider.clone(),
        model: target.model.clone(),
        base_url: target.base_url.clone(),
        api_mode: runtime.api_mode.name().to_owned(),
    }
}
