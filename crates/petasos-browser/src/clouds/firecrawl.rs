//! Firecrawl's browsers, hosted or on a host of your own.

use petasos_net::Method;
use serde_json::json;

use crate::cloud::{Ask, CloudDef, number};

pub(super) static CLOUD: CloudDef = CloudDef {
    id: "firecrawl",
    keys: &["FIRECRAWL_API_KEY"],
    base_variable: "FIRECRAWL_API_URL",
    base: "https://api.firecrawl.dev",
    header: None,
    open: |settings| {
        // The service takes half a minute to an hour.
        let ttl = number(settings, "FIRECRAWL_BROWSER_TTL").unwrap_or(300).clamp(30, 3600);
        let body = Some(json!({ "ttl": ttl }));
        Ask { method: Method::POST, path: "/v2/browser".to_owned(), body }
    },
    opened: |answer| Some((answer["id"].as_str()?.into(), answer["cdpUrl"].as_str()?.into())),
    close: |id, _| Ask { method: Method::DELETE, path: format!("/v2/browser/{id}"), body: None },
    cents: 1,
};
