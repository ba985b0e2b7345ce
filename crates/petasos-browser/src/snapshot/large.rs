//! Frames that are too large to be asked for whole: their accessibility tree is walked in the order
//! of the document, so far, and what is left can be asked for from where the walk stopped.

use std::collections::{HashMap, HashSet};

use futures::future::join_all;
use serde_json::{Value, json};

use super::dom::Dom;
use crate::events::text;
use crate::session::Session;
use crate::tab::NodeKey;
use crate::wire::WireError;

const NODES_MAX: usize = 5_000;
/// Calls that are under way at once.
const TOGETHER: usize = 64;
/// A node with so few children is shown whole or not at all.
const SMALL_NODE: usize = 20;
/// Places of a text that are shown.
const FOUND_MAX: usize = 40;

/// Where a look begins.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) key: NodeKey,
    /// Whether what follows it belongs to the look, too.
    pub(crate) goes_on: bool,
}

/// What is wanted of a page, for those that are too large to be given whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Want {
    pub(crate) find: Option<String>,
    pub(crate) root: Option<Root>,
    /// How many elements there are, where that is known already.
    pub(crate) elements: Option<u64>,
}

/// One large frame.
pub(super) struct Large<'a> {
    pub(super) session: &'a Session,
    pub(super) cdp: &'a str,
    pub(super) frame: &'a str,
    pub(super) dom: &'a Dom,
}

impl Large<'_> {
    /// A tree in the shape of a whole one. A node whose children were not all visited has `cut`.
    pub(super) async fn tree(&self, want: &Want) -> Result<Value, WireError> {
        // The numbers of nodes stay the same between calls only while this is on.
        self.call("Accessibility.enable", json!({})).await?;
        let root = want.root.as_ref().filter(|root| root.key.frame == self.frame);
        let tree = match (root, &want.find) {
            (Some(root), _) => self.below(root).await,
            (None, Some(words)) => self.found(words).await,
            (None, None) => {
                let root =
                    self.call("Accessibility.getRootAXNode", json!({ "frameId": self.frame }));
                match root.await {
                    Ok(root) => self.walk(root["node"].clone()).await,
                    Err(error) => Err(error),
                }
            }
        };
        self.session.wire.post(Some(self.cdp), "Accessibility.disable", &json!({}));
        tree.map(|nodes| json!({ "nodes": nodes }))
    }

    async fn call(&self, method: &str, params: Value) -> Result<Value, WireError> {
        let most = self.session.options.look();
        self.session.wire.call(Some(self.cdp), method, params, most).await
    }

    /// A node and what it is inside of, from the inside out.
    async fn chain(&self, backend: i64) -> Result<Vec<Value>, WireError> {
        let params = json!({ "backendNodeId": backend });
        let told = self.call("Accessibility.getAXNodeAndAncestors", params).await?;
        Ok(told["nodes"].as_array().cloned().unwrap_or_default())
    }

    /// One subtree, or the rest of the siblings from a node on.
    async fn below(&self, root: &Root) -> Result<Vec<Value>, WireError> {
        let mut chain = self.chain(root.key.backend).await?.into_iter();
        let Some(first) = chain.next() else { return Ok(Vec::new()) };
        if !root.goes_on {
            return self.walk(first).await;
        }
        let Some(mut parent) = chain.next() else { return Ok(Vec::new()) };
        let id = text(&first["nodeId"]).to_owned();
        if let Some(children) = parent["childIds"].as_array_mut() {
            let from = children.iter().position(|child| text(child) == id).unwrap_or(0);
            children.drain(..from);
        }
        self.walk(parent).await
    }

    /// The places where some words stand, each with what it is inside of.
    async fn found(&self, words: &str) -> Result<Vec<Value>, WireError> {
        let words = words.to_lowercase();
        let texts = self.dom.texts.iter().filter(|(_, said)| said.to_lowercase().contains(&words));
        let controls = self.dom.infos.iter().filter(|(_, info)| {
            let named = ["aria-label", "title", "alt", "placeholder", "value"];
            let mut given = named.iter().filter_map(|name| info.attributes.get(*name));
            given.any(|said| said.to_lowercase().contains(&words))
        });
        let mut places: Vec<i64> =
            texts.map(|(id, _)| *id).chain(controls.map(|(id, _)| *id)).collect();
        places.sort_by_key(|id| self.dom.order.get(id));
        places.truncate(FOUND_MAX);
        let chains = join_all(places.iter().map(|id| self.chain(*id))).await;
        let mut nodes: Vec<Value> = Vec::new();
        let mut known = HashSet::new();
        // What is inside a node that was found is shown with it.
        for chain in chains.into_iter().flatten() {
            for (depth, node) in chain.into_iter().rev().enumerate() {
                if known.insert(text(&node["nodeId"]).to_owned()) {
                    let at = if depth == 0 { 0 } else { nodes.len() };
                    nodes.insert(at, node);
                }
            }
        }
        Ok(nodes)
    }

    /// Visits what is below a node, in the order of the document, up to the limit.
    async fn walk(&self, root: Value) -> Result<Vec<Value>, WireError> {
        let top = text(&root["nodeId"]).to_owned();
        let mut known: HashMap<String, Value> = HashMap::from([(top.clone(), root)]);
        let mut visited: Vec<String> = Vec::new();
        // The next one is the last.
        let mut ahead = vec![top.clone()];
        while !ahead.is_empty() && visited.len() < NODES_MAX {
            let from = ahead.len().saturating_sub(TOGETHER.min(NODES_MAX - visited.len()));
            let batch: Vec<String> = ahead.drain(from..).rev().collect();
            self.open(&batch, &mut known).await?;
            // The children of the first are visited before those of the second.
            for id in batch.iter().rev() {
                let children = known.get(id).map(children).unwrap_or_default();
                ahead.extend(children.into_iter().rev().filter(|child| known.contains_key(child)));
            }
            visited.extend(batch);
        }
        let (kept, left) = whole(&visited, ahead, (&known, &top));
        for id in &kept {
            let Some(node) = known.get(id) else { continue };
            let missing: Vec<String> =
                children(node).into_iter().filter(|child| left.contains(child)).collect();
            let next = missing.first().and_then(|id| known.get(id));
            let next = next.map(|next| next["backendDOMNodeId"].clone());
            if let (Some(next), Some(Value::Object(node))) = (next, known.get_mut(id)) {
                let cut = json!({ "left": missing.len(), "next": next });
                node.insert("cut".to_owned(), cut);
            }
        }
        Ok(kept.into_iter().filter_map(|id| known.remove(&id)).collect())
    }

    /// Asks for the children of some nodes that are not known yet.
    async fn open(
        &self,
        batch: &[String],
        known: &mut HashMap<String, Value>,
    ) -> Result<(), WireError> {
        let is_closed = |id: &&String| {
            let node = known.get(*id);
            node.is_some_and(|node| children(node).iter().any(|child| !known.contains_key(child)))
        };
        let asks = batch.iter().filter(is_closed).map(|id| {
            let params = json!({ "id": id, "frameId": self.frame });
            self.call("Accessibility.getChildAXNodes", params)
        });
        for told in join_all(asks).await {
            // A node that went away meanwhile has no children.
            let told = match told {
                Ok(told) => told,
                Err(WireError::Refused { .. }) => continue,
                Err(error) => return Err(error),
            };
            for node in told["nodes"].as_array().into_iter().flatten() {
                known.entry(text(&node["nodeId"]).to_owned()).or_insert_with(|| node.clone());
            }
        }
        Ok(())
    }
}

/// What is shown of what was visited, and what is left: a small node of which a part was not visited
/// is left whole, where what follows it is left as well.
fn whole(
    visited: &[String],
    ahead: Vec<String>,
    (known, top): (&HashMap<String, Value>, &str),
) -> (Vec<String>, HashSet<String>) {
    let inside = |id: &String| {
        let all = known.get(id).map(children).unwrap_or_default();
        all.into_iter().filter(|child| known.contains_key(child)).collect::<Vec<String>>()
    };
    let mut left: HashSet<String> = ahead.into_iter().collect();
    let mut parents: HashMap<String, &String> = HashMap::new();
    for id in visited {
        parents.extend(inside(id).into_iter().map(|child| (child, id)));
    }
    let is_followed = |id: &String, left: &HashSet<String>| {
        let siblings = parents.get(id).map(|parent| inside(parent)).unwrap_or_default();
        siblings.last().is_some_and(|last| left.contains(last))
    };
    let mut kept = Vec::with_capacity(visited.len());
    for id in visited.iter().rev() {
        let children = inside(id);
        let missing = children.iter().filter(|child| left.contains(*child)).count();
        let is_small = children.len() - missing <= SMALL_NODE;
        if missing > 0 && is_small && id != top && is_followed(id, &left) {
            left.insert(id.clone());
        } else {
            kept.push(id.clone());
        }
    }
    kept.reverse();
    (kept, left)
}

/// The children that say something of their own.
fn children(node: &Value) -> Vec<String> {
    if node["role"]["value"] == "StaticText" {
        return Vec::new();
    }
    node["childIds"].as_array().into_iter().flatten().map(|id| text(id).to_owned()).collect()
}
