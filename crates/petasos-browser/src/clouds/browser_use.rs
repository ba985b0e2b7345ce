//! Browser Use Cloud.

use petasos_net::Method;
use serde_json::json;

use crate::cloud::{Ask, CloudDef};

pub(super) static CLOUD: CloudDef = CloudDef {
    id: "browser-use",
    keys: &["BROWSER_USE_API_KEY"],
    base_variable: "BROWSER_USE_BASE_URL",
    base: "https://api.browser-use.com",
    header: Some("x-browser-use-api-key"),
    open: |_| Ask {
        method: Method::POST,
        path: "/api/v3/browsers".to_owned(),
        body: Some(json!({})),
    },
    opened: |answer| Some((answer["id"].as_str()?.into(), answer["cdpUrl"].as_str()?.into())),
    close: |id, _| Ask {
        method: Method::PATCH,
        path: format!("/api/v3/browsers/{id}"),
        body: Some(json!({ "action": "stop" })),
    },
    cents: 1,
};
