//! Venice AI: asked only when it is named, since its key often serves other tools.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "venice",
    name: "Venice AI",
    aliases: &["venice-ai"],
    base_url: "https://api.venice.ai/api/v1",
    key_env: &["VENICE_API_KEY"],
    key_hosts: &["api.venice.ai"],
    models_dev_id: Some("venice"),
    ..Row::EMPTY
};
