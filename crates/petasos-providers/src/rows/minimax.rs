//! MiniMax.

use crate::mode::ApiMode;
use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "minimax",
    name: "MiniMax",
    aliases: &["mini-max"],
    api_mode: ApiMode::AnthropicMessages,
    base_url: "https://api.minimax.io/anthropic",
    base_url_env: &["MINIMAX_BASE_URL"],
    key_env: &["MINIMAX_API_KEY"],
    key_hosts: &["api.minimax.io"],
    rank: Some(10),
    models_dev_id: Some("minimax"),
    default_model: Some("MiniMax-M3"),
    aux_model: Some("MiniMax-M3"),
    reasoning_field: Some("thinking"),
    ..Row::EMPTY
};
