//! Who brought a tool, and how far that is trusted.
//!
//! An origin is made by the loader that brings the tools, never by the tools themselves, so it
//! cannot be forged by what it describes.

use std::fmt;
use std::sync::Arc;

use petasos_contract::{SessionId, Settings};
use serde_json::Value;

use super::Entry;

/// Who brought a tool.
#[derive(Debug, Clone)]
pub struct Origin {
    kind: Kind,
    may_override: bool,
    /// The session that alone sees what it brings; all do without one.
    scope: Option<SessionId>,
}

/// The operator's consent can change between two loads; whoever brings the tools stays the same,
/// and must find what it registered before.
impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.scope == other.scope
    }
}

impl Eq for Origin {}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Core,
    BundledPlugin(Arc<str>),
    Plugin(Arc<str>),
    Mcp(Arc<str>),
}

/// How far an origin is trusted with names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// Plugins and MCP servers.
    Guest,
    /// Plugins that come with the program.
    Bundled,
    /// The program itself.
    Core,
}

impl Origin {
    /// The program itself, or the program that embeds it.
    pub fn core() -> Self {
        Self { kind: Kind::Core, may_override: true, scope: None }
    }

    /// A plugin that comes with the program.
    pub fn bundled_plugin(id: &str) -> Self {
        Self { kind: Kind::BundledPlugin(id.into()), may_override: true, scope: None }
    }

    /// A plugin of the user; the operator's consent is read from the settings.
    pub fn plugin(id: &str, settings: &Settings) -> Self {
        let consent = settings
            .get("plugins.entries")
            .and_then(|entries| entries.get(id)?.get("allow_tool_override"));
        let may_override = consent == Some(&Value::Bool(true));
        Self { kind: Kind::Plugin(id.into()), may_override, scope: None }
    }

    /// An MCP server.
    pub fn mcp(server: &str) -> Self {
        Self { kind: Kind::Mcp(server.into()), may_override: false, scope: None }
    }

    /// The same for one session alone: what it brings is seen there and nowhere else, and meets
    /// nothing that another session has under the same name.
    #[must_use]
    pub fn within(mut self, session: &SessionId) -> Self {
        self.scope = Some(session.clone());
        self
    }

    /// The session that alone sees what it brings.
    pub fn scope(&self) -> Option<&SessionId> {
        self.scope.as_ref()
    }

    /// How far it is trusted with names.
    pub fn trust(&self) -> Trust {
        match self.kind {
            Kind::Core => Trust::Core,
            Kind::BundledPlugin(_) => Trust::Bundled,
            Kind::Plugin(_) | Kind::Mcp(_) => Trust::Guest,
        }
    }

    /// Whether the operator lets it replace tools of higher trust.
    pub fn may_override(&self) -> bool {
        self.may_override
    }

    /// The MCP server, when it is one.
    pub fn mcp_server(&self) -> Option<&str> {
        match &self.kind {
            Kind::Mcp(server) => Some(server),
            Kind::Core | Kind::BundledPlugin(_) | Kind::Plugin(_) => None,
        }
    }

    /// The plugin, when it is one.
    pub fn plugin_id(&self) -> Option<&str> {
        match &self.kind {
            Kind::BundledPlugin(id) | Kind::Plugin(id) => Some(id),
            Kind::Core | Kind::Mcp(_) => None,
        }
    }

    /// What search results call it: `mcp`, `plugin` or `other`.
    pub fn label(&self) -> &'static str {
        match self.kind {
            Kind::Core => "other",
            Kind::BundledPlugin(_) | Kind::Plugin(_) => "plugin",
            Kind::Mcp(_) => "mcp",
        }
    }

    /// Its own entries, those of MCP servers, and, for the program or with consent, any.
    pub(super) fn may_remove(&self, entry: &Entry) -> bool {
        entry.is_mcp() || self.may_override || entry.origin == *self
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Core => f.write_str("the program itself"),
            Kind::BundledPlugin(id) => write!(f, "bundled plugin `{id}`"),
            Kind::Plugin(id) => write!(f, "plugin `{id}`"),
            Kind::Mcp(server) => write!(f, "MCP server `{server}`"),
        }
    }
}
