//! From a reference to something that can be acted on: still in its document, drawn, enabled,
//! standing still, in view, and not covered by something else.
//!
//! Questions to the page are asked in a world of our own, in which the page's scripts have
//! nothing to say; whether a node is stale is known from its document, never from whether its
//! number still resolves.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::BrowserError;
use crate::events::text;
use crate::session::{ActiveTab, Session};
use crate::snapshot;
use crate::tab::RefRecord;
use crate::world::{self, WORLD};

const ACTIONABLE_WAIT: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(60);

/// The number in `@e5`, `e5` or `ref=e5`.
pub(crate) fn number(reference: &str) -> Option<u32> {
    let bare = reference.trim();
    let bare = bare.strip_prefix("ref=").unwrap_or(bare);
    let bare = bare.strip_prefix('@').unwrap_or(bare);
    bare.strip_prefix('e')?.parse().ok()
}

/// A node that is in its document.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) number: u32,
    pub(crate) record: RefRecord,
    /// The node as an object of our world.
    pub(crate) object: String,
    pub(crate) tab: ActiveTab,
}

/// A point in the viewport of the node's target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl Element {
    /// Finds what a reference names, or says why it names nothing any more.
    pub(crate) async fn find(session: &Session, reference: &str) -> Result<Self, BrowserError> {
        let tab = session.active()?;
        let Some(number) = number(reference) else {
            let text =
                format!("`{reference}` is no reference; use one of the snapshot, such as @e5");
            return Err(BrowserError::new("bad_argument", text));
        };
        let (record, elsewhere, is_current) = {
            let mut state = session.state();
            let elsewhere = state.tabs.iter().any(|other| {
                Some(&other.id) != state.active.as_ref() && other.refs.contains_key(&number)
            });
            let active = state.active_tab();
            let record = active.as_ref().and_then(|tab| tab.refs.get(&number).cloned());
            let both = record.as_ref().zip(active.as_ref());
            let is_current = both.is_some_and(|(record, tab)| tab.still_has(&record.key));
            (record, elsewhere, is_current)
        };
        let Some(record) = record else {
            let reason = if elsewhere { "other_tab" } else { "unknown" };
            let text = format!("there is no @e{number} on this page; take a browser_snapshot");
            let kind = if elsewhere { "stale" } else { "not_found" };
            return Err(BrowserError::new(kind, text)
                .with("ref", format!("@e{number}"))
                .with("reason", reason));
        };
        if !is_current {
            return Err(stale(session, number, &record, "navigated").await);
        }
        match object(session, &record).await {
            Ok(object) => {
                let element = Self { number, record, object, tab };
                let there = element.ask(session, "function(){return this.isConnected}", &[]).await;
                match there {
                    Ok(Value::Bool(true)) => Ok(element),
                    Ok(_) | Err(_) => Err(stale(session, number, &element.record, "removed").await),
                }
            }
            Err(error) if error.kind == "upstream" => {
                Err(stale(session, number, &record, "removed").await)
            }
            Err(error) => Err(error),
        }
    }

    /// Calls a function with the node as `this`, in our own world.
    pub(crate) async fn ask(
        &self,
        session: &Session,
        function: &str,
        arguments: &[Value],
    ) -> Result<Value, BrowserError> {
        let params = json!({ "functionDeclaration": function, "objectId": self.object,
            "arguments": arguments, "returnByValue": true, "awaitPromise": true, "silent": true });
        let answer = session.call(&self.record.key.cdp, "Runtime.callFunctionOn", params).await?;
        if let Some(problem) = answer.get("exceptionDetails") {
            let text = text(&problem["exception"]["description"]);
            return Err(BrowserError::new(
                "upstream",
                format!("the element did not answer: {text}"),
            ));
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Waits until it can be acted on, and gives the point to act at.
    pub(crate) async fn actionable(
        &self,
        session: &Session,
        must_edit: bool,
    ) -> Result<Point, BrowserError> {
        let end = Instant::now() + ACTIONABLE_WAIT;
        let mut scrolls = 0_u8;
        loop {
            let error = match self.attempt(session, must_edit, scrolls).await {
                Ok(point) => return Ok(point),
                Err(error) => error,
            };
            let retries = matches!(error.kind, "covered" | "not_actionable");
            if !retries || error.extra.contains_key("final") || Instant::now() >= end {
                let mut error = error;
                error.extra.remove("final");
                return Err(error);
            }
            if error.kind == "covered" {
                scrolls = scrolls.saturating_add(1);
                // What covers a node that was centred twice is no fixed bar.
                if scrolls > 3 {
                    return Err(error);
                }
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    async fn attempt(
        &self,
        session: &Session,
        must_edit: bool,
        scrolls: u8,
    ) -> Result<Point, BrowserError> {
        let cdp = &self.record.key.cdp;
        if scrolls > 0 {
            let centre = "function(){this.scrollIntoView({block:'center',inline:'center',behavior:'instant'})}";
            self.ask(session, centre, &[]).await?;
        } else {
            let params = json!({ "backendNodeId": self.record.key.backend });
            // A node without a box cannot be scrolled to; the look below says so.
            let scrolled = session.call(cdp, "DOM.scrollIntoViewIfNeeded", params).await;
            if let Err(error) = scrolled {
                tracing::trace!(%error, "no box to scroll to yet");
            }
        }
        let state = self.ask(session, STATE, &[json!({ "value": must_edit })]).await?;
        let word = text(&state["not"]);
        if !word.is_empty() {
            let name = &self.record.name;
            let text = format!("@e{} \"{name}\" is {word}", self.number);
            let error = BrowserError::new("not_actionable", text).with("reason", word);
            let is_final = matches!(word, "disabled" | "readonly" | "not editable");
            return Err(if is_final { error.with("final", true) } else { error });
        }
        let params = json!({ "backendNodeId": self.record.key.backend });
        let quads = session.call(cdp, "DOM.getContentQuads", params).await?;
        let Some(point) = middle(&quads["quads"]) else {
            let text = format!("@e{} has no box to act on", self.number);
            return Err(BrowserError::new("not_actionable", text).with("reason", "no box"));
        };
        self.hit(session, point).await.map(|()| point)
    }

    /// Whether what is at the point is the node, something inside it, its label or its host.
    async fn hit(&self, session: &Session, point: Point) -> Result<(), BrowserError> {
        let cdp = &self.record.key.cdp;
        // This call counts from the top of the document, the quads from the top of the view.
        let view = session.call(cdp, "Page.getLayoutMetrics", json!({})).await?;
        let scrolled = |key: &str| view["cssVisualViewport"][key].as_f64().unwrap_or(0.0);
        let params = json!({ "x": whole(point.x + scrolled("pageX")),
            "y": whole(point.y + scrolled("pageY")),
            "includeUserAgentShadowDOM": false, "ignorePointerEventsNone": true });
        let Ok(found) = session.call(cdp, "DOM.getNodeForLocation", params).await else {
            let text = format!("@e{} is outside the visible page", self.number);
            return Err(BrowserError::new("not_actionable", text).with("reason", "out of view"));
        };
        let backend = found["backendNodeId"].as_i64().unwrap_or(0);
        if backend == self.record.key.backend {
            return Ok(());
        }
        let mut record = self.record.clone();
        record.key.backend = backend;
        if let Some(frame) = found["frameId"].as_str() {
            frame.clone_into(&mut record.key.frame);
        }
        let is_same_frame = record.key.frame == self.record.key.frame;
        let is_frame = self.record.role == "iframe";
        let other = object(session, &record).await?;
        let inside = if is_same_frame {
            self.ask(session, INSIDE, &[json!({ "objectId": other })]).await?
        } else {
            // A point in a frame's box is in the frame's document: that is no cover.
            Value::Bool(is_frame)
        };
        if inside == true {
            return Ok(());
        }
        let cover = Self { object: other, record, ..self.clone() };
        let line = cover.ask(session, DESCRIBE, &[]).await.unwrap_or_default();
        let shown = text(&line).to_owned();
        let reference = covering(session, &cover);
        let text = format!("@e{} is covered by {shown}; close or scroll that first", self.number);
        let mut error = BrowserError::new("covered", text).with("cover", shown);
        if let Some(reference) = reference {
            error = error.with("cover_ref", reference);
        }
        Err(error)
    }
}

/// The reference of what covers, when it has one.
fn covering(session: &Session, cover: &Element) -> Option<String> {
    let mut state = session.state();
    let tab = state.tab(&cover.tab.id)?;
    let mut known = tab.numbers.iter();
    let (_, number) = known.find(|(key, _)| {
        key.backend == cover.record.key.backend && key.cdp == cover.record.key.cdp
    })?;
    Some(format!("@e{number}"))
}

/// The node in our own world of its frame.
pub(crate) async fn object(session: &Session, record: &RefRecord) -> Result<String, BrowserError> {
    let world = world::of(session, &record.key.cdp, &record.key.frame).await?;
    let params = json!({ "backendNodeId": record.key.backend, "objectGroup": WORLD,
        "executionContextId": world });
    let node = session.call(&record.key.cdp, "DOM.resolveNode", params).await?;
    Ok(text(&node["object"]["objectId"]).to_owned())
}

/// A dead reference, with the one element that stands in its place, if there is one.
async fn stale(
    session: &Session,
    number: u32,
    record: &RefRecord,
    reason: &'static str,
) -> BrowserError {
    let mut candidates = Vec::new();
    if reason == "removed"
        && let Ok(nodes) = snapshot::look(session).await
    {
        let alike = snapshot::alike(&nodes, &record.role, &record.name, number);
        if let [(reference, line)] = alike.as_slice() {
            candidates.push(json!({ "ref": format!("@e{reference}"), "line": line }));
        }
    }
    let text = match reason {
        "navigated" => {
            format!("@e{number} belongs to a page that is no longer there; take a browser_snapshot")
        }
        _ => format!("@e{number} was removed from the page; take a browser_snapshot"),
    };
    BrowserError::new("stale", text)
        .with("ref", format!("@e{number}"))
        .with("reason", reason)
        .with("candidates", candidates)
}

/// The middle of the largest of some quads.
fn middle(quads: &Value) -> Option<Point> {
    let corners = |quad: &Value| -> Option<[f64; 8]> {
        let numbers: Vec<f64> = quad.as_array()?.iter().filter_map(Value::as_f64).collect();
        numbers.try_into().ok()
    };
    let area = |[x1, y1, x2, y2, x3, y3, x4, y4]: [f64; 8]| {
        ((x1 * y2 - x2 * y1) + (x2 * y3 - x3 * y2) + (x3 * y4 - x4 * y3) + (x4 * y1 - x1 * y4))
            .abs()
            / 2.0
    };
    let quads = quads.as_array()?.iter().filter_map(corners);
    let largest = quads.max_by(|a, b| area(*a).total_cmp(&area(*b)))?;
    if area(largest) < 0.5 {
        return None;
    }
    let [x1, y1, x2, y2, x3, y3, x4, y4] = largest;
    Some(Point { x: (x1 + x2 + x3 + x4) / 4.0, y: (y1 + y2 + y3 + y4) / 4.0 })
}

/// A whole number for a call that takes no fractions.
fn whole(value: f64) -> Value {
    format!("{value:.0}").parse::<i64>().unwrap_or(0).into()
}

/// Waits two frames and says what is not as it must be.
const STATE: &str = "async function(mustEdit){
  const e=this;
  const frame=()=>new Promise(r=>{let t=setTimeout(r,80);requestAnimationFrame(()=>{clearTimeout(t);r()})});
  if(!e.isConnected) return {not:'removed'};
  const box=()=>{const r=e.getBoundingClientRect();return [r.x,r.y,r.width,r.height].map(v=>Math.round(v*10)).join()};
  const style=getComputedStyle(e);
  if(style.visibility==='hidden'||style.display==='none') return {not:'hidden'};
  const r=e.getBoundingClientRect();
  if(r.width<=0&&r.height<=0&&e.getClientRects().length===0&&style.display!=='contents') return {not:'without a box'};
  const off=n=>n&&(n.disabled===true||n.getAttribute&&n.getAttribute('aria-disabled')==='true');
  if(off(e)||e.closest('fieldset:disabled')&&'disabled' in e||e.matches(':disabled')) return {not:'disabled'};
  if(mustEdit){
    if(e.readOnly===true||e.getAttribute('aria-readonly')==='true') return {not:'readonly'};
    const t=e.tagName;
    if(!(t==='INPUT'||t==='TEXTAREA'||t==='SELECT'||e.isContentEditable)) return {not:'not editable'};
  }
  const before=box(); await frame(); await frame();
  if(box()!==before) return {not:'moving'};
  return {};
}";

/// Whether the argument is the node, inside it through shadow roots, its label, or its host.
const INSIDE: &str = "function(hit){
  const up=n=>n.assignedSlot||n.parentNode||(n.host?n.host:null);
  for(let n=hit;n;n=up(n)) if(n===this) return true;
  for(let n=this;n;n=n.getRootNode&&n.getRootNode().host) if(n===hit) return true;
  const element=hit.nodeType===1?hit:hit.parentElement;
  const label=element&&element.closest('label');
  if(label&&label.control===this) return true;
  for(let n=this;n;n=n.parentElement) if(n.tagName==='LABEL'&&n===element) return true;
  return false;
}";

/// What a node is, in a few words.
const DESCRIBE: &str = "function(){
  const e=this.nodeType===1?this:this.parentElement; if(!e) return 'the page';
  const box=e.closest('dialog,[role=dialog],[role=alertdialog],[aria-modal=true],header,footer,aside,section,div')||e;
  const role=box.getAttribute('role')||box.tagName.toLowerCase();
  const name=(box.getAttribute('aria-label')||box.id||box.innerText||'').replace(/\\s+/g,' ').trim().slice(0,60);
  return role+' \"'+name+'\"';
}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_in_every_spelling() {
        for given in ["@e5", "e5", "ref=e5", " ref=@e5 "] {
            assert_eq!(number(given), Some(5), "{given}");
        }
        for given in ["", "5", "@x5", "@e", "@e-1", "#e5"] {
            assert_eq!(number(given), None, "{given}");
        }
    }

    #[test]
    fn the_middle_of_the_largest_quad_is_taken() {
        let quads = json!([[0, 0, 1, 0, 1, 1, 0, 1], [10, 10, 30, 10, 30, 20, 10, 20]]);
        assert_eq!(middle(&quads), Some(Point { x: 20.0, y: 15.0 }));
        assert_eq!(middle(&json!([[5, 5, 5, 5, 5, 5, 5, 5]])), None);
    }
}
