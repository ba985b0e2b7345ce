//! Qwen OAuth.

use crate::row::{Auth, Row};

pub(super) const ROW: Row = Row {
    id: "qwen-oauth",
    name: "Qwen OAuth",
    aliases: &["qwen", "qwen-cli", "qwen-portal"],
    auth: Auth::External,
    base_url: "https://portal.qwen.ai/v1",
    base_url_env: &["HERMES_QWEN_BASE_URL"],
    key_hosts: &["portal.qwen.ai"],
    token_hosts: &["chat.qwen.ai"],
    models_dev_id: Some("alibaba"),
    default_max_tokens: Some(65_536),
    ..Row::EMPTY
};
