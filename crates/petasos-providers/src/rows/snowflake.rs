//! Snowflake Cortex: the host is the user's account, the key a programmatic access token.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "snowflake",
    name: "Snowflake Cortex",
    aliases: &["cortex", "snowflake-cortex"],
    base_url_env: &["SNOWFLAKE_BASE_URL", "SNOWFLAKE_HOST"],
    key_env: &["SNOWFLAKE_TOKEN", "SNOWFLAKE_PAT"],
    key_hosts: &["*.snowflakecomputing.com"],
    ..Row::EMPTY
};
