//! Where a request goes: the endpoint, the model, the limits and the repairs in force.
//!
//! It is what a dialect may know of a resolved provider: no secret, no pool, no settings.

use std::collections::BTreeSet;

use petasos_contract::id::ToolName;
use petasos_contract::model::CacheTtl;
use serde_json::{Map, Value};
use url::Url;

/// A change that makes a refused request acceptable; each is tried at most once per question.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Repair {
    /// Thinking blocks are left out.
    DropThinking,
    /// Encrypted reasoning is left out.
    DropEncryptedReasoning,
    /// `pattern` and `format` leave the tool schemas.
    DropPatterns,
    /// Images in tool results become text.
    DropToolImages,
    /// All images but those of the last message become text.
    DropOldImages,
    /// The beta for very long contexts is not asked for.
    DropLongContextBeta,
    /// This top-level body field is left out.
    DropField(String),
    /// The token limit is sent under its other name.
    RenameTokenLimit,
    /// The answer comes whole.
    NoStream,
    /// The answer may be this long at most.
    MaxTokens(u32),
    /// This tool is not offered.
    Quarantine(ToolName),
}

impl Repair {
    /// Whether the next question to the same model needs it too.
    pub fn lasts(&self) -> bool {
        match self {
            Self::DropPatterns
            | Self::DropToolImages
            | Self::DropLongContextBeta
            | Self::DropField(_)
            | Self::RenameTokenLimit
            | Self::NoStream
            | Self::Quarantine(_) => true,
            Self::DropThinking
            | Self::DropEncryptedReasoning
            | Self::DropOldImages
            | Self::MaxTokens(_) => false,
        }
    }

    /// The word in traces and notices.
    pub fn name(&self) -> String {
        match self {
            Self::DropThinking => "drop thinking blocks".to_owned(),
            Self::DropEncryptedReasoning => "drop encrypted reasoning".to_owned(),
            Self::DropPatterns => "drop `pattern` and `format` from tool schemas".to_owned(),
            Self::DropToolImages => "replace images in tool results by text".to_owned(),
            Self::DropOldImages => "replace older images by text".to_owned(),
            Self::DropLongContextBeta => "drop the long context beta".to_owned(),
            Self::DropField(field) => format!("drop `{field}`"),
            Self::RenameTokenLimit => "rename the token limit".to_owned(),
            Self::NoStream => "ask without streaming".to_owned(),
            Self::MaxTokens(tokens) => format!("limit the answer to {tokens} tokens"),
            Self::Quarantine(tool) => format!("leave out the tool `{tool}`"),
        }
    }
}

/// Where a request goes.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// The provider's id.
    pub provider: String,
    /// The model's id.
    pub model: String,
    /// The address without a final slash.
    pub base_url: String,
    /// Headers of the provider, then of the user.
    pub headers: Vec<(String, String)>,
    /// Merged into the body at the top.
    pub extra_body: Map<String, Value>,
    /// The user's own token limit.
    pub max_output_tokens: Option<u32>,
    /// The provider's usual token limit, when it wants one.
    pub default_max_tokens: Option<u32>,
    /// The model's context, when it is known.
    pub context_length: Option<u64>,
    /// Whether the credential is an OAuth token.
    pub oauth: bool,
    /// A stable name of the conversation, for caches at the provider.
    pub session: Option<String>,
    /// Whether the prefix is marked for the provider's cache.
    pub cache: Cache,
    /// What people call the provider, where they gave it a name.
    pub name: String,
    /// Repairs in force.
    pub repairs: BTreeSet<Repair>,
}

/// Whether and for how long a prefix is marked for the provider's cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cache {
    /// As the question says.
    #[default]
    AsAsked,
    /// Never.
    Off,
    /// For so long.
    For(CacheTtl),
}

impl Target {
    /// The host of the address, in lower case.
    pub fn host(&self) -> String {
        host(&self.base_url)
    }

    /// What people call the provider.
    pub fn who(&self) -> &str {
        if self.name.is_empty() { &self.provider } else { &self.name }
    }

    /// How long a marked prefix stays cached.
    pub fn ttl(&self, asked: CacheTtl) -> CacheTtl {
        match self.cache {
            Cache::For(ttl) => ttl,
            Cache::AsAsked | Cache::Off => asked,
        }
    }

    /// Whether the host is this domain or below it.
    pub fn is_at(&self, domain: &str) -> bool {
        let host = self.host();
        host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
    }

    /// The address as people are shown it: a query may hold what is not theirs to see.
    pub fn address(&self) -> &str {
        self.base_url.split('?').next().unwrap_or_default()
    }

    /// Whether a repair is in force.
    pub fn repaired(&self, repair: &Repair) -> bool {
        self.repairs.contains(repair)
    }

    /// Whether the answer is asked for in pieces.
    pub fn streams(&self) -> bool {
        !self.repaired(&Repair::NoStream)
    }

    /// The lowest limit that a repair imposes on the answer.
    pub fn token_cap(&self) -> Option<u32> {
        let caps = self.repairs.iter().filter_map(|repair| match repair {
            Repair::MaxTokens(tokens) => Some(*tokens),
            _ => None,
        });
        caps.min()
    }

    /// The model's name without its vendor, in lower case: after the last slash, and after
    /// Amazon's `us.anthropic.`.
    pub fn family(&self) -> String {
        let name = self.model.rsplit('/').next().unwrap_or(&self.model).to_ascii_lowercase();
        match name.split_once("anthropic.") {
            Some((_, claude)) => claude.to_owned(),
            None => name,
        }
    }

    /// Who could read what this target's replies carry for replay.
    pub fn issuer(&self) -> String {
        match self.provider.as_str() {
            "xai" | "xai-oauth" => "xai_responses".to_owned(),
            "copilot" => "github_responses".to_owned(),
            "openai-codex" => "codex_backend".to_owned(),
            "anthropic" if self.is_at("anthropic.com") => "anthropic".to_owned(),
            // Behind an aggregator each vendor signs for itself.
            "openrouter" | "nous" | "ai-gateway" | "kilocode" => {
                let vendor = self.model.split_once('/').map_or("", |(vendor, _)| vendor);
                format!("other:{}#{vendor}", self.base_url)
            }
            _ => format!("other:{}", self.base_url),
        }
    }

    /// An address below the base; a query of the base itself stays at the end.
    pub fn below(&self, path: &str) -> String {
        join(&self.base_url, path)
    }
}

/// The address of a path below an endpoint. Both may bring a query; the endpoint's own comes first.
pub fn join(base: &str, path: &str) -> String {
    let (stem, own) = base.split_once('?').map_or((base, None), |(stem, own)| (stem, Some(own)));
    let (path, more) = path.split_once('?').map_or((path, None), |(path, own)| (path, Some(own)));
    let query: Vec<&str> = own.into_iter().chain(more).filter(|part| !part.is_empty()).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let (stem, path) = (stem.trim_end_matches('/'), path.trim_start_matches('/'));
    format!("{stem}/{path}{mark}{}", query.join("&"))
}

fn host(base_url: &str) -> String {
    let parsed = Url::parse(base_url);
    let host = parsed.as_ref().ok().and_then(Url::host_str).unwrap_or_default();
    host.trim_end_matches('.').to_ascii_lowercase()
}
