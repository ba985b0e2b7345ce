//! Perplexity: asked only when it is named, since its key often serves other tools.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "perplexity",
    name: "Perplexity",
    aliases: &["pplx"],
    base_url: "https://api.perplexity.ai",
    key_env: &["PERPLEXITY_API_KEY"],
    key_hosts: &["api.perplexity.ai"],
    models_dev_id: Some("perplexity"),
    ..Row::EMPTY
};
