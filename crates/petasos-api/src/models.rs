//! `/v1/models`: names, and nothing about who is behind them.

use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer;
use crate::chat::routed;
use crate::routes::Handled;
use crate::server::{Call, Inner};

/// A model.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Model {
    id: String,
    object: &'static str,
    created: i64,
    owned_by: &'static str,
}

/// All of them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelList {
    object: &'static str,
    data: Vec<Model>,
}

fn model(id: &str) -> Model {
    Model { id: id.to_owned(), object: "model", created: 0, owned_by: "petasos" }
}

fn names(server: &Inner) -> Vec<&str> {
    let usual = server.options.model.as_str();
    let others = server.options.models.keys().map(String::as_str).filter(|name| *name != usual);
    std::iter::once(usual).chain(others).collect()
}

pub(crate) fn list(call: Call) -> Handled {
    Box::pin(async move {
        let data = names(&call.server).into_iter().map(model).collect();
        Ok(answer::json(StatusCode::OK, &ModelList { object: "list", data }))
    })
}

pub(crate) fn one(call: Call) -> Handled {
    Box::pin(async move {
        let name = call.place(0);
        routed(&call.server, name)?;
        Ok(answer::json(StatusCode::OK, &model(name)))
    })
}
