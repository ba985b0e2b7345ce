//! One look at a page: the accessibility tree of every frame, and one picture of the document with
//! boxes and styles. No script runs in the page for it.

use std::collections::HashMap;

use futures::future::join_all;
use serde_json::{Value, json};

use super::build::Builder;
use super::dom::{Dom, LARGE};
use super::large::{Large, Want};
use super::{Node, Page};
use crate::error::BrowserError;
use crate::events::text;
use crate::session::{ActiveTab, Session};
use crate::tab::Frame;
use crate::wire::WireError;

const FRAMES_MAX: usize = 30;
const DEPTH_MAX: usize = 5;
/// So few elements are asked for at once, without a look at the document first.
pub(crate) const SMALL: u64 = 5_000;

/// A frame with what was seen of it.
pub(super) struct SeenFrame {
    pub(super) id: String,
    pub(super) loader: String,
    pub(super) url: String,
    pub(super) cdp: String,
    pub(super) tree: Value,
    /// The element that holds it, in its parent.
    pub(super) owner: Option<(String, i64)>,
}

/// Looks at every frame of a tab.
pub(crate) async fn capture(
    session: &Session,
    tab: &ActiveTab,
    want: &Want,
) -> Result<Page, BrowserError> {
    let children: Vec<(String, String)> = {
        let mut state = session.state();
        let known = state.tab(&tab.id).map(|tab| tab.children.clone()).unwrap_or_default();
        known.into_iter().collect()
    };
    let own = (tab.target.clone(), tab.cdp.clone());
    let targets: Vec<(String, String)> =
        std::iter::once(own).chain(children).take(FRAMES_MAX).collect();
    let looks = join_all(targets.iter().map(|it| target(session, it, want))).await;
    let mut frames = Vec::new();
    let mut doms = HashMap::new();
    for (at, looked) in looks.into_iter().enumerate() {
        match looked {
            Ok((seen, dom)) => {
                frames.extend(seen);
                if let Some((_, cdp)) = targets.get(at) {
                    doms.insert(cdp.clone(), dom);
                }
            }
            // A frame that went away meanwhile is no longer part of the page.
            Err(error) if at > 0 => tracing::debug!(%error, "a frame could not be read"),
            Err(WireError::Timeout(_)) => {
                let text = "the page is too large or too busy to be read";
                let hint = "use find or root of browser_snapshot, or web_extract";
                return Err(BrowserError::new("timeout", text).with("hint", hint));
            }
            Err(error) => return Err(error.into()),
        }
    }
    frames.truncate(FRAMES_MAX);
    owners(session, &mut frames).await;
    remember(session, tab, &frames);
    let scrolled = doms.get(&tab.cdp).map_or((0.0, 0.0), |dom| dom.scrolled);
    let loader =
        frames.iter().find(|frame| frame.id == tab.target).map(|frame| frame.loader.clone());
    let mut builder = Builder::new(&doms);
    let nodes = assemble(&frames, &tab.target, &mut builder, 0);
    let hidden_chars = builder.hidden_chars;
    let tree = frames.iter().filter(|frame| frame.id != tab.target);
    let tree = tree.map(|frame| json!({ "frame_id": frame.id, "url": frame.url })).collect();
    let begins = want.root.as_ref().map(|root| &root.key);
    let is_below = begins.is_some_and(|key| {
        let sizes = doms.get(&key.cdp).map(|dom| &dom.sizes);
        sizes.and_then(|sizes| sizes.get(&key.frame)).is_some_and(|size| *size > LARGE)
    });
    let loader = loader.unwrap_or_default();
    Ok(Page { nodes, loader, scrolled, hidden_chars, frames: tree, is_below })
}

/// Everything of one target: its frames with their trees, and its document.
async fn target(
    session: &Session,
    (main, cdp): &(String, String),
    want: &Want,
) -> Result<(Vec<SeenFrame>, Dom), WireError> {
    let call = |method: &'static str, params: Value| {
        session.wire.call(Some(cdp), method, params, session.options.look())
    };
    let styles = json!({ "computedStyles": ["cursor", "opacity", "visibility", "font-size", "clip-path", "overflow-x"],
        "includePaintOrder": false, "includeDOMRects": false });
    let whole = |id: &str| call("Accessibility.getFullAXTree", json!({ "frameId": id }));
    let is_small = want.elements.is_some_and(|elements| elements <= SMALL);
    let early = async { if is_small { Some(whole(main).await) } else { None } };
    let (frames, dom, early) = futures::future::join3(
        call("Page.getFrameTree", json!({})),
        call("DOMSnapshot.captureSnapshot", styles),
        early,
    )
    .await;
    let mut list = Vec::new();
    flatten(&frames?["frameTree"], &mut list);
    let dom = Dom::read(&dom?);
    let mut early = early;
    let known: Vec<Option<_>> =
        list.iter().map(|(id, ..)| if id == main { early.take() } else { None }).collect();
    let trees = join_all(list.iter().zip(known).map(|((id, ..), known)| {
        let (dom, is_large) = (&dom, dom.sizes.get(id).is_some_and(|size| *size > LARGE));
        async move {
            match known {
                Some(known) => known,
                None if is_large => Large { session, cdp, frame: id, dom }.tree(want).await,
                None => whole(id).await,
            }
        }
    }))
    .await;
    let mut seen = Vec::new();
    for ((id, loader, url), tree) in list.into_iter().zip(trees) {
        let tree = match tree {
            Ok(tree) => tree,
            Err(WireError::Refused { .. }) => Value::Null,
            Err(error) => return Err(error),
        };
        seen.push(SeenFrame { id, loader, url, cdp: cdp.to_owned(), tree, owner: None });
    }
    Ok((seen, dom))
}

fn flatten(tree: &Value, list: &mut Vec<(String, String, String)>) {
    let frame = &tree["frame"];
    let word = |key: &str| text(&frame[key]).to_owned();
    list.push((word("id"), word("loaderId"), word("url")));
    for child in tree["childFrames"].as_array().into_iter().flatten() {
        if list.len() < FRAMES_MAX {
            flatten(child, list);
        }
    }
}

/// Finds the element that holds each frame; only the target of the parent can say.
async fn owners(session: &Session, frames: &mut [SeenFrame]) {
    let targets: Vec<String> = {
        let mut targets: Vec<String> = frames.iter().map(|frame| frame.cdp.clone()).collect();
        targets.dedup();
        targets
    };
    let main = frames.first().map(|frame| frame.id.clone()).unwrap_or_default();
    let asks = frames.iter().filter(|frame| frame.id != main).map(|frame| {
        let (id, own, targets) = (frame.id.clone(), frame.cdp.clone(), targets.clone());
        async move {
            // Its own target first: that is right for frames of the same process.
            let order =
                std::iter::once(own.clone()).chain(targets.into_iter().filter(|t| *t != own));
            for cdp in order {
                let params = json!({ "frameId": id });
                let most = session.options.look();
                let told = session.wire.call(Some(&cdp), "DOM.getFrameOwner", params, most).await;
                if let Ok(told) = told
                    && let Some(node) = told["backendNodeId"].as_i64()
                {
                    return Some((id, cdp, node));
                }
            }
            None
        }
    });
    let found = join_all(asks).await;
    for (id, cdp, node) in found.into_iter().flatten() {
        if let Some(frame) = frames.iter_mut().find(|frame| frame.id == id) {
            frame.owner = Some((cdp, node));
        }
    }
}

fn remember(session: &Session, tab: &ActiveTab, frames: &[SeenFrame]) {
    let mut state = session.state();
    let Some(tab) = state.tab(&tab.id) else { return };
    for frame in frames {
        let known = Frame { loader: frame.loader.clone(), url: frame.url.clone() };
        tab.frames.insert(frame.id.clone(), known);
    }
}

/// The nodes of a frame with those of its frames inside.
fn assemble(frames: &[SeenFrame], id: &str, builder: &mut Builder<'_>, depth: usize) -> Vec<Node> {
    let Some(frame) = frames.iter().find(|frame| frame.id == id) else { return Vec::new() };
    let mut nodes = builder.frame(frame);
    if depth < DEPTH_MAX {
        let inside: Vec<&SeenFrame> = frames
            .iter()
            .filter(|other| {
                other.id != id && other.owner.as_ref().is_some_and(|(cdp, _)| *cdp == frame.cdp)
            })
            .collect();
        for child in inside {
            let Some((_, owner)) = &child.owner else { continue };
            if let Some(holder) = holder(&mut nodes, &frame.id, *owner) {
                holder.children = assemble(frames, &child.id, builder, depth + 1);
                let host = petasos_net::Url::parse(&child.url).ok();
                let host = host.and_then(|url| url.host_str().map(str::to_owned));
                holder.attributes.extend(host);
            }
        }
    }
    nodes
}

fn holder<'a>(nodes: &'a mut [Node], frame: &str, owner: i64) -> Option<&'a mut Node> {
    for node in nodes {
        let is_it = node.key.as_ref().is_some_and(|key| key.backend == owner && key.frame == frame);
        if is_it && node.role == "iframe" {
            return Some(node);
        }
        if let Some(found) = holder(&mut node.children, frame, owner) {
            return Some(found);
        }
    }
    None
}
