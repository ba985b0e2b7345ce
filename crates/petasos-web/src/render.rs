//! Pages that are empty without their scripts: whoever has a browser can lend it.

use petasos_contract::{BoxFuture, CallContext};

use crate::fault::WebError;

/// A page after its scripts ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Where it ended up.
    pub url: String,
    /// The document, with the roots of its components as templates.
    pub html: String,
}

/// Something that runs a page's scripts, under the same address rule as everything here.
pub trait Renderer: std::fmt::Debug + Send + Sync {
    /// Whether it can do so here.
    fn is_there(&self, cx: &CallContext) -> bool;

    /// Opens the page in a context of its own and gives its document.
    fn render<'a>(
        &'a self,
        url: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Rendered, WebError>>;
}
