//! `ctx.llm`: completions that this program makes for a plugin. The plugin never sees a key, and
//! chooses another model or provider only where the configuration lets it.

use std::sync::Arc;

use petasos_contract::CallContext;
use petasos_contract::message::Message;
use petasos_contract::model::{AnswerSchema, Prompt, Role};
use serde_json::{Value, json};

use super::Plugin;

/// Completes.
pub(super) async fn complete(
    plugin: &Arc<Plugin>,
    params: &Value,
    cx: CallContext,
) -> Result<Value, String> {
    let model = plugin.host.model.as_ref().ok_or("no model can be asked here")?;
    let prompt = prompt(plugin, params)?;
    let reply = model.ask(&prompt, Role::Main, &cx).await.map_err(|error| error.to_string())?;
    let usage = reply.usage;
    Ok(json!({
        "text": reply.message.text(),
        "provider": reply.served.provider,
        "model": reply.served.model,
        "usage": {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "total_tokens": usage.prompt().saturating_add(usage.output),
            "cache_read_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
    }))
}

fn prompt(plugin: &Plugin, params: &Value) -> Result<Prompt, String> {
    let mut system = Vec::new();
    let mut messages = Vec::new();
    let given = params.get("messages").and_then(Value::as_array);
    for message in given.into_iter().flatten() {
        if message.get("role").and_then(Value::as_str) == Some("system") {
            system.extend(message.get("content").and_then(Value::as_str).map(str::to_owned));
            continue;
        }
        let message: Message = serde_json::from_value(message.clone())
            .map_err(|error| format!("a message does not fit: {error}"))?;
        messages.push(message);
    }
    if messages.is_empty() {
        return Err("`messages` holds nothing to answer".to_owned());
    }
    let number = |name: &str| params.get(name).and_then(Value::as_u64);
    Ok(Prompt {
        system: system.join("\n\n"),
        messages,
        model: chosen(plugin, params, "model", "allowed_models")?,
        provider: chosen(plugin, params, "provider", "allowed_providers")?,
        max_tokens: number("max_tokens").and_then(|most| u32::try_from(most).ok()),
        temperature: params
            .get("temperature")
            .cloned()
            .and_then(|t| serde_json::from_value(t).ok()),
        answer: params.get("json_schema").filter(|schema| schema.is_object()).map(|schema| {
            let name = params.get("schema_name").and_then(Value::as_str).unwrap_or("answer");
            AnswerSchema { name: name.to_owned(), schema: schema.clone() }
        }),
        ..Prompt::default()
    })
}

/// Another model or provider, where `plugins.entries.<key>.llm` lets it.
fn chosen(
    plugin: &Plugin,
    params: &Value,
    what: &str,
    list: &str,
) -> Result<Option<String>, String> {
    let Some(wanted) = params.get(what).and_then(Value::as_str).filter(|text| !text.is_empty())
    else {
        return Ok(None);
    };
    let key = &plugin.manifest.key;
    let trust = plugin.setting("llm");
    let consent = format!("allow_{what}_override");
    let may = trust.and_then(|trust| trust.get(&consent)) == Some(&Value::Bool(true));
    if !may {
        return Err(format!(
            "this plugin may not choose the {what}: set `plugins.entries.{key}.llm.{consent}: true`"
        ));
    }
    let allowed = trust.and_then(|trust| trust.get(list)).and_then(Value::as_array);
    let fits = |one: &Value| {
        one.as_str().is_some_and(|one| one == "*" || one.eq_ignore_ascii_case(wanted))
    };
    if allowed.is_some_and(|allowed| !allowed.iter().any(fits)) {
        return Err(format!("`{wanted}` is not in `plugins.entries.{key}.llm.{list}`"));
    }
    Ok(Some(wanted.to_owned()))
}
