//! Alibaba Cloud (Coding Plan).

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "alibaba-coding-plan",
    name: "Alibaba Cloud (Coding Plan)",
    aliases: &["alibaba-coding", "alibaba_coding", "alibaba_coding_plan", "dashscope-coding"],
    base_url: "https://coding-intl.dashscope.aliyuncs.com/v1",
    base_url_env: &["ALIBABA_CODING_PLAN_BASE_URL"],
    key_env: &["ALIBABA_CODING_PLAN_API_KEY", "DASHSCOPE_API_KEY"],
    key_hosts: &["coding-intl.dashscope.aliyuncs.com", "coding.dashscope.aliyuncs.com"],
    rank: Some(13),
    default_model: Some("qwen3.7-plus"),
    ..Row::EMPTY
};
