//! Together AI: asked only when it is named, since its key often serves other tools.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "together",
    name: "Together AI",
    aliases: &["together-ai", "togetherai"],
    base_url: "https://api.together.xyz/v1",
    key_env: &["TOGETHER_API_KEY"],
    key_hosts: &["api.together.xyz", "api.together.ai"],
    models_dev_id: Some("togetherai"),
    ..Row::EMPTY
};
