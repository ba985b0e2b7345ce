//! Azure Foundry.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "azure-foundry",
    name: "Azure Foundry",
    aliases: &["azure", "azure-ai", "azure-ai-foundry"],
    base_url_env: &["AZURE_FOUNDRY_BASE_URL"],
    key_env: &["AZURE_FOUNDRY_API_KEY"],
    token_hosts: &["login.microsoftonline.com"],
    rank: Some(25),
    ..Row::EMPTY
};
