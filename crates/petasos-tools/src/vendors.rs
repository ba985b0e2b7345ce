//! What the tools of vendors share: the shape of an answer, and an end when the call is cancelled.

use std::future::Future;

use petasos_contract::{CallContext, ToolOutput};
use petasos_redact::Redactor;
use petasos_vendors::VendorError;
use serde_json::{Map, Value};

/// Does the work until the call is cancelled; what was sent by then may have arrived.
pub(crate) async fn until_cancelled<T, E: From<VendorError>>(
    cx: &CallContext,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => {
            let why = "the call was cancelled; what was sent may have arrived";
            Err(VendorError::new("cancelled", why).into())
        }
        done = work => done,
    }
}

/// How a family words its failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// With `"success": false`.
    Success,
    /// Without.
    Plain,
}

/// A failure as an object.
pub(crate) fn failed(error: VendorError, shape: Shape) -> Value {
    let mut object = Map::new();
    if shape == Shape::Success {
        object.insert("success".to_owned(), false.into());
    }
    object.insert("error".to_owned(), error.message.into());
    object.insert("error_type".to_owned(), error.kind.into());
    object.extend(error.extra);
    Value::Object(object)
}

/// Text of a result, with secrets masked.
pub(crate) fn masked(mut value: Value, cx: &CallContext) -> String {
    Redactor::of(&cx.settings).value(&mut value);
    value.to_string()
}
/// The result of a tool, with secrets masked.
pub(crate) fn told(
    answer: Result<Value, VendorError>,
    shape: Shape,
    cx: &CallContext,
) -> ToolOutput {
    ToolOutput::Text(masked(answer.unwrap_or_else(|error| failed(error, shape)), cx))
}
