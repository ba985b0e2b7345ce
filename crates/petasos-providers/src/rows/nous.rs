//! Nous Portal.

use crate::row::{Auth, Row};

pub(super) const ROW: Row = Row {
    id: "nous",
    name: "Nous Portal",
    aliases: &["nous-portal", "nousresearch"],
    auth: Auth::DeviceCode,
    base_url: "https://inference-api.nousresearch.com/v1",
    base_url_env: &["NOUS_INFERENCE_BASE_URL"],
    key_hosts: &["inference-api.nousresearch.com"],
    token_hosts: &["portal.nousresearch.com"],
    default_model: Some("z-ai/glm-5.2"),
    reasoning_field: Some("extra_body.reasoning"),
    ..Row::EMPTY
};
