//! Browserbase.

use petasos_contract::Settings;
use petasos_net::Method;
use serde_json::{Value, json};

use crate::cloud::{Ask, CloudDef, flag, number, word};

pub(super) static CLOUD: CloudDef = CloudDef {
    id: "browserbase",
    keys: &["BROWSERBASE_API_KEY"],
    base_variable: "BROWSERBASE_BASE_URL",
    base: "https://api.browserbase.com",
    header: Some("x-bb-api-key"),
    open,
    opened: |answer| Some((answer["id"].as_str()?.into(), answer["connectUrl"].as_str()?.into())),
    close: |id, settings| Ask {
        method: Method::POST,
        path: format!("/v1/sessions/{id}"),
        body: Some(with_project(json!({ "status": "REQUEST_RELEASE" }), settings)),
    },
    cents: 1,
};

fn open(settings: &Settings) -> Ask {
    let mut body = with_project(json!({}), settings);
    if let Some(object) = body.as_object_mut() {
        if flag(settings, "BROWSERBASE_PROXIES").unwrap_or(false) {
            object.insert("proxies".to_owned(), true.into());
        }
        if flag(settings, "BROWSERBASE_ADVANCED_STEALTH").unwrap_or(false) {
            object.insert("browserSettings".to_owned(), json!({ "advancedStealth": true }));
        }
        if flag(settings, "BROWSERBASE_KEEP_ALIVE").unwrap_or(false) {
            object.insert("keepAlive".to_owned(), true.into());
        }
        // The service takes one minute to six hours.
        if let Some(seconds) = number(settings, "BROWSERBASE_SESSION_TIMEOUT") {
            object.insert("timeout".to_owned(), seconds.clamp(60, 21_600).into());
        }
    }
    Ask { method: Method::POST, path: "/v1/sessions".to_owned(), body: Some(body) }
}

fn with_project(mut body: Value, settings: &Settings) -> Value {
    if let (Some(project), Some(object)) =
        (word(settings, "BROWSERBASE_PROJECT_ID"), body.as_object_mut())
    {
        object.insert("projectId".to_owned(), project.into());
    }
    body
}
