//! The OpenAPI document: made from the table of endpoints and the types of their bodies.

use http::StatusCode;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::answer;
use crate::error::ErrorFrame;
use crate::routes::{Handled, ROUTES, Route};
use crate::server::Call;

pub(crate) fn serve(call: Call) -> Handled {
    Box::pin(async move { Ok(answer::json(StatusCode::OK, &document(call.server.version))) })
}

/// The document of this version.
pub fn document(version: &str) -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    let error = generator.subschema_for::<ErrorFrame>();
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let takes = route.takes.map(|shape| json!(shape(&mut generator)));
        let gives = route.gives.map(|shape| json!(shape(&mut generator)));
        let operation = operation(route, takes, gives, &json!(error));
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_lowercase()] = operation;
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Petasos", "version": version },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(route: &Route, takes: Option<Value>, gives: Option<Value>, error: &Value) -> Value {
    let body = |schema: Value| json!({ "application/json": { "schema": schema } });
    let places = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Vec<Value> = places
        .map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
        })
        .collect();
    let mut good = json!({ "description": route.about });
    if let Some(gives) = gives {
        let kind = if route.path.ends_with("/events") || route.path.ends_with("/stream") {
            "text/event-stream"
        } else {
            "application/json"
        };
        good["content"] = json!({ kind: { "schema": gives } });
    }
    let bad = json!({ "description": "what went wrong", "content": body(error.clone()) });
    let mut operation = json!({
        "summary": route.about,
        "parameters": parameters,
        "responses": { "200": good, "default": bad },
    });
    if let Some(takes) = takes {
        operation["requestBody"] = json!({ "required": true, "content": body(takes) });
    }
    if let Some(scope) = route.scope {
        operation["security"] = json!([{ "key": [scope.as_str()] }]);
    }
    operation
}
