//! Whose words a result carries: strangers' are labelled and remembered, private ones are kept, so
//! that policy sees where both go.

use std::path::PathBuf;

use petasos_contract::approval::{Finding, FindingKind};
use petasos_contract::call::{Content, Refusal};
use petasos_contract::effect::Effect;
use petasos_contract::taint::Carry;
use petasos_contract::tool::Provenance;
use petasos_contract::{Args, CallContext, CallId, Plan};
use petasos_taint::{Ledger, is_trusted, place_of};
use serde_json::{Value, json};

use crate::registry::Entry;
use crate::untrusted;

/// Arguments that say where a tool reads.
const PLACES: [&str; 8] =
    ["url", "urls", "query", "path", "image_url", "channel_id", "entity_id", "target"];

/// What the result of a call carries.
#[derive(Debug, Clone, Default)]
pub(super) struct Origin {
    /// Words of strangers, from this place.
    foreign: Option<String>,
    /// The user trusts that place.
    trusted: bool,
    /// Text of the person's, from outside the workspace.
    private: bool,
    /// What the call writes.
    written: Written,
}

/// Files that a call writes, by whose words are in them.
#[derive(Debug, Clone)]
enum Written {
    /// The user's own.
    Own(Vec<PathBuf>),
    /// Strangers' words are among them.
    Carried(Vec<PathBuf>),
}

impl Default for Written {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl Origin {
    pub(super) fn of(entry: &Entry, plan: &Plan, foreign: bool, cx: &CallContext) -> Self {
        if foreign || is_foreign(entry) {
            let place = place(entry, &plan.args);
            let trusted = is_trusted(&place, &cx.settings);
            return Self { foreign: Some(place), trusted, ..Self::default() };
        }
        if let Some(place) = noted(plan, cx) {
            let trusted = is_trusted(&place, &cx.settings);
            return Self { foreign: Some(place), trusted, ..Self::default() };
        }
        let written: Vec<PathBuf> = plan
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Write(path) => Some(cx.workspace.join(path)),
                _ => None,
            })
            .collect();
        let carried = !written.is_empty()
            && !cx.words.carried(&plan.args.words(), Carry::Anything).is_empty();
        let written = if carried { Written::Carried(written) } else { Written::Own(written) };
        Self { private: is_private(entry, plan, cx), written, ..Self::default() }
    }

    /// The same, where the tool itself says that strangers wrote into its result.
    pub(super) fn with_strangers(
        &self,
        strangers: bool,
        entry: &Entry,
        args: Option<&Args>,
        cx: &CallContext,
    ) -> Self {
        if !strangers || self.foreign.is_some() {
            return self.clone();
        }
        let place = args.map(|args| place(entry, args)).unwrap_or_default();
        let trusted = is_trusted(&place, &cx.settings);
        Self { foreign: Some(place), trusted, ..Self::default() }
    }

    /// Labels what strangers wrote and remembers what came in.
    pub(super) fn mark(
        &self,
        content: &mut Content,
        call: &CallId,
        entry: &Entry,
        cx: &CallContext,
    ) {
        let Some(place) = &self.foreign else {
            self.note_written(cx);
            if self.private {
                cx.words.kept(&content.text());
            }
            return;
        };
        if !self.trusted {
            cx.words.heard(entry.name.as_str(), place, call.as_str(), &content.text());
        }
        untrusted::label(content, call, &entry.name, &cx.events);
    }
}

impl Origin {
    /// Files that now hold strangers' words are noted for later conversations; those that were
    /// written anew without them are the user's own again.
    fn note_written(&self, cx: &CallContext) {
        let ledger = Ledger::of(&cx.settings);
        let (paths, from) = match &self.written {
            Written::Own(paths) => (paths, None),
            Written::Carried(paths) => {
                let sources = cx.words.sources();
                let from: Vec<String> = sources.iter().map(ToString::to_string).collect();
                (paths, Some(from.join(", ")))
            }
        };
        for path in paths.iter().filter(|path| path.is_file()) {
            let noted = match &from {
                Some(from) => ledger.note(path, from),
                None => ledger.forgive(path),
            };
            if let Err(error) = noted {
                tracing::warn!(%error, "whose words a file holds was not noted");
            }
        }
    }
}

/// Where the first file comes from that a call reads and that strangers wrote.
fn noted(plan: &Plan, cx: &CallContext) -> Option<String> {
    if plan.effects.is_empty() {
        return None;
    }
    let ledger = Ledger::of(&cx.settings).snapshot();
    plan.effects.iter().find_map(|effect| match effect {
        Effect::Read(path) => ledger.source(&cx.workspace.join(path)),
        Effect::Command { script, cwd } => script
            .split(|letter: char| letter.is_whitespace() || "'\"=(;|&<>".contains(letter))
            .filter(|word| word.contains(['/', '.']))
            .find_map(|word| ledger.source(&cwd.join(word))),
        _ => None,
    })
}

/// A refusal because of strangers' words says whose they are and what was repeated.
pub(super) fn told(
    refusal: Refusal,
    findings: &[Finding],
    plan: &Plan,
    cx: &CallContext,
) -> Refusal {
    let Some(gate) = findings.iter().find(|finding| finding.kind == FindingKind::Tainted) else {
        return refusal;
    };
    let text = plan.args.words();
    let gate = json!({
        "deed": gate.key,
        "heat": cx.words.heat(),
        "sources": cx.words.sources(),
        "carried": cx.words.carried(&text, Carry::Anything),
        "payload": cx.words.leaks(&text),
    });
    refusal.with("error_type", "tainted").with("gate", gate)
}

/// Whatever an MCP server gives is a stranger's, also when nobody said so.
fn is_foreign(entry: &Entry) -> bool {
    entry.provenance == Provenance::Foreign || entry.origin().mcp_server().is_some()
}

/// The server, host, path or question that a result comes from.
fn place(entry: &Entry, args: &Args) -> String {
    if let Some(server) = entry.origin().mcp_server() {
        return format!("mcp:{server}");
    }
    let object = args.object();
    let text = PLACES.iter().find_map(|name| match object.get(*name)? {
        Value::String(text) => Some(text.as_str()),
        Value::Array(items) => items.first().and_then(Value::as_str),
        _ => None,
    });
    place_of(text.unwrap_or_default())
}

/// Notes, earlier conversations, and files outside the workspace.
fn is_private(entry: &Entry, plan: &Plan, cx: &CallContext) -> bool {
    let outside = |path: &std::path::Path| path.is_absolute() && !path.starts_with(&cx.workspace);
    matches!(entry.name.as_str(), "session_search" | "memory")
        || plan.effects.iter().any(|effect| match effect {
            Effect::Read(path) => outside(path),
            Effect::Command { script: text, .. } | Effect::Code { source: text, .. } => {
                names_private(text, cx)
            }
            _ => false,
        })
}

/// Whether a command names a home, the machine's settings, or its variables.
fn names_private(text: &str, cx: &CallContext) -> bool {
    const ROOTS: [&str; 6] = ["/home/", "/root/", "/Users/", "/etc/", "/var/", "/srv/"];
    let apart = |letter: char| letter.is_whitespace() || "'\"=(;|&<>".contains(letter);
    text.split(apart).any(|word| {
        let below = std::path::Path::new(word).starts_with(&cx.workspace);
        word.starts_with('~')
            || word.starts_with("$HOME")
            || matches!(word, "env" | "printenv")
            || !below && ROOTS.iter().any(|root| word.starts_with(root))
    })
}
