//! MiniMax (China).

use crate::mode::ApiMode;
use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "minimax-cn",
    name: "MiniMax (China)",
    aliases: &["minimax-china", "minimax_cn"],
    api_mode: ApiMode::AnthropicMessages,
    base_url: "https://api.minimaxi.com/anthropic",
    base_url_env: &["MINIMAX_CN_BASE_URL"],
    key_env: &["MINIMAX_CN_API_KEY"],
    key_hosts: &["api.minimaxi.com"],
    rank: Some(14),
    models_dev_id: Some("minimax-cn"),
    default_model: Some("MiniMax-M3"),
    aux_model: Some("MiniMax-M3"),
    ..Row::EMPTY
};
