//! Custom OpenAI-compatible endpoint.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "custom",
    name: "Custom OpenAI-compatible endpoint",
    aliases: &["llama-cpp", "llama.cpp", "llamacpp", "local", "ollama", "vllm"],
    base_url_env: &["CUSTOM_BASE_URL"],
    reasoning_field: Some("reasoning_effort / think"),
    default_max_tokens: Some(65_536),
    ..Row::EMPTY
};
