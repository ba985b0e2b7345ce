//! GitHub Copilot ACP.

use crate::row::{Auth, Row};

pub(super) const ROW: Row = Row {
    id: "copilot-acp",
    name: "GitHub Copilot ACP",
    aliases: &["copilot-acp-agent", "github-copilot-acp"],
    auth: Auth::Process,
    base_url: "acp://copilot",
    base_url_env: &["COPILOT_ACP_BASE_URL"],
    default_model: Some("copilot-acp"),
    ..Row::EMPTY
};
