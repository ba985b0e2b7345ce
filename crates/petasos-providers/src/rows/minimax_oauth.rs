//! MiniMax (OAuth · minimax.io).

use crate::mode::ApiMode;
use crate::row::{Auth, Row};

pub(super) const ROW: Row = Row {
    id: "minimax-oauth",
    name: "MiniMax (OAuth · minimax.io)",
    aliases: &["minimax-global", "minimax-oauth-io", "minimax-portal", "minimax_oauth"],
    auth: Auth::DeviceCode,
    api_mode: ApiMode::AnthropicMessages,
    base_url: "https://api.minimax.io/anthropic",
    key_hosts: &["api.minimax.io", "api.minimaxi.com"],
    token_hosts: &["api.minimax.io", "api.minimaxi.com"],
    models_dev_id: Some("minimax"),
    default_model: Some("MiniMax-M3"),
    aux_model: Some("MiniMax-M2.7"),
    ..Row::EMPTY
};
