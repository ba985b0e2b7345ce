//! From a platform's configuration to the toolsets it enables.
//!
//! `platform_toolsets.<platform>` may name single toolsets, whole bundles, MCP servers or nothing.
//! What it comes down to follows fixed steps; each choice keeps its reason.

use std::collections::{BTreeMap, BTreeSet};

use petasos_contract::Settings;
use petasos_contract::settings::Notice;
use serde::Serialize;
use serde_json::Value;

use super::{Kind, PLATFORMS, Selection, TOOLSETS, ToolsetDef, named, resolve_toolset, unknown};
use crate::registry::Snapshot;

const DISABLED: &str = "agent.disabled_toolsets";

/// The toolsets of a platform, with the reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlatformChoice {
    /// The platform.
    pub platform: String,
    /// Toolsets that are on, sorted.
    pub enabled: Vec<String>,
    /// Toolsets that the user switched off for every platform.
    pub disabled: Vec<String>,
    /// Why each toolset is on or off.
    pub reasons: Vec<Reason>,
    /// What a person should know about the configured lists.
    pub notices: Vec<Notice>,
}

/// Why a toolset is on or off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The toolset.
    pub toolset: String,
    /// Whether it is on.
    pub on: bool,
    /// Why.
    pub why: String,
}

impl PlatformChoice {
    /// The choice as a selection of tools.
    pub fn selection(&self, settings: &Settings) -> Selection {
        Selection {
            enabled: Some(self.enabled.clone()),
            disabled: self.disabled.clone(),
            board_task: settings.role("KANBAN_TASK").is_some(),
        }
    }
}

/// Which toolsets a platform has.
pub fn choose(platform: &str, settings: &Settings, tools: &Snapshot) -> PlatformChoice {
    let keys = keys_of(platform);
    let configured = keys.iter().find_map(|key| Some((settings.names(key)?, key.clone()))).unzip();
    let within = |listed: (Option<Vec<String>>, Option<String>)| {
        let mut chooser = Chooser {
            platform,
            settings,
            tools,
            saved: listed.0.is_some(),
            key: listed.1.unwrap_or_default(),
            listed: listed.0.unwrap_or_else(|| vec![preset(platform)]),
            on: BTreeSet::new(),
            reasons: Vec::new(),
        };
        chooser.take();
        chooser
    };
    let mut chooser = within(configured);
    for key in keys {
        let Some(limit) = settings.limit(&key) else { continue };
        let allowed = within((Some(limit.to_vec()), Some(key.clone()))).on;
        chooser.narrow(&allowed, &format!("not in the project's `{key}`"));
    }
    chooser.finish()
}

/// The keys that list a platform's toolsets, the strongest first.
fn keys_of(platform: &str) -> Vec<String> {
    let mut keys = vec![format!("platform_toolsets.{platform}")];
    if platform == "cli" {
        keys.push("toolsets".to_owned());
    }
    keys
}

/// The bundle of a platform that configured nothing.
fn preset(platform: &str) -> String {
    let known = PLATFORMS.iter().find(|(name, _)| *name == platform);
    known.map_or_else(|| format!("hermes-{platform}"), |(_, bundle)| (*bundle).to_owned())
}

struct Chooser<'a> {
    platform: &'a str,
    settings: &'a Settings,
    tools: &'a Snapshot,
    listed: Vec<String>,
    /// Whether the list was configured, and by which key.
    saved: bool,
    key: String,
    on: BTreeSet<String>,
    reasons: Vec<Reason>,
}

impl Chooser<'_> {
    fn take(&mut self) {
        self.take_configurable();
        self.take_credentialed();
        self.recover_unlisted();
        self.take_plugins();
        self.take_rest();
        self.take_servers();
    }

    /// Takes away what a project does not want here; it can never bring anything in.
    fn narrow(&mut self, allowed: &BTreeSet<String>, why: &str) {
        let out: Vec<String> = self.on.difference(allowed).cloned().collect();
        for toolset in out {
            self.switch(&toolset, false, why);
        }
    }

    /// Steps 1 to 3: single toolsets that are listed, and those that a listed bundle covers.
    fn take_configurable(&mut self) {
        let configurable: Vec<&ToolsetDef> =
            TOOLSETS.iter().filter(|def| def.configurable).collect();
        for &def in &configurable {
            if !self.listed.iter().any(|name| name == def.name) {
                continue;
            }
            if fits(def, self.platform) {
                self.switch(def.name, true, "listed for this platform");
            } else {
                self.switch(def.name, false, "makes no sense on this platform");
            }
        }
        let bundles: Vec<String> =
            self.listed.iter().filter(|name| is_composite(name)).cloned().collect();
        for bundle in bundles {
            self.expand_bundle(&bundle, &configurable);
        }
    }

    /// A configurable toolset is on when the bundle has all its tools.
    fn expand_bundle(&mut self, bundle: &str, configurable: &[&ToolsetDef]) {
        let has: BTreeSet<String> =
            resolve_toolset(bundle, self.tools).tools.iter().map(ToString::to_string).collect();
        for def in configurable {
            let covered = def.own_tools().iter().all(|tool| has.contains(*tool));
            if self.on.contains(def.name) || !covered || def.tools.is_empty() {
                continue;
            }
            if let Some(why) = self.kept_off(def) {
                self.switch(def.name, false, &why);
            } else {
                self.switch(def.name, true, &format!("part of `{bundle}`"));
            }
        }
    }

    /// Why a toolset that a bundle covers stays off all the same.
    fn kept_off(&self, def: &ToolsetDef) -> Option<String> {
        if !fits(def, self.platform) {
            return Some("makes no sense on this platform".to_owned());
        }
        if !def.default_off {
            return None;
        }
        let native = def.name == self.platform && def.only_platforms.is_empty();
        let chosen = def.only_platforms.contains(&self.platform) && self.saved;
        let on = native || chosen || self.has_credentials(def);
        (!on).then(|| "off unless it is chosen".to_owned())
    }

    /// Some toolsets that are off by default come on when there is an account for them.
    fn has_credentials(&self, def: &ToolsetDef) -> bool {
        let has = |variable: &str| {
            let value = self.settings.variable(variable).map(|variable| &variable.value);
            value.is_some_and(|value| !value.expose().trim().is_empty())
        };
        match def.name {
            "homeassistant" => has("HASS_TOKEN"),
            "x_search" => !self.saved && has("XAI_API_KEY"),
            _ => false,
        }
    }

    /// Step 3, the last part: searching X is in no bundle, so nothing but an account brings it in.
    fn take_credentialed(&mut self) {
        if named("x_search").is_some_and(|def| self.has_credentials(def)) {
            self.switch("x_search", true, "there are xAI credentials");
        }
    }

    /// Step 4: what the bundle has and nobody can switch comes along: a platform's document tools,
    /// the board, a built-in toolset that the table does not know.
    fn recover_unlisted(&mut self) {
        if self.listed.is_empty() {
            return;
        }
        let bundle = preset(self.platform);
        let has: BTreeSet<String> =
            resolve_toolset(&bundle, self.tools).tools.iter().map(ToString::to_string).collect();
        let switchable: BTreeSet<&str> = TOOLSETS
            .iter()
            .filter(|def| def.configurable)
            .flat_map(ToolsetDef::own_tools)
            .collect();
        for (toolset, tools) in self.fixed_toolsets() {
            let in_bundle = !tools.is_empty() && tools.iter().all(|tool| has.contains(tool));
            let somebody_elses = tools.iter().all(|tool| switchable.contains(tool.as_str()));
            if in_bundle && !somebody_elses && !self.on.contains(&toolset) {
                self.switch(&toolset, true, &format!("comes with `{bundle}`"));
            }
        }
    }

    /// Toolsets without a switch, with their tools: those of the table and those of built-in tools.
    fn fixed_toolsets(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut fixed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for def in TOOLSETS.iter().filter(|def| def.kind == Kind::Leaf && !def.configurable) {
            let own = def.own_tools().into_iter().map(str::to_owned);
            fixed.entry(def.name.to_owned()).or_default().extend(own);
        }
        let builtin = self.tools.entries().filter(|entry| {
            entry.origin().plugin_id().is_none() && entry.origin().mcp_server().is_none()
        });
        for entry in builtin.filter(|entry| named(&entry.toolset).is_none()) {
            fixed.entry(entry.toolset.to_string()).or_default().insert(entry.name.to_string());
        }
        fixed
    }

    /// Step 5: plugin toolsets are on when listed, or when this platform has never seen them. A
    /// plugin's tool in a toolset that has a switch of its own follows that switch.
    fn take_plugins(&mut self) {
        let key = format!("known_plugin_toolsets.{}", self.platform);
        let seen = self.settings.names(&key).unwrap_or_default();
        let plugin_sets: BTreeSet<String> = self
            .tools
            .entries()
            .filter(|entry| entry.origin().plugin_id().is_some())
            .filter(|entry| named(&entry.toolset).is_none())
            .map(|entry| entry.toolset.to_string())
            .collect();
        for toolset in plugin_sets {
            if self.listed.contains(&toolset) {
                self.switch(&toolset, true, "a plugin's, listed for this platform");
            } else if seen.contains(&toolset) {
                self.switch(&toolset, false, "a plugin's, known here and not listed");
            } else {
                self.switch(&toolset, true, "a plugin's, new on this platform");
            }
        }
    }

    /// Steps 6 and 7: the context engine's own tools, and names that are neither of the above.
    fn take_rest(&mut self) {
        let engine = self.settings.text("context.engine");
        let empty = self.saved && self.listed.is_empty();
        if engine.is_some_and(|engine| engine != "compressor") && !empty {
            self.switch("context_engine", true, "another context engine is configured");
        }
        let rest: Vec<String> = self
            .listed
            .iter()
            .filter(|name| *name != "no_mcp" && !is_composite(name))
            .filter(|name| named(name).is_none_or(|def| !def.configurable))
            .filter(|name| self.server(name).is_none())
            .cloned()
            .collect();
        for name in rest {
            self.switch(&name, true, "listed for this platform");
        }
    }

    /// Step 8: every MCP server, unless the list names some or says `no_mcp`.
    fn take_servers(&mut self) {
        if self.listed.iter().any(|name| name == "no_mcp") {
            return;
        }
        let Some(Value::Object(servers)) = self.settings.get("mcp_servers") else { return };
        let named: Vec<String> =
            self.listed.iter().filter(|name| self.server(name).is_some()).cloned().collect();
        let all: Vec<String> = servers
            .iter()
            .filter(|(_, server)| server.get("enabled") != Some(&Value::Bool(false)))
            .map(|(name, _)| name.clone())
            .collect();
        let (chosen, why) = if named.is_empty() {
            (all, "an MCP server, on for every platform")
        } else {
            (named, "an MCP server, listed for this platform")
        };
        for name in chosen {
            self.switch(&name, true, why);
        }
    }

    /// Step 10: a name that means nothing is a mistake worth a word, in what is taken away most of
    /// all.
    fn notices(&self, disabled: &[String]) -> Vec<Notice> {
        let listed: Vec<String> =
            self.listed.iter().filter(|name| self.saved && *name != "no_mcp").cloned().collect();
        let lists = [(self.key.as_str(), listed.as_slice()), (DISABLED, disabled)];
        let notices = lists.into_iter().flat_map(|(key, names)| {
            unknown(names, self.settings, self.tools).into_iter().map(move |strange| Notice {
                key: key.to_owned(),
                what: format!("no toolset is named `{}`", strange.name),
                hint: strange.hint(),
            })
        });
        notices.collect()
    }

    fn server(&self, name: &str) -> Option<&Value> {
        self.settings.get("mcp_servers")?.get(name)
    }

    /// Step 9: what the user switched off everywhere goes last.
    fn finish(mut self) -> PlatformChoice {
        let disabled = self.settings.names(DISABLED).unwrap_or_default();
        let notices = self.notices(&disabled);
        for name in &disabled {
            if self.on.contains(name) {
                self.switch(name, false, "in `agent.disabled_toolsets`");
            }
        }
        PlatformChoice {
            platform: self.platform.to_owned(),
            enabled: self.on.into_iter().collect(),
            disabled,
            reasons: self.reasons,
            notices,
        }
    }

    fn switch(&mut self, toolset: &str, on: bool, why: &str) {
        if on {
            self.on.insert(toolset.to_owned());
        } else {
            self.on.remove(toolset);
        }
        self.reasons.push(Reason { toolset: toolset.to_owned(), on, why: why.to_owned() });
    }
}

/// Whether a toolset makes sense on a platform.
fn fits(def: &ToolsetDef, platform: &str) -> bool {
    def.only_platforms.is_empty() || def.only_platforms.contains(&platform)
}

/// Names that stand for several toolsets.
fn is_composite(name: &str) -> bool {
    named(name).map_or(name.starts_with("hermes-"), |def| def.kind != Kind::Leaf)
}
