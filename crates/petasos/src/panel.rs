//! The panel of the client that a conversation is open in.

use std::path::Path;
use std::sync::Arc;

use petasos_acp::{EditorRules, PanelAsk};
use petasos_contract::{BoxFuture, CallContext, SessionId};
use petasos_tools::{Panel, PanelText};
use serde_json::Value;

/// Panels of clients that declare one.
pub(crate) struct EditorPanel(pub(crate) Arc<EditorRules>);

impl EditorPanel {
    async fn ask(&self, ask: PanelAsk<'_>, cx: &CallContext) -> Result<Value, String> {
        let panel = self.0.panel(&cx.session).ok_or("the desktop app is gone")?;
        panel.ask(ask).await
    }
}

impl Panel for EditorPanel {
    fn is_shown(&self, session: &SessionId) -> bool {
        self.0.panel(session).is_some()
    }

    fn read<'a>(
        &'a self,
        start: Option<u64>,
        count: Option<u64>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<PanelText, String>> {
        Box::pin(async move {
            let told = self.ask(PanelAsk::Read(start, count), cx).await?;
            let number = |key: &str| told.get(key).and_then(Value::as_u64).unwrap_or_default();
            let text = told.get("text").and_then(Value::as_str);
            let text = text.ok_or("the desktop app gave no text")?.to_owned();
            Ok(PanelText {
                total_lines: number("totalLines"),
                start: number("start"),
                end: number("end"),
                viewport_rows: number("viewportRows"),
                cursor_row: number("cursorRow"),
                text,
            })
        })
    }

    fn close<'a>(
        &'a self,
        process_id: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.ask(PanelAsk::Close(process_id), cx).await.map(drop) })
    }

    fn move_to<'a>(
        &'a self,
        folder: &'a Path,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let folder = folder.display().to_string();
            self.ask(PanelAsk::Move(&folder), cx).await.map(drop)
        })
    }
}
