//! What the tools of a desktop client share: its panel.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::ports::{Memory, Ports};
use petasos_contract::{BoxFuture, CallContext, SessionId, wait};

use crate::trouble::Trouble;

const NEEDS: &str = "needs the desktop app";
/// How long a client may take to answer.
pub(crate) const ANSWER: Duration = Duration::from_secs(5);

/// Lines of the terminal that a person sees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PanelText {
    /// How many lines it has.
    pub total_lines: u64,
    /// The first line that is here, from zero.
    pub start: u64,
    /// The line after the last one.
    pub end: u64,
    /// How many lines the person sees.
    pub viewport_rows: u64,
    /// The line that the cursor is on.
    pub cursor_row: u64,
    /// The lines.
    pub text: String,
}

/// A client that shows a panel. Refusals are sentences for a model.
pub trait Panel: Send + Sync {
    /// Whether the client of this conversation shows one.
    fn is_shown(&self, session: &SessionId) -> bool;

    /// Lines of its terminal: from this one, so many.
    fn read<'a>(
        &'a self,
        start: Option<u64>,
        count: Option<u64>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<PanelText, String>>;

    /// Closes the tab that mirrors a background process, which lives on.
    fn close<'a>(
        &'a self,
        process_id: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Moves the conversation to a folder, when its turn is over.
    fn move_to<'a>(
        &'a self,
        folder: &'a Path,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), String>>;
}

/// A client as a port.
pub struct Panels(pub Arc<dyn Panel>);

impl std::fmt::Debug for Panels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Panels")
    }
}

impl Memory for Panels {
    fn forget(&self, _: &SessionId) {}
}

/// The panel of a conversation, where its client shows one.
fn shown(ports: &Ports, session: &SessionId) -> Option<Arc<dyn Panel>> {
    let port: Arc<dyn Any + Send + Sync> = ports.panel.clone()? as _;
    let client = Arc::clone(&port.downcast::<Panels>().ok()?.0);
    client.is_shown(session).then_some(client)
}

/// A client of the conversation shows the panel.
pub(crate) static DESKTOP: CheckDef = CheckDef {
    id: "desktop",
    scope: CheckScope::Session,
    probe: |cx| {
        Box::pin(async move { Availability::when(shown(&cx.ports, &cx.session).is_some(), NEEDS) })
    },
};

/// The panel of the conversation.
pub(crate) fn panel(ports: &Ports, cx: &CallContext) -> Result<Arc<dyn Panel>, Trouble> {
    shown(ports, &cx.session).ok_or_else(|| Trouble::new("missing_setup", NEEDS))
}

/// What a client answers, in time.
pub(crate) async fn answered<T>(
    what: &'static str,
    answer: BoxFuture<'_, Result<T, String>>,
) -> Result<T, Trouble> {
    match wait::until(Instant::now() + ANSWER, what, answer).await {
        Ok(answer) => answer.map_err(|why| Trouble::new("upstream", why)),
        Err(_) => Err(Trouble::new("timeout", "the desktop app did not answer within 5 s")),
    }
}
