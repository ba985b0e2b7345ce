//! A tool whose behaviour is in a plugin.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use petasos_contract::check::{Availability, Check, CheckScope};
use petasos_contract::{BoxFuture, CallContext, Cleared, Tool, ToolError, ToolOutput};
use petasos_runtime::registry::Entry;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Plugin, State};
use crate::rpc::RpcError;

/// How long a check may take.
const CHECK_DEADLINE: Duration = Duration::from_secs(3);

/// `ctx.register_tool` as it arrives.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    pub(super) name: String,
    #[serde(default)]
    pub(super) toolset: Option<String>,
    #[serde(default)]
    schema: Map<String, Value>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    emoji: Option<String>,
    #[serde(default)]
    requires_env: Option<Vec<Value>>,
    #[serde(default)]
    has_check: bool,
    #[serde(default, rename = "override")]
    pub(super) overrides: bool,
}

impl Asked {
    /// The entry for the registry.
    pub(super) fn entry(&self, plugin: &Arc<Plugin>) -> Entry {
        let tool = PluginTool { plugin: Arc::downgrade(plugin), name: self.name.clone() };
        let usual = || plugin.manifest.name.clone();
        let toolset = self.toolset.clone().filter(|name| !name.is_empty()).unwrap_or_else(usual);
        let schema = function(&self.schema, self.description.as_deref());
        let mut entry = Entry::new(self.name.as_str(), toolset.as_str(), schema, Arc::new(tool));
        entry.description = self.description.clone().unwrap_or_default();
        entry.emoji = self.emoji.clone().unwrap_or_default();
        let needed = self.requires_env.iter().flatten();
        let name = |value: &Value| {
            value.as_str().or_else(|| value.get("name")?.as_str()).map(str::to_owned)
        };
        entry.requires_env = needed.filter_map(name).collect();
        entry.check = Some(check(plugin, &self.name, self.has_check));
        entry
    }
}

/// The function schema: a whole one, or the bare schema of the arguments.
fn function(schema: &Map<String, Value>, description: Option<&str>) -> Map<String, Value> {
    let inner = schema.get("function").and_then(Value::as_object).unwrap_or(schema);
    let mut function = if inner.contains_key("parameters") || !inner.contains_key("type") {
        inner.clone()
    } else {
        Map::from_iter([("parameters".to_owned(), Value::Object(inner.clone()))])
    };
    function.remove("name");
    function.entry("parameters").or_insert_with(|| json!({ "type": "object", "properties": {} }));
    if let Some(text) = description.filter(|text| !text.is_empty()) {
        function.entry("description").or_insert_with(|| json!(text));
    }
    function
}

/// A tool of a plugin that was given up is not offered; others are when their own check says so.
fn check(plugin: &Arc<Plugin>, tool: &str, has_own: bool) -> Check {
    let weak = Arc::downgrade(plugin);
    let (id, tool) = (format!("{}:{tool}", plugin.name()), tool.to_owned());
    Check::new(id, CheckScope::Process, move |_| {
        let (weak, tool) = (weak.clone(), tool.clone());
        Box::pin(async move {
            let Some(plugin) = weak.upgrade() else {
                return Availability::Missing("its plugin is gone".to_owned());
            };
            if let State::Failed { reason } = plugin.state() {
                return Availability::Missing(format!("its plugin failed: {reason}"));
            }
            if !has_own {
                return Availability::Ready;
            }
            let connection = match plugin.connection().await {
                Ok(connection) => connection,
                Err(reason) => return Availability::Missing(reason),
            };
            let deadline = Instant::now() + CHECK_DEADLINE;
            match connection.request("tool.check", &json!({ "name": tool }), deadline).await {
                Ok(answer) => {
                    let ready = answer.get("available").and_then(Value::as_bool).unwrap_or(false);
                    let reason = answer.get("reason").and_then(Value::as_str);
                    Availability::when(ready, reason.unwrap_or("its plugin says it cannot work"))
                }
                Err(error) => Availability::Missing(error.to_string()),
            }
        })
    })
}

struct PluginTool {
    plugin: Weak<Plugin>,
    name: String,
}

impl Tool for PluginTool {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let plugin = self.plugin.upgrade();
            let plugin =
                plugin.ok_or_else(|| ToolError::new("PluginGone", "its plugin was unloaded"))?;
            let params = json!({ "name": self.name, "args": cleared.args().object() });
            match plugin.ask("tool.call", params, cx).await {
                Ok(Value::String(text)) => Ok(ToolOutput::Text(text)),
                Ok(other) => Ok(ToolOutput::Foreign(other)),
                Err(error) => Err(fault(&plugin, error)),
            }
        })
    }
}

fn fault(plugin: &Plugin, error: RpcError) -> ToolError {
    let key = &plugin.manifest.key;
    match error {
        RpcError::Remote { kind, message } => ToolError::new(kind, message),
        RpcError::Gone(why) => ToolError::new("PluginDown", format!("plugin `{key}`: {why}")),
        RpcError::Late(_) => {
            ToolError::new("Timeout", format!("plugin `{key}` did not answer in time"))
        }
    }
}
