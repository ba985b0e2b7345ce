//! One provider as constant data: what a file under `rows/` declares.
//!
//! A row says where a provider is, which variables hold its key and which hosts that key may go
//! to. What a provider does differently on the wire belongs to the transports.

use serde::{Deserialize, Serialize};

use crate::mode::ApiMode;

/// How a provider knows its users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// A key from a variable, the configuration or a pool.
    ApiKey,
    /// A login of our own, started with a code on another device.
    DeviceCode,
    /// A login that another program may own too.
    External,
    /// A local program that logs in by itself.
    Process,
    /// Amazon's chain of credentials.
    Aws,
    /// Google Cloud credentials.
    Vertex,
    /// None: the provider is made of other providers.
    Virtual,
}

/// A host pattern that stands for this machine.
pub const LOOPBACK: &str = "<loopback>";

/// A row of the provider table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Canonical id.
    pub id: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Other spellings.
    pub aliases: &'static [&'static str],
    /// How it knows its users.
    pub auth: Auth,
    /// Its usual dialect.
    pub api_mode: ApiMode,
    /// Its usual endpoint; empty when the user must name one.
    pub base_url: &'static str,
    /// Variables that may move the endpoint, the first that is set counts.
    pub base_url_env: &'static [&'static str],
    /// Variables that hold the key, in order.
    pub key_env: &'static [&'static str],
    /// Hosts that the key may go to: `host`, `*.suffix` or [`LOOPBACK`].
    pub key_hosts: &'static [&'static str],
    /// Hosts that a refresh token may go to.
    pub token_hosts: &'static [&'static str],
    /// Whether model ids carry a vendor and lead to many vendors.
    pub aggregator: bool,
    /// Place in the scan for keys when nothing was chosen.
    pub rank: Option<u8>,
    /// Key in the models.dev catalogue.
    pub models_dev_id: Option<&'static str>,
    /// The model when none was ever chosen.
    pub default_model: Option<&'static str>,
    /// The cheap model for side tasks.
    pub aux_model: Option<&'static str>,
    /// The model that sees, where it differs.
    pub vision_model: Option<&'static str>,
    /// Where the reasoning setting travels.
    pub reasoning_field: Option<&'static str>,
    /// The answer's ceiling when the user names none.
    pub default_max_tokens: Option<u32>,
    /// Headers of every request.
    pub headers: &'static [(&'static str, &'static str)],
}

impl Row {
    /// The row that the others are written against.
    pub const EMPTY: Self = Self {
        id: "",
        name: "",
        aliases: &[],
        auth: Auth::ApiKey,
        api_mode: ApiMode::ChatCompletions,
        base_url: "",
        base_url_env: &[],
        key_env: &[],
        key_hosts: &[],
        token_hosts: &[],
        aggregator: false,
        rank: None,
        models_dev_id: None,
        default_model: None,
        aux_model: None,
        vision_model: None,
        reasoning_field: None,
        default_max_tokens: None,
        headers: &[],
    };
}
