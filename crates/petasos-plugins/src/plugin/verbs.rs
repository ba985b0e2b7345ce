//! The `ctx` verbs: what a plugin asks of this program.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use petasos_contract::call::{RawArguments, ToolCall};
use petasos_contract::context::Principal;
use petasos_contract::hook::HookKind;
use petasos_contract::{BoxFuture, CallContext, CallId};
use petasos_runtime::registry::Intent;
use serde_json::{Map, Value, json};

use super::registered::{CommandInfo, Registered, SkillInfo};
use super::{Plugin, facade, frames, tool};
use crate::rpc::Server;

/// One life of a plugin: what it registers meanwhile counts from the moment it has greeted.
pub(super) struct Session {
    plugin: Weak<Plugin>,
    collecting: Mutex<Option<Registered>>,
    frames: Mutex<Vec<(String, u64)>>,
    number: AtomicU64,
}

impl Session {
    pub(super) fn new(plugin: &Arc<Plugin>) -> Self {
        Self {
            plugin: Arc::downgrade(plugin),
            collecting: Mutex::new(Some(Registered::default())),
            frames: Mutex::default(),
            number: AtomicU64::new(0),
        }
    }

    /// The greeting is over: what was registered takes the place of the last life's.
    pub(super) fn settle(&self) {
        let Some(plugin) = self.plugin.upgrade() else { return };
        let Some(mut new) = self.collecting.lock().take() else { return };
        let forgotten = plugin.promised().filter(|kind| !new.wanted.has(*kind));
        let forgotten: Vec<String> = forgotten
            .map(|kind| format!("it promises `{}` and did not register it", kind.as_str()))
            .collect();
        new.warnings.extend(forgotten);
        plugin.replace_registered(&new);
        plugin.host.middleware.deregister(&plugin.name());
        for (kind, id) in std::mem::take(&mut *self.frames.lock()) {
            frames::register(&plugin, &kind, id);
        }
    }

    /// The greeting failed: what was registered meanwhile is taken back.
    pub(super) fn abandon(&self) {
        let Some(plugin) = self.plugin.upgrade() else { return };
        let Some(new) = self.collecting.lock().take() else { return };
        let before = plugin.registered().tools;
        for name in new.tools.difference(&before) {
            if let Err(error) = plugin.host.registry.deregister(name, &plugin.origin) {
                tracing::warn!(%error, "a tool of a plugin that was not started stays");
            }
        }
    }

    /// Changes what is registered: during the greeting the new set, afterwards the current one.
    fn note(&self, plugin: &Arc<Plugin>, change: impl FnOnce(&mut Registered)) {
        let mut collecting = self.collecting.lock();
        if let Some(new) = collecting.as_mut() {
            change(new);
            return;
        }
        drop(collecting);
        let mut next = plugin.registered();
        change(&mut next);
        plugin.replace_registered(&next);
    }

    async fn verb(&self, method: &str, params: Value) -> Result<Value, String> {
        let plugin = self.plugin.upgrade().ok_or("this plugin was unloaded")?;
        match method {
            "ctx.register_tool" => self.register_tool(&plugin, params),
            "ctx.register_hook" => Ok(self.register_hook(&plugin, &params)),
            "ctx.register_middleware" => Ok(self.register_middleware(&plugin, &params)),
            "ctx.register_command" => self.register_command(&plugin, &params),
            "ctx.register_cli_command" => {
                let info = command(&params)?;
                self.note(&plugin, |new| new.cli_commands.push(info));
                Ok(Value::Null)
            }
            "ctx.register_skill" => self.register_skill(&plugin, &params),
            "ctx.register_other" => Ok(self.register_other(&plugin, &params)),
            "ctx.dispatch_tool" => self.dispatch_tool(&plugin, params).await,
            "ctx.inject_message" => Ok(json!(plugin.host.inject(&params))),
            "ctx.llm.complete" => {
                facade::complete(&plugin, &params, context(&plugin, &params)).await
            }
            "ctx.log" => {
                plugin.log.line(params.get("message").and_then(Value::as_str).unwrap_or_default());
                Ok(Value::Null)
            }
            other => Err(format!("there is no verb `{other}`")),
        }
    }

    fn register_tool(&self, plugin: &Arc<Plugin>, params: Value) -> Result<Value, String> {
        let asked: tool::Asked =
            serde_json::from_value(params).map_err(|error| format!("register_tool: {error}"))?;
        if asked.name.trim().is_empty() {
            return Err("register_tool: a tool needs a name".to_owned());
        }
        let intent = if asked.overrides { Intent::Override } else { Intent::Add };
        let entry = asked.entry(plugin);
        let done = plugin.host.registry.register(entry, &plugin.origin, intent);
        done.map_err(|collision| collision.to_string())?;
        self.note(plugin, |new| {
            new.tools.insert(asked.name);
        });
        Ok(Value::Null)
    }

    fn register_hook(&self, plugin: &Arc<Plugin>, params: &Value) -> Value {
        let name = text(params, "name");
        self.note(plugin, |new| match HookKind::named(name) {
            Some(kind) => {
                new.hooks.insert(kind.as_str());
                new.wanted = new.wanted.with(kind);
            }
            None => new.warnings.push(format!("unknown hook `{name}`: it never fires")),
        });
        Value::Null
    }

    fn register_middleware(&self, plugin: &Arc<Plugin>, params: &Value) -> Value {
        let kind = text(params, "kind").to_owned();
        let id = params.get("id").and_then(Value::as_u64).unwrap_or_default();
        let known = frames::KINDS.contains(&kind.as_str());
        let greeting = self.collecting.lock().is_some();
        if known && greeting {
            self.frames.lock().push((kind.clone(), id));
        } else if known {
            frames::register(plugin, &kind, id);
        }
        self.note(plugin, |new| {
            if known {
                new.middleware.push(kind);
            } else {
                new.warnings.push(format!("unknown middleware kind `{kind}`: it never runs"));
            }
        });
        Value::Null
    }

    fn register_command(&self, plugin: &Arc<Plugin>, params: &Value) -> Result<Value, String> {
        let info = command(params)?;
        if plugin.host.reserved_commands.contains(&info.name) {
            return Err(format!(
                "`/{}` is a command of the program: choose another name",
                info.name
            ));
        }
        self.note(plugin, |new| {
            new.commands.retain(|known| known.name != info.name);
            new.commands.push(info);
        });
        Ok(Value::Null)
    }

    fn register_skill(&self, plugin: &Arc<Plugin>, params: &Value) -> Result<Value, String> {
        let (name, path) = (text(params, "name"), text(params, "path"));
        if name.is_empty() || !std::path::Path::new(path).exists() {
            return Err(format!("register_skill: `{path}` is not there"));
        }
        let info = SkillInfo {
            name: format!("{}:{name}", plugin.manifest.name),
            path: path.to_owned(),
            description: text(params, "description").to_owned(),
        };
        self.note(plugin, |new| new.skills.push(info));
        Ok(Value::Null)
    }

    fn register_other(&self, plugin: &Arc<Plugin>, params: &Value) -> Value {
        let (kind, name) = (text(params, "kind"), text(params, "name"));
        self.note(plugin, |new| {
            new.unserved.push(format!("{kind} {name}"));
            new.warnings.push(format!("`{kind}` is kept, but nothing here uses it"));
        });
        json!(false)
    }

    async fn dispatch_tool(&self, plugin: &Arc<Plugin>, params: Value) -> Result<Value, String> {
        let door = plugin.host.door.as_ref().ok_or("no tools can be called here")?;
        let mut cx = context(plugin, &params);
        cx.principal = Principal::Plugin(plugin.manifest.key.clone());
        // The loop's own state is not a plugin's to use.
        cx.seat = None;
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let id = CallId::new(format!("{}-{}-{number}", cx.call, plugin.name()));
        let args = params.get("args").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
        let call = ToolCall {
            id,
            name: text(&params, "name").into(),
            arguments: RawArguments::Object(args),
        };
        let result = door.dispatch(call, &cx).await;
        Ok(json!(result.content.text()))
    }
}

impl Server for Session {
    fn serve(
        self: Arc<Self>,
        method: String,
        params: Value,
    ) -> BoxFuture<'static, Result<Value, String>> {
        Box::pin(async move { self.verb(&method, params).await })
    }
}

/// The call that the plugin is in, or surroundings of its own.
fn context(plugin: &Arc<Plugin>, params: &Value) -> CallContext {
    let token = params.get("token").and_then(Value::as_str);
    token.and_then(|token| plugin.call(token)).unwrap_or_else(|| plugin.own_context())
}

fn text<'a>(params: &'a Value, name: &str) -> &'a str {
    params.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Names are lower-case, without the slash, with dashes for spaces.
fn command(params: &Value) -> Result<CommandInfo, String> {
    let name = text(params, "name").trim().trim_start_matches('/').to_lowercase();
    let name = name.split_whitespace().collect::<Vec<_>>().join("-");
    if name.is_empty() {
        return Err("a command needs a name".to_owned());
    }
    let description = text(params, "description");
    let help = text(params, "help");
    Ok(CommandInfo {
        name,
        description: if description.is_empty() { help } else { description }.to_owned(),
        args_hint: text(params, "args_hint").to_owned(),
    })
}
