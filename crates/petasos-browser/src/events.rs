//! What the browser tells, turned into knowledge of sessions and tabs.
//!
//! Runs in the task that reads the connection, so it never waits: what must be answered is posted.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use parking_lot::Mutex;
use petasos_net::sites::{Neighbourhood, neighbourhood};
use serde_json::{Value, json};

use crate::download;
use crate::options::DialogPolicy;
use crate::session::{Dialog, Session, State};
use crate::tab::Tab;
use crate::wire::{Listener, Wire};
use crate::world::WORLD;

const CONSOLE_KEPT: usize = 200;
const CONSOLE_CHARS: usize = 1000;
const ERRORS_KEPT: usize = 50;
const DIALOGS_KEPT: usize = 20;
const TABS_MAX: usize = 10;

/// Which session a message of the browser belongs to.
#[derive(Default)]
pub(crate) struct Hub {
    /// By the browser's name for a context.
    contexts: Mutex<HashMap<String, Arc<Session>>>,
    /// By the protocol session of a target: the session and its tab.
    routes: Mutex<HashMap<String, (Arc<Session>, String)>>,
    wire: OnceLock<Weak<Wire>>,
}

impl Hub {
    /// The connection that its events come from.
    pub(crate) fn speaks_over(&self, wire: &Arc<Wire>) {
        self.wire.get_or_init(|| Arc::downgrade(wire));
    }

    /// Something of somebody else, or a worker of several pages: it runs on, and we do not listen.
    fn let_go(&self, cdp: &str, kind: &str) {
        let Some(wire) = self.wire.get().and_then(Weak::upgrade) else { return };
        wire.post(Some(cdp), "Runtime.runIfWaitingForDebugger", &json!({}));
        // A worker that is left before it has begun never begins.
        if !kind.contains("worker") {
            wire.post(None, "Target.detachFromTarget", &json!({ "sessionId": cdp }));
        }
    }

    pub(crate) fn add(&self, session: &Arc<Session>) {
        self.contexts.lock().insert(session.context.clone(), Arc::clone(session));
    }

    /// Forgets a session that was closed.
    pub(crate) fn remove(&self, session: &Arc<Session>) {
        self.contexts.lock().remove(&session.context);
        self.routes.lock().retain(|_, (other, _)| !Arc::ptr_eq(other, session));
    }

    fn sessions(&self) -> Vec<Arc<Session>> {
        self.contexts.lock().values().cloned().collect()
    }

    fn route(&self, cdp: &str) -> Option<(Arc<Session>, String)> {
        self.routes.lock().get(cdp).cloned()
    }

    /// A page of one of our contexts, new or opened by a page.
    fn page(&self, params: &Value) {
        let info = &params["targetInfo"];
        let (cdp, target) = (text(&params["sessionId"]), text(&info["targetId"]));
        let session = {
            let contexts = self.contexts.lock();
            // A browser with one context names it as it likes; whoever has it has it alone.
            let known = contexts.get(text(&info["browserContextId"]));
            known.or_else(|| contexts.get("")).cloned()
        };
        let Some(session) = session.filter(|_| info["type"] == "page") else {
            return self.let_go(cdp, text(&info["type"]));
        };
        // Before anybody can see the tab, so that no call of theirs comes first.
        prepare(&session.wire, cdp, true);
        let mut state = session.state();
        state.tabs_made += 1;
        let id = format!("t{}", state.tabs_made);
        let mut tab = Tab::new(id.clone(), target.to_owned(), cdp.to_owned(), String::new());
        text(&info["url"]).clone_into(&mut tab.url);
        let is_one_too_many = state.tabs.len() >= TABS_MAX;
        state.tabs.push(tab);
        let is_ours = state.tab_expected.is_some_and(|until| Instant::now() < until);
        if state.active.is_none() || is_ours {
            state.active = Some(id.clone());
        }
        if is_one_too_many {
            state.note(format!("more than {TABS_MAX} tabs: a further one was closed"));
        }
        drop(state);
        self.routes.lock().insert(cdp.to_owned(), (Arc::clone(&session), id));
        crate::record::begin(&session, cdp);
        if is_one_too_many {
            session.wire.post(None, "Target.closeTarget", &json!({ "targetId": target }));
        }
        session.changed.notify_waiters();
    }

    /// A frame in a process of its own, or a worker, of a page of ours.
    fn child(&self, parent: &str, params: &Value) {
        let Some((session, tab)) = self.route(parent) else { return };
        let (cdp, kind) = (text(&params["sessionId"]), text(&params["targetInfo"]["type"]));
        if let Some(tab) = session.state().tab(&tab) {
            if kind == "iframe" {
                let frame = text(&params["targetInfo"]["targetId"]).to_owned();
                tab.children.insert(frame, cdp.to_owned());
            } else {
                tab.workers.insert(cdp.to_owned());
            }
        }
        self.routes.lock().insert(cdp.to_owned(), (Arc::clone(&session), tab));
        // A target that waits for us keeps its parent from loading.
        prepare(&session.wire, cdp, kind == "iframe");
        session.changed.notify_waiters();
    }

    fn detached(&self, params: &Value) {
        let cdp = text(&params["sessionId"]);
        let Some((session, id)) = self.routes.lock().remove(cdp) else { return };
        let mut state = session.state();
        if let Some(tab) = state.tab(&id) {
            tab.children.retain(|_, child| child != cdp);
            tab.workers.remove(cdp);
            tab.worlds.retain(|_, (target, _)| target != cdp);
            if tab.cdp == cdp {
                state.tabs.retain(|tab| tab.id != id);
                state.dialogs.retain(|dialog| dialog.cdp != cdp);
                if state.active.as_deref() == Some(&id) {
                    state.active = state.tabs.last().map(|tab| tab.id.clone());
                }
            }
        }
        drop(state);
        session.changed.notify_waiters();
    }
}

/// Switches on what we listen to and lets the target run.
fn prepare(wire: &Wire, cdp: &str, is_page: bool) {
    let attach = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
    let calls: &[(&str, Value)] = if is_page {
        &[
            ("Page.enable", json!({})),
            ("Page.setLifecycleEventsEnabled", json!({ "enabled": true })),
            // Every document gets a world of ours, in which its scripts have nothing to say.
            (
                "Page.addScriptToEvaluateOnNewDocument",
                json!({ "source": "0", "worldName": WORLD, "runImmediately": true }),
            ),
            ("Network.enable", json!({ "maxTotalBufferSize": 0, "maxResourceBufferSize": 0 })),
            ("Runtime.enable", json!({})),
            ("Log.enable", json!({})),
            ("DOM.enable", json!({})),
            ("Inspector.enable", json!({})),
            ("Page.setInterceptFileChooserDialog", json!({ "enabled": true })),
            ("Target.setAutoAttach", attach),
        ]
    } else {
        &[]
    };
    for (method, params) in calls {
        wire.post(Some(cdp), method, params);
    }
    wire.post(Some(cdp), "Runtime.runIfWaitingForDebugger", &json!({}));
}

impl Listener for Hub {
    fn event(&self, cdp: Option<&str>, method: &str, params: &Value) {
        match (cdp, method) {
            (None, "Target.attachedToTarget") => self.page(params),
            (Some(cdp), "Target.attachedToTarget") => self.child(cdp, params),
            (_, "Target.detachedFromTarget") => self.detached(params),
            (None, "Browser.downloadWillBegin") => {
                for session in self.sessions() {
                    download::began(&session, params);
                }
            }
            (None, "Browser.downloadProgress") => {
                for session in self.sessions() {
                    download::went_on(&session, params);
                }
            }
            (Some(cdp), _) => {
                let Some((session, tab)) = self.route(cdp) else { return };
                if session.is_remote {
                    checked_after(&session, cdp, method, params);
                }
                if known(&session, (&tab, cdp), method, params) {
                    session.changed.notify_waiters();
                }
            }
            (None, _) => {}
        }
    }

    fn gone(&self) {
        for session in self.sessions() {
            session.state().is_lost = true;
            session.changed.notify_waiters();
        }
        self.contexts.lock().clear();
        self.routes.lock().clear();
    }
}

/// Takes an event of a page in; says whether anything is different now.
fn known(session: &Session, at: (&str, &str), method: &str, params: &Value) -> bool {
    let (id, cdp) = at;
    let mut state = session.state();
    match method {
        "Page.javascriptDialogOpening" => opened(session, &mut state, cdp, params),
        "Page.javascriptDialogClosed" => closed(&mut state, cdp, params),
        "Runtime.consoleAPICalled" => {
            let line = console_line(params);
            state.console.push(line, CONSOLE_KEPT);
        }
        "Runtime.exceptionThrown" => {
            let error = page_error(&params["exceptionDetails"]);
            state.errors.push(error, ERRORS_KEPT);
        }
        "Log.entryAdded" => {
            let entry = &params["entry"];
            let line = json!({ "type": entry["level"], "text": cut(text(&entry["text"]), CONSOLE_CHARS),
                "source": entry["source"], "url": entry["url"], "at": entry["timestamp"] });
            state.console.push(line, CONSOLE_KEPT);
        }
        "Inspector.targetCrashed" => {
            if let Some(tab) = state.tab(id).filter(|tab| tab.cdp == cdp) {
                tab.is_crashed = true;
            }
        }
        "Runtime.executionContextCreated" | "Runtime.executionContextsCleared" => {
            if let Some(tab) = state.tab(id) {
                worlds(tab, cdp, &params["context"]);
            }
            return false;
        }
        "Runtime.executionContextDestroyed" => {
            let gone = params["executionContextId"].as_i64();
            if let Some(tab) = state.tab(id) {
                tab.worlds.retain(|_, (target, world)| target != cdp || Some(*world) != gone);
            }
            return false;
        }
        "Page.screencastFrame" => {
            drop(state);
            crate::record::frame(session, cdp, params);
            return false;
        }
        _ => return state.tab(id).is_some_and(|tab| of_tab(tab, method, params)),
    }
    true
}

/// A world of ours is there, or all worlds of a target are gone.
fn worlds(tab: &mut Tab, cdp: &str, context: &Value) {
    match (context["id"].as_i64(), text(&context["name"])) {
        (Some(id), WORLD) => {
            let frame = text(&context["auxData"]["frameId"]).to_owned();
            tab.worlds.insert(frame, (cdp.to_owned(), id));
        }
        (Some(_), _) => {}
        (None, _) => tab.worlds.retain(|_, (target, _)| target != cdp),
    }
}

/// An answer that came from where pages may not reach: the page goes.
fn checked_after(session: &Session, cdp: &str, method: &str, params: &Value) {
    let (told, address) = match method {
        "Network.requestWillBeSent" => (&params["request"], ""),
        "Network.responseReceived" => {
            (&params["response"], text(&params["response"]["remoteIPAddress"]))
        }
        _ => return,
    };
    let url = petasos_net::Url::parse(text(&told["url"])).ok();
    let Some(host) = url.as_ref().and_then(|url| url.host_str()).map(str::to_owned) else { return };
    // Before the answer the host's own spelling is all that is known.
    let address = if address.is_empty() { host.as_str() } else { address };
    let address = address.trim_matches(['[', ']']);
    let spelled = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    if neighbourhood(&spelled) == Neighbourhood::Public {
        return;
    }
    let port = url.as_ref().and_then(petasos_net::Url::port_or_known_default).unwrap_or(0);
    if session.proxy.is_opened(&host, port) {
        return;
    }
    let why =
        format!("{host} leads to {address}, which is not public; it is not reached from here");
    session.state().blanked = Some(why);
    session.wire.post(Some(cdp), "Page.navigate", &json!({ "url": "about:blank" }));
    session.changed.notify_waiters();
}

fn of_tab(tab: &mut Tab, method: &str, params: &Value) -> bool {
    match method {
        "Page.frameNavigated" => {
            let frame = &params["frame"];
            tab.navigated(text(&frame["id"]), text(&frame["loaderId"]), text(&frame["url"]));
        }
        "Page.navigatedWithinDocument" if text(&params["frameId"]) == tab.target => {
            text(&params["url"]).clone_into(&mut tab.url);
        }
        "Page.frameDetached" => {
            // A frame that moves to another process is still there.
            if params["reason"] != "swap" {
                tab.frames.remove(text(&params["frameId"]));
            }
        }
        "Page.frameStartedNavigating" => {
            let kind = text(&params["navigationType"]);
            let is_new = !kind.contains("ameDocument");
            if text(&params["frameId"]) == tab.target && is_new {
                tab.navigations += 1;
            }
        }
        "Page.lifecycleEvent" => {
            if text(&params["frameId"]) != tab.target {
                return false;
            }
            let loader = text(&params["loaderId"]).to_owned();
            match text(&params["name"]) {
                "DOMContentLoaded" => tab.ready.insert(loader),
                "load" => tab.loaded.insert(loader),
                _ => return false,
            };
        }
        _ => return of_network(tab, method, params),
    }
    true
}

/// What is on its way to a page.
fn of_network(tab: &mut Tab, method: &str, params: &Value) -> bool {
    match method {
        "Network.requestWillBeSent" => {
            let counts = !matches!(
                text(&params["type"]),
                "WebSocket" | "EventSource" | "Media" | "Ping" | "Preflight" | "Prefetch"
            );
            if params["type"] == "EventSource" {
                tab.streams.insert(text(&params["requestId"]).to_owned());
            }
            if counts {
                let now = Instant::now();
                tab.requests.insert(text(&params["requestId"]).to_owned(), now);
                tab.last_request = now;
                tab.recount();
            }
        }
        "Network.responseReceived" => {
            let is_main = params["type"] == "Document" && text(&params["frameId"]) == tab.target;
            if is_main {
                let status = params["response"]["status"].as_u64();
                tab.status = status.and_then(|status| u16::try_from(status).ok());
            }
            if text(&params["response"]["mimeType"]) == "text/event-stream" {
                tab.requests.remove(text(&params["requestId"]));
                tab.recount();
            }
        }
        "Network.webSocketCreated" => {
            tab.streams.insert(text(&params["requestId"]).to_owned());
        }
        "Network.webSocketClosed" => {
            tab.streams.remove(text(&params["requestId"]));
        }
        "Network.loadingFinished" | "Network.loadingFailed" => {
            tab.streams.remove(text(&params["requestId"]));
            tab.requests.remove(text(&params["requestId"]));
            tab.recount();
        }
        _ => return false,
    }
    true
}

fn opened(session: &Session, state: &mut State, cdp: &str, params: &Value) {
    state.dialogs_made += 1;
    let dialog = Dialog {
        id: format!("d{}", state.dialogs_made),
        cdp: cdp.to_owned(),
        kind: text(&params["type"]).to_owned(),
        message: cut(text(&params["message"]), CONSOLE_CHARS),
        default: cut(text(&params["defaultPrompt"]), CONSOLE_CHARS),
        url: text(&params["url"]).to_owned(),
        opened: Instant::now(),
    };
    let policy = session.options.dialog_policy;
    // Leaving a page was our own wish; the page's question about it is not for the model.
    let at_once = match (dialog.kind.as_str(), policy) {
        ("beforeunload", _) | (_, DialogPolicy::AutoAccept) => Some(true),
        (_, DialogPolicy::AutoDismiss) => Some(false),
        (_, DialogPolicy::MustRespond) => None,
    };
    if let Some(accept) = at_once {
        let answer = json!({ "accept": accept, "promptText": dialog.default });
        session.wire.post(Some(cdp), "Page.handleJavaScriptDialog", &answer);
        let word = if accept { "accepted" } else { "dismissed" };
        state.note(format!("a {} dialog was {word}: {}", dialog.kind, dialog.message));
    }
    state.dialogs.push(dialog);
}

fn closed(state: &mut State, cdp: &str, params: &Value) {
    let Some(at) = state.dialogs.iter().position(|dialog| dialog.cdp == cdp) else { return };
    let dialog = state.dialogs.remove(at);
    let mut told = dialog.told();
    if let Some(object) = told.as_object_mut() {
        object.insert("accepted".to_owned(), params["result"].clone());
    }
    if state.recent_dialogs.len() >= DIALOGS_KEPT {
        state.recent_dialogs.pop_front();
    }
    state.recent_dialogs.push_back(told);
}

fn console_line(params: &Value) -> Value {
    let shown = |argument: &Value| match &argument["value"] {
        Value::String(text) => text.clone(),
        Value::Null => text(&argument["description"]).to_owned(),
        other => other.to_string(),
    };
    let parts: Vec<String> = params["args"].as_array().into_iter().flatten().map(shown).collect();
    let place = &params["stackTrace"]["callFrames"][0];
    json!({ "type": params["type"], "text": cut(&parts.join(" "), CONSOLE_CHARS),
        "source": place["url"], "at": params["timestamp"] })
}

pub(crate) fn page_error(details: &Value) -> Value {
    let exception = text(&details["exception"]["description"]);
    let message = if exception.is_empty() { text(&details["text"]) } else { exception };
    json!({ "message": cut(message, CONSOLE_CHARS), "source": "javascript",
        "url": details["url"], "line": details["lineNumber"] })
}

/// The text of a value, or nothing.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// At most so many characters.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
