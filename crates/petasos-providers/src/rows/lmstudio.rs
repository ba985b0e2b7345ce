//! LM Studio.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "lmstudio",
    name: "LM Studio",
    aliases: &["lm-studio", "lm_studio"],
    base_url: "http://127.0.0.1:1234/v1",
    base_url_env: &["LM_BASE_URL"],
    key_env: &["LM_API_KEY"],
    key_hosts: &["<loopback>"],
    ..Row::EMPTY
};
