//! Databricks model serving: the host is the user's workspace.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "databricks",
    name: "Databricks",
    aliases: &["mosaic"],
    base_url_env: &["DATABRICKS_BASE_URL", "DATABRICKS_HOST"],
    key_env: &["DATABRICKS_TOKEN"],
    key_hosts: &["*.cloud.databricks.com", "*.azuredatabricks.net", "*.gcp.databricks.com"],
    ..Row::EMPTY
};
