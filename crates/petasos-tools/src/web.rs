//! What the web tools share: the pages of a session, and the shape of an answer.

use std::any::Any;
use std::sync::Arc;

use petasos_contract::ports::Ports;
use petasos_contract::{CallContext, ToolOutput};
use petasos_redact::Redactor;
use petasos_web::{Sources, WebError};
use serde_json::{Map, Value};

pub(crate) use petasos_web::secret_free;

/// The pages that sessions have read; a list of its own when the program keeps none.
pub(crate) fn sources(ports: &Ports) -> Arc<Sources> {
    let kept = ports.web_sources.clone().map(|kept| kept as Arc<dyn Any + Send + Sync>);
    kept.and_then(|kept| kept.downcast().ok()).unwrap_or_default()
}

/// The result of a tool, with secrets masked.
pub(crate) fn told(answer: Result<Map<String, Value>, WebError>, cx: &CallContext) -> ToolOutput {
    let object = answer.unwrap_or_else(|error| {
        let mut object = Map::new();
        object.insert("success".to_owned(), false.into());
        object.insert("error".to_owned(), error.message.into());
        object.insert("error_type".to_owned(), error.kind.into());
        object.extend(error.extra);
        object
    });
    let mut value = Value::Object(object);
    Redactor::of(&cx.settings).value(&mut value);
    ToolOutput::json(&value)
}
