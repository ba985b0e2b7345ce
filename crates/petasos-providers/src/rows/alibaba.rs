//! Qwen Cloud.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "alibaba",
    name: "Qwen Cloud",
    aliases: &["alibaba-cloud", "aliyun", "dashscope", "qwen-dashscope"],
    base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    base_url_env: &["DASHSCOPE_BASE_URL"],
    key_env: &["DASHSCOPE_API_KEY"],
    key_hosts: &["dashscope-intl.aliyuncs.com", "dashscope.aliyuncs.com"],
    rank: Some(12),
    models_dev_id: Some("alibaba"),
    default_model: Some("qwen3.7-max"),
    ..Row::EMPTY
};
