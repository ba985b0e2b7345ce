//! Dialogs: while one is open every call into the page would hang, so they come first.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::error::BrowserError;
use crate::session::{Dialog, Session, State};

/// The open dialog that is overdue is dismissed; else why nothing else can be done now.
pub(crate) fn open(session: &Session) -> Option<BrowserError> {
    let mut state = session.state();
    dismiss_overdue(session, &mut state);
    let open = waiting(&state);
    let first = *open.first()?;
    let text = format!(
        "a {} dialog is open and the page waits for it; answer it with browser_dialog",
        first.kind
    );
    let pending: Vec<Value> = open.iter().map(|dialog| dialog.told()).collect();
    Some(BrowserError::new("dialog_open", text).with("pending_dialogs", pending))
}

/// What nobody answered in time is dismissed; the page goes on.
fn dismiss_overdue(session: &Session, state: &mut State) {
    let most = session.options.dialog();
    let is_overdue = |dialog: &Dialog| dialog.opened.elapsed() > most;
    for dialog in state.dialogs.iter().filter(|dialog| is_overdue(dialog)) {
        let dismiss = json!({ "accept": false });
        session.wire.post(Some(&dialog.cdp), "Page.handleJavaScriptDialog", &dismiss);
    }
    let (overdue, open): (Vec<Dialog>, Vec<Dialog>) =
        std::mem::take(&mut state.dialogs).into_iter().partition(is_overdue);
    state.dialogs = open;
    for dialog in overdue {
        let note = format!("a {} dialog was dismissed, because nobody answered it", dialog.kind);
        state.note(note);
    }
}

/// Dialogs that the model must answer; those about leaving a page are answered by us.
fn waiting(state: &State) -> Vec<&Dialog> {
    state.dialogs.iter().filter(|dialog| dialog.kind != "beforeunload").collect()
}

/// The open dialogs.
pub(crate) fn pending(session: &Session) -> Value {
    let state = session.state();
    waiting(&state).iter().map(|dialog| dialog.told()).collect::<Vec<_>>().into()
}

/// Comes back when a dialog opens that nobody answers by rule.
pub(crate) async fn opens(session: &Session) {
    const FAR: Duration = Duration::from_hours(24);
    let by_rule = session.options.dialog_policy != crate::options::DialogPolicy::MustRespond;
    session
        .until(Instant::now() + FAR, |state| (!by_rule && !waiting(state).is_empty()).then_some(()))
        .await;
}

/// Accepts or dismisses a dialog.
pub(crate) async fn answer(
    session: &Session,
    accept: bool,
    id: Option<&str>,
    prompt: Option<&str>,
) -> Result<Map<String, Value>, BrowserError> {
    let found = {
        let state = session.state();
        let mut open = state.dialogs.iter();
        match id {
            Some(id) => open.find(|dialog| dialog.id == id).cloned(),
            None => open.next().cloned(),
        }
    };
    let Some(dialog) = found else {
        return Err(BrowserError::new("not_found", "no such dialog is open"));
    };
    let mut params = json!({ "accept": accept });
    if let (Some(text), Some(object)) = (prompt, params.as_object_mut()) {
        object.insert("promptText".to_owned(), text.into());
    }
    session.call(&dialog.cdp, "Page.handleJavaScriptDialog", params).await?;
    let is_closed =
        |state: &mut State| (!state.dialogs.iter().any(|open| open.id == dialog.id)).then_some(());
    session.until(Instant::now() + Duration::from_secs(2), is_closed).await;
    let mut answer = Map::new();
    answer.insert("action".to_owned(), if accept { "accept" } else { "dismiss" }.into());
    answer.insert("dialog".to_owned(), dialog.told());
    Ok(answer)
}
