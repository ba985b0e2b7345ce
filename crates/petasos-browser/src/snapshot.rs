//! Pages as text with references: taken in one look, numbered, written, cut into parts.

mod build;
mod capture;
mod dom;
mod hidden;
mod large;
mod render;
mod tidy;

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::element;
use crate::error::BrowserError;
use crate::form::InForm;
use crate::session::{ActiveTab, Session};
use crate::tab::{NodeKey, Shown};
pub(crate) use capture::{SMALL, capture};
pub(crate) use large::{Root, Want};
use render::Line;

const PART_CHARS: usize = 15_000;
const CHANGES_LINES: usize = 20;
const CHANGES_CHARS: usize = 1_500;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct SnapshotAsk {
    /// Everything instead of what matters.
    pub full: bool,
    /// Which part, from 1.
    pub part: Option<usize>,
    /// Only lines with these words, and where they stand.
    pub find: Option<String>,
    /// Only what is below this reference.
    pub root: Option<String>,
}

/// One element of a page as a model is told of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    pub(crate) role: String,
    pub(crate) name: String,
    pub(crate) level: Option<u64>,
    pub(crate) key: Option<NodeKey>,
    pub(crate) is_referable: bool,
    pub(crate) reference: Option<u32>,
    pub(crate) states: Vec<&'static str>,
    pub(crate) attributes: Vec<String>,
    pub(crate) value: Option<String>,
    pub(crate) link: Option<String>,
    pub(crate) input_type: String,
    pub(crate) is_unseen: bool,
    pub(crate) form: Option<InForm>,
    pub(crate) children: Vec<Node>,
}

/// A page as it was at one moment.
pub(crate) struct Page {
    pub(crate) nodes: Vec<Node>,
    pub(crate) loader: String,
    pub(crate) scrolled: (f64, f64),
    pub(crate) hidden_chars: usize,
    pub(crate) frames: Vec<Value>,
    /// Whether it is only what was asked for: the page is too large to be looked at whole.
    pub(crate) is_below: bool,
}

/// Looks at the page and gives its elements their references.
pub(crate) async fn look(session: &Session) -> Result<Vec<Node>, BrowserError> {
    let tab = session.active()?;
    let page = capture(session, &tab, &Want::default()).await?;
    Ok(numbered(session, &tab, page).nodes)
}

fn numbered(session: &Session, tab: &ActiveTab, mut page: Page) -> Page {
    let mut state = session.state();
    let mut made = state.refs_made;
    if let Some(tab) = state.tab(&tab.id) {
        tab.number(&mut page.nodes, &mut made);
    }
    state.refs_made = made;
    drop(state);
    page
}

/// What a look at the whole page must know where that is too large.
fn want(session: &Session, ask: &SnapshotAsk) -> Want {
    let number = ask.root.as_deref().and_then(element::number);
    let mut state = session.state();
    let record = number.and_then(|number| state.active_tab()?.refs.get(&number).cloned());
    let root = record.map(|record| Root { goes_on: record.role == build::MORE, key: record.key });
    Want { find: ask.find.clone(), root, elements: None }
}

/// The page as text.
pub(crate) async fn take(
    session: &Session,
    ask: &SnapshotAsk,
) -> Result<Map<String, Value>, BrowserError> {
    let tab = session.active()?;
    if let Some((part, at)) = further(session, &tab, ask) {
        let refs = part.matches("@e").count();
        return Ok(told(crate::navigate::place(session).await, part, at, refs));
    }
    let want = want(session, ask);
    let place = crate::navigate::place(session);
    let (place, page) = futures::future::join(place, capture(session, &tab, &want)).await;
    told_of(session, &tab, ask, (place, page?))
}

/// A further part of what was shown last, with its number and how many there are.
fn further(
    session: &Session,
    tab: &ActiveTab,
    ask: &SnapshotAsk,
) -> Option<(String, (usize, usize))> {
    let wanted = ask.part.filter(|part| *part > 1)?;
    let mut state = session.state();
    let tab = state.tab(&tab.id)?;
    let shown = tab.shown.as_ref().filter(|shown| Some(shown.loader.as_str()) == tab.loader())?;
    let asked = (shown.is_full, &shown.root, &shown.find);
    if asked != (ask.full, &ask.root, &ask.find) {
        return None;
    }
    Some((shown.parts.get(wanted - 1)?.clone(), (wanted, shown.parts.len())))
}

/// The page as it was seen already, as text.
pub(crate) fn told_of(
    session: &Session,
    tab: &ActiveTab,
    ask: &SnapshotAsk,
    (place, page): (Map<String, Value>, Page),
) -> Result<Map<String, Value>, BrowserError> {
    let wanted = ask.part.unwrap_or(1).max(1);
    let page = numbered(session, tab, page);
    let host = host_of(&place);
    let nodes = match &ask.root {
        Some(root) if !page.is_below => std::slice::from_ref(below(&page.nodes, root)?),
        Some(_) | None => page.nodes.as_slice(),
    };
    let mut lines = render::lines(nodes, ask.full, &host);
    let refs = lines.iter().filter(|line| line.has_reference).count();
    if !ask.full && ask.root.is_none() && ask.find.is_none() {
        let seen = lines.iter().map(|line| line.text.trim().to_owned()).collect();
        if let Some(tab) = session.state().tab(&tab.id) {
            tab.seen = seen;
        }
    }
    if let Some(words) = &ask.find {
        lines = render::found(&render::every_line(nodes, ask.full, &host), words);
    }
    let parts = render::parts(&lines, PART_CHARS);
    let head = heading(session, &place, &page, refs);
    let count = parts.len();
    let at = wanted.min(count);
    let shown = Shown {
        loader: page.loader.clone(),
        is_full: ask.full,
        root: ask.root.clone(),
        find: ask.find.clone(),
        parts: parts.clone(),
    };
    if let Some(tab) = session.state().tab(&tab.id) {
        tab.shown = Some(shown);
    }
    let body = parts.get(at - 1).cloned().unwrap_or_default();
    let whole = format!("{head} · part {at} of {count}\n{body}");
    let mut answer = told(place, whole, (at, count), refs);
    if wanted > 1 {
        answer.insert("changed".to_owned(), true.into());
    }
    if count > 1
        && let Some(path) = store(session, &parts.concat())
    {
        answer.insert("snapshot_path".to_owned(), path.display().to_string().into());
    }
    extras(session, &page, &mut answer);
    Ok(answer)
}

fn extras(session: &Session, page: &Page, answer: &mut Map<String, Value>) {
    if page.hidden_chars > 0 {
        let note = format!("{} invisible characters were removed", page.hidden_chars);
        session.state().note(note);
    }
    if !page.frames.is_empty() {
        answer.insert("frame_tree".to_owned(), page.frames.clone().into());
    }
    let recent: Vec<Value> = session.state().recent_dialogs.iter().cloned().collect();
    if !recent.is_empty() {
        answer.insert("recent_dialogs".to_owned(), recent.into());
    }
}

fn told(
    mut answer: Map<String, Value>,
    text: String,
    (part, parts): (usize, usize),
    refs: usize,
) -> Map<String, Value> {
    answer.insert("snapshot".to_owned(), text.into());
    answer.insert("element_count".to_owned(), refs.into());
    answer.insert("part".to_owned(), part.into());
    answer.insert("parts".to_owned(), parts.into());
    answer
}

fn heading(session: &Session, place: &Map<String, Value>, page: &Page, refs: usize) -> String {
    let state = session.state();
    let (active, tabs) = (state.active.clone().unwrap_or_default(), state.tabs.len());
    let text = |key: &str| place.get(key).and_then(Value::as_str).unwrap_or_default();
    let title = render::quoted(text("title"), 120);
    let (at, height) = page.scrolled;
    format!(
        "tab {active} of {tabs} · {title} · {}\nscrolled {at:.0} of {height:.0} px · {refs} refs",
        text("url")
    )
}

fn host_of(place: &Map<String, Value>) -> String {
    let url = place.get("url").and_then(Value::as_str).unwrap_or_default();
    let url = petasos_net::Url::parse(url).ok();
    url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

/// The subtree that a reference names.
fn below<'a>(nodes: &'a [Node], root: &str) -> Result<&'a Node, BrowserError> {
    let wanted = element::number(root);
    let mut stack: Vec<&Node> = nodes.iter().rev().collect();
    while let Some(node) = stack.pop() {
        if node.reference.is_some() && node.reference == wanted {
            return Ok(node);
        }
        stack.extend(node.children.iter().rev());
    }
    Err(BrowserError::new("not_found", format!("there is no `{root}` on this page")))
}

/// Shows every node to somebody.
pub(crate) fn visit(nodes: &[Node], see: &mut impl FnMut(&Node)) {
    let mut stack: Vec<&Node> = nodes.iter().rev().collect();
    while let Some(node) = stack.pop() {
        see(node);
        stack.extend(node.children.iter().rev());
    }
}

/// References with this role and name other than the given one, with their lines.
pub(crate) fn alike(nodes: &[Node], role: &str, name: &str, but: u32) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    visit(nodes, &mut |node| {
        if let Some(number) = node.reference
            && number != but
            && node.role == role
            && node.name == name
        {
            found.push((number, render::line(node, false, "")));
        }
    });
    found
}

/// The lines of the compact snapshot that are new since the model last saw the page.
pub(crate) async fn changes(session: &Session) -> Option<String> {
    let tab = session.active().ok()?;
    let want = Want::default();
    let look = capture(session, &tab, &want);
    let (page, place) = futures::future::join(look, crate::navigate::place(session)).await;
    let page = numbered(session, &tab, page.ok()?);
    let host = host_of(&place);
    let now: Vec<String> = render::lines(&page.nodes, false, &host)
        .iter()
        .map(|line: &Line| line.text.trim().to_owned())
        .collect();
    let mut state = session.state();
    let tab = state.tab(&tab.id)?;
    let mut known: HashMap<&str, usize> = HashMap::new();
    for line in &tab.seen {
        *known.entry(line.as_str()).or_default() += 1;
    }
    let mut new = Vec::new();
    for line in &now {
        match known.get_mut(line.as_str()) {
            Some(left) if *left > 0 => *left -= 1,
            _ => new.push(line.clone()),
        }
    }
    tab.seen = now;
    drop(state);
    if new.is_empty() {
        return None;
    }
    let mut text = String::new();
    let mut shown = 0;
    for line in &new {
        if shown >= CHANGES_LINES || text.chars().count() + line.chars().count() > CHANGES_CHARS {
            break;
        }
        text.push_str(line);
        text.push('\n');
        shown += 1;
    }
    if shown < new.len() {
        return Some(format!("{text}…and {} more", new.len() - shown));
    }
    Some(text.trim_end().to_owned())
}

fn store(session: &Session, text: &str) -> Option<PathBuf> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let path = session.folder.join("snapshot.txt");
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Some(path),
        Err(error) => {
            tracing::warn!(%error, "a snapshot was not kept");
            None
        }
    }
}
