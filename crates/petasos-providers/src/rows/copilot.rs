//! GitHub Copilot.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "copilot",
    name: "GitHub Copilot",
    aliases: &["github", "github-copilot", "github-model", "github-models"],
    base_url: "https://api.githubcopilot.com",
    base_url_env: &["COPILOT_API_BASE_URL"],
    key_env: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
    key_hosts: &["api.githubcopilot.com", "*.githubcopilot.com"],
    token_hosts: &["api.github.com", "github.com"],
    models_dev_id: Some("github-copilot"),
    default_model: Some("gpt-5.4"),
    reasoning_field: Some("reasoning or reasoning_effort by mode"),
    ..Row::EMPTY
};
