//! What is known of one tab: its frames, what they are loading, and the references given out.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::form::InForm;
use crate::snapshot::Node;

/// Requests older than this no longer keep a page from being ready.
const OLD: Duration = Duration::from_secs(3);

const DOCUMENTS_KEPT: usize = 64;

/// How far a document got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its content is there.
    Ready,
    /// Its load event fired.
    Loaded,
}

/// What a reference stands for. The number of a backend node is unique within one target only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NodeKey {
    /// The protocol session of the target.
    pub(crate) cdp: String,
    /// The frame it is in.
    pub(crate) frame: String,
    /// The document of that frame.
    pub(crate) loader: String,
    /// The node.
    pub(crate) backend: i64,
}

/// A reference that was shown.
#[derive(Debug, Clone)]
pub(crate) struct RefRecord {
    pub(crate) key: NodeKey,
    pub(crate) role: String,
    pub(crate) name: String,
    /// Whether a password goes in, or a file.
    pub(crate) input_type: String,
    /// The form that it is in.
    pub(crate) form: Option<InForm>,
}

#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) loader: String,
    pub(crate) url: String,
}

/// The last whole picture of a page, for its further parts.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) loader: String,
    pub(crate) is_full: bool,
    pub(crate) root: Option<String>,
    pub(crate) find: Option<String>,
    pub(crate) parts: Vec<String>,
}

/// One tab.
#[derive(Debug)]
pub(crate) struct Tab {
    /// What the model calls it: `t1`.
    pub(crate) id: String,
    /// The target, which is also its main frame.
    pub(crate) target: String,
    /// The protocol session.
    pub(crate) cdp: String,
    /// Protocol sessions of frames in other processes, by frame.
    pub(crate) children: HashMap<String, String>,
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) frames: HashMap<String, Frame>,
    /// Frames that went with the document that they were in.
    pub(crate) frames_left: HashSet<String>,
    pub(crate) status: Option<u16>,
    /// How many times a new document was on its way to the main frame.
    pub(crate) navigations: u64,
    /// The documents that the main frame had, the newest last.
    pub(crate) documents: VecDeque<String>,
    /// Documents whose content is there, and whose load event fired.
    pub(crate) ready: HashSet<String>,
    pub(crate) loaded: HashSet<String>,
    pub(crate) requests: HashMap<String, Instant>,
    /// Connections over which something may come at any time.
    pub(crate) streams: HashSet<String>,
    /// Protocol sessions of its workers.
    pub(crate) workers: HashSet<String>,
    /// Our own world of each frame: its target and its number.
    pub(crate) worlds: HashMap<String, (String, i64)>,
    /// Since when at most two requests are on their way.
    pub(crate) calm_since: Option<Instant>,
    pub(crate) last_request: Instant,
    pub(crate) is_crashed: bool,
    /// How many calls in a row ran out of time.
    pub(crate) timeouts: u8,
    pub(crate) refs: HashMap<u32, RefRecord>,
    pub(crate) numbers: HashMap<NodeKey, u32>,
    pub(crate) shown: Option<Shown>,
    /// The lines of the compact snapshot that the model saw last.
    pub(crate) seen: Vec<String>,
}

impl Tab {
    pub(crate) fn new(id: String, target: String, cdp: String, url: String) -> Self {
        Self {
            id,
            target,
            cdp,
            children: HashMap::new(),
            url,
            title: String::new(),
            frames: HashMap::new(),
            frames_left: HashSet::new(),
            status: None,
            navigations: 0,
            documents: VecDeque::new(),
            ready: HashSet::new(),
            loaded: HashSet::new(),
            requests: HashMap::new(),
            streams: HashSet::new(),
            workers: HashSet::new(),
            worlds: HashMap::new(),
            calm_since: Some(Instant::now()),
            last_request: Instant::now(),
            is_crashed: false,
            timeouts: 0,
            refs: HashMap::new(),
            numbers: HashMap::new(),
            shown: None,
            seen: Vec::new(),
        }
    }

    /// The document of the main frame.
    pub(crate) fn loader(&self) -> Option<&str> {
        Some(self.frames.get(&self.target)?.loader.as_str())
    }

    /// The main frame has another document.
    fn began(&mut self, loader: &str) {
        if self.documents.back().is_some_and(|last| last == loader) {
            return;
        }
        if self.documents.len() >= DOCUMENTS_KEPT
            && let Some(oldest) = self.documents.pop_front()
        {
            self.ready.remove(&oldest);
            self.loaded.remove(&oldest);
        }
        self.documents.push_back(loader.to_owned());
    }

    /// Whether a document got so far, or one that took its place.
    pub(crate) fn reached(&self, stage: Stage, loader: &str) -> bool {
        let reached = match stage {
            Stage::Ready => &self.ready,
            Stage::Loaded => &self.loaded,
        };
        let newer = self.documents.iter().rev().take_while(|known| *known != loader);
        let is_known = self.documents.iter().any(|known| known == loader);
        reached.contains(loader) || (is_known && newer.into_iter().any(|it| reached.contains(it)))
    }

    /// Whether nothing is known that could change it by itself.
    pub(crate) fn is_alone(&self) -> bool {
        let is_single = self.children.is_empty() && self.frames.len() <= 1;
        is_single && self.streams.is_empty() && self.workers.is_empty() && self.busy() == 0
    }

    /// How many requests count: old ones are streams and long polls.
    pub(crate) fn busy(&self) -> usize {
        self.requests.values().filter(|began| began.elapsed() < OLD).count()
    }

    /// Requests that began after a moment and still count.
    pub(crate) fn busy_since(&self, moment: Instant) -> usize {
        self.requests.values().filter(|began| **began >= moment && began.elapsed() < OLD).count()
    }

    pub(crate) fn recount(&mut self) {
        let calm = self.busy() <= 2;
        match (calm, self.calm_since) {
            (true, None) => self.calm_since = Some(Instant::now()),
            (false, Some(_)) => self.calm_since = None,
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// A frame has a new document: what belonged to the old one no longer counts.
    pub(crate) fn navigated(&mut self, frame: &str, loader: &str, url: &str) {
        if frame == self.target {
            url.clone_into(&mut self.url);
            self.is_crashed = false;
            self.shown = None;
            self.requests.clear();
            self.streams.clear();
            self.began(loader);
            self.calm_since = Some(Instant::now());
            // The browser tells of frames that go only while their page stays.
            let inside = std::mem::take(&mut self.frames).into_keys();
            self.frames_left.extend(inside.filter(|frame| *frame != self.target));
        }
        let entry = Frame { loader: loader.to_owned(), url: url.to_owned() };
        self.frames.insert(frame.to_owned(), entry);
    }

    /// Whether the frame of a node still has the document that the node is in.
    pub(crate) fn still_has(&self, key: &NodeKey) -> bool {
        let now = self.frames.get(&key.frame);
        now.map_or(!self.frames_left.contains(&key.frame), |now| now.loader == key.loader)
    }

    /// Gives every node that is to have one its number; the same node keeps its own.
    pub(crate) fn number(&mut self, nodes: &mut [Node], made: &mut u32) {
        for node in nodes {
            if let Some(key) = node.key.clone().filter(|_| node.is_referable) {
                let number = *self.numbers.entry(key.clone()).or_insert_with(|| {
                    *made += 1;
                    *made
                });
                node.reference = Some(number);
                let record = RefRecord {
                    key,
                    role: node.role.clone(),
                    name: node.name.clone(),
                    input_type: node.input_type.clone(),
                    form: node.form.clone(),
                };
                self.refs.insert(number, record);
            }
            self.number(&mut node.children, made);
        }
    }
}
