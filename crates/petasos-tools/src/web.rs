//! What the web tools share: the pages of a session, a browser for pages that need one, and the
//! shape of an answer.

use std::sync::Arc;

use petasos_browser::{BrowserError, Browsers};
use petasos_contract::ports::Ports;
use petasos_contract::{BoxFuture, CallContext, ToolOutput};
use petasos_redact::Redactor;
use petasos_web::{Rendered, Renderer, Sources, WebError};
use serde_json::{Map, Value};

pub(crate) use petasos_web::secret_free;

use crate::browser;

/// The pages that sessions have read; a list of its own when the program keeps none.
pub(crate) fn sources(ports: &Ports) -> Arc<Sources> {
    Sources::of(ports).unwrap_or_default()
}

/// The program's browsers, lent to pages that are empty without their scripts.
#[derive(Debug)]
pub(crate) struct Lent(pub(crate) Arc<Browsers>);

impl Renderer for Lent {
    fn is_there(&self, cx: &CallContext) -> bool {
        browser::is_available(&cx.settings)
    }

    fn render<'a>(
        &'a self,
        url: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Rendered, WebError>> {
        Box::pin(async move {
            let failed = |error: BrowserError| {
                let text = format!("the page needs its scripts, and {}", error.message);
                WebError { kind: error.kind, message: text, extra: error.extra }
            };
            let (url, html) = self.0.render(cx, url).await.map_err(failed)?;
            Ok(Rendered { url, html })
        })
    }
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
