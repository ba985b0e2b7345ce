//! Questions to a document in a world of our own: the page's scripts cannot answer for it.

use serde_json::{Value, json};

use crate::session::Session;
use crate::wire::WireError;

/// What the world is called.
pub(crate) const WORLD: &str = "petasos";

/// The number of our world in a frame; one is made where there is none yet.
pub(crate) async fn of(session: &Session, cdp: &str, frame: &str) -> Result<i64, WireError> {
    let known = session.state().tabs.iter().find_map(|tab| tab.worlds.get(frame).cloned());
    if let Some((_, world)) = known.filter(|(target, _)| target == cdp) {
        return Ok(world);
    }
    let params = json!({ "frameId": frame, "worldName": WORLD });
    let made = session.call(cdp, "Page.createIsolatedWorld", params).await?;
    Ok(made["executionContextId"].as_i64().unwrap_or_default())
}

/// The value of an expression in our world of a frame; what it promises is waited for.
pub(crate) async fn ask(
    session: &Session,
    (cdp, frame): (&str, &str),
    expression: &str,
) -> Result<Value, WireError> {
    let world = of(session, cdp, frame).await?;
    let params = json!({ "expression": expression, "contextId": world, "returnByValue": true,
        "awaitPromise": true, "silent": true });
    let answer = session.call(cdp, "Runtime.evaluate", params).await?;
    Ok(answer["result"]["value"].clone())
}
