//! The panel of a client: the terminal that its person sees, and the folder that it shows.
//!
//! The protocol has no words for it, so a client declares it as an extension, `petasos.panel` in the
//! `_meta` of its capabilities, and answers three methods: `_petasos/panel/read`,
//! `_petasos/panel/close` and `_petasos/panel/move`.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::ClientCapabilities;
use serde_json::{Value, json};

use crate::rpc::Peer;

/// How long a client may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a client is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PanelAsk<'a> {
    /// Lines of its terminal: from this one, so many.
    Read(Option<u64>, Option<u64>),
    /// Close the tab that mirrors a process.
    Close(&'a str),
    /// Show another folder when the turn is over.
    Move(&'a str),
}

/// The panel of a client, for one session.
#[derive(Debug)]
pub struct ClientPanel {
    peer: Arc<Peer>,
    session: String,
}

impl ClientPanel {
    /// For one session; nothing where the client declares none.
    pub(crate) fn new(
        peer: &Arc<Peer>,
        session: &str,
        offers: &ClientCapabilities,
    ) -> Option<Arc<Self>> {
        let said = serde_json::to_value(offers).unwrap_or_default();
        let is_there = said.pointer("/_meta/petasos/panel") == Some(&Value::Bool(true));
        is_there.then(|| Arc::new(Self { peer: Arc::clone(peer), session: session.to_owned() }))
    }

    /// Asks; the error is a sentence.
    pub async fn ask(&self, ask: PanelAsk<'_>) -> Result<Value, String> {
        let session = &self.session;
        let (method, params) = match ask {
            PanelAsk::Read(start, count) => (
                "_petasos/panel/read",
                json!({ "sessionId": session, "start": start, "count": count }),
            ),
            PanelAsk::Close(process) => {
                ("_petasos/panel/close", json!({ "sessionId": session, "processId": process }))
            }
            PanelAsk::Move(folder) => {
                ("_petasos/panel/move", json!({ "sessionId": session, "folder": folder }))
            }
        };
        let answer = self.peer.request(method, &params, PATIENCE).await;
        answer.map_err(|error| format!("the desktop app failed: {error}"))
    }
}
