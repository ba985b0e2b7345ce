//! GitLab Duo: Claude behind GitLab's gateway. A personal token is exchanged for a short-lived one
//! (`route/gitlab.rs`) and never goes to the gateway itself.

use crate::mode::ApiMode;
use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "gitlab",
    name: "GitLab Duo",
    aliases: &["gitlab-duo"],
    api_mode: ApiMode::AnthropicMessages,
    base_url: "https://cloud.gitlab.com/ai/v1/proxy/anthropic",
    key_env: &["GITLAB_DUO_TOKEN", "GITLAB_TOKEN"],
    key_hosts: &["cloud.gitlab.com"],
    token_hosts: &["gitlab.com"],
    models_dev_id: Some("gitlab"),
    default_model: Some("claude-sonnet-4-5-20250929"),
    ..Row::EMPTY
};
