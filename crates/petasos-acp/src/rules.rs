//! What an editor wants to be asked about before a tool runs, and what it wants to see afterwards.
//!
//! A hook of the one door: it adds questions to those of the policy and takes none away. It knows the
//! sessions of editors only; every other session passes. Beside that it keeps what a call changed, so
//! that the editor can show it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::call::Status;
use petasos_contract::environment::{EnvError, Environments};
use petasos_contract::hook::{
    Directive, Finished, Hook, HookError, HookKind, HookSet, Moment, OnFailure, ToolMoment,
};
use petasos_contract::path::TargetPath;
use petasos_contract::ports::Buffers;
use petasos_contract::{BoxFuture, CallContext, CallId, SessionId};
use petasos_session::call_above;
use petasos_shell::reading;
use serde_json::{Map, Value};

use crate::files::ClientFiles;
use crate::mode::Mode;
use crate::panel::ClientPanel;
use crate::places::Roots;
use crate::reach;
use crate::render::{CallRecord, FileDiff};
use crate::shown;
use crate::terminals::ClientTerminals;

/// So many calls of a session are remembered.
const CALLS_MAX: usize = 64;
/// A longer text is not shown as a difference.
const TEXT_MAX: u64 = 1024 * 1024;
/// More of a result is not sent to an editor.
const RESULT_MAX: usize = 256 * 1024;
/// Where anybody may write.
const TEMPORARY: &str = "/tmp";

/// The rules of all sessions that are open in an editor.
pub struct EditorRules {
    environments: Option<Arc<dyn Environments>>,
    sessions: Mutex<HashMap<SessionId, Arc<RuledSession>>>,
    panels: Mutex<HashMap<SessionId, Arc<ClientPanel>>>,
}

impl std::fmt::Debug for EditorRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EditorRules")
            .field("sessions", &self.sessions.lock().len())
            .finish_non_exhaustive()
    }
}

/// One session of an editor.
pub(crate) struct RuledSession {
    /// What may be edited without leaving the workspace.
    roots: Roots,
    /// The client's texts, where it offers them.
    pub(crate) files: Option<Arc<ClientFiles>>,
    /// The client's terminals, where it has some.
    pub(crate) terminals: Option<Arc<ClientTerminals>>,
    state: Mutex<Ruled>,
}

#[derive(Default)]
struct Ruled {
    mode: Mode,
    /// What a person denied for the session.
    denied: HashSet<String>,
    calls: VecDeque<(CallId, Watched)>,
}

/// What is known about a call.
#[derive(Debug, Clone, Default)]
struct Watched {
    /// What a denial for the session would cover.
    keys: Vec<String>,
    /// Whether it changes a protected file: consent is for once.
    is_guarded: bool,
    before: Vec<(PathBuf, Option<String>)>,
    proposed: Vec<FileDiff>,
    record: CallRecord,
}

impl RuledSession {
    pub(crate) fn new(
        roots: Vec<PathBuf>,
        files: Option<Arc<ClientFiles>>,
        terminals: Option<Arc<ClientTerminals>>,
    ) -> Arc<Self> {
        let roots = Roots::new(roots);
        Arc::new(Self { roots, files, terminals, state: Mutex::default() })
    }

    pub(crate) fn mode(&self) -> Mode {
        self.state.lock().mode
    }

    pub(crate) fn set_mode(&self, mode: Mode) {
        self.state.lock().mode = mode;
    }

    /// What a call changed and gave back.
    pub(crate) fn record(&self, call: &CallId) -> CallRecord {
        self.watched(call).map(|watched| watched.record).unwrap_or_default()
    }

    /// What a call would change, for whoever is asked.
    pub(crate) fn proposed(&self, call: &CallId) -> Vec<FileDiff> {
        self.watched(call).map(|watched| watched.proposed).unwrap_or_default()
    }

    /// Whether the call runs in this program.
    pub(crate) fn saw(&self, call: &CallId) -> bool {
        self.watched(call).is_some()
    }

    /// What a call of another program would change, as far as its arguments tell.
    pub(crate) async fn would(&self, tool: &str, arguments: &Value) -> Vec<FileDiff> {
        let (Some(base), Some(arguments)) = (self.roots.first(), arguments.as_object()) else {
            return Vec::new();
        };
        let mut before = Vec::new();
        for path in shown::paths(tool, arguments, base, None) {
            let text = self.text(&path).await;
            before.push((path, text));
        }
        proposed(tool, arguments, &before)
    }

    /// Whether nobody may agree to a call for longer than once: protected files always ask.
    pub(crate) fn is_guarded(&self, call: &CallId) -> bool {
        self.watched(call).is_some_and(|watched| watched.is_guarded)
    }

    /// The same call is refused from now on.
    pub(crate) fn deny_always(&self, call: &CallId) {
        if let Some(watched) = self.watched(call) {
            self.state.lock().denied.extend(watched.keys);
        }
    }

    fn watched(&self, call: &CallId) -> Option<Watched> {
        let state = self.state.lock();
        state.calls.iter().rev().find(|(id, _)| id == call).map(|(_, watched)| watched.clone())
    }

    fn watch(&self, call: &CallId, watched: Watched) {
        let mut state = self.state.lock();
        if state.calls.len() >= CALLS_MAX {
            state.calls.pop_front();
        }
        state.calls.push_back((call.clone(), watched));
    }

    /// Whether a deed was denied for the session: itself, or the change of a file that it changes.
    fn is_denied(&self, deed: &Deed) -> bool {
        let state = self.state.lock();
        let touched = deed.touched.iter().map(|path| file_key(path));
        deed.keys.iter().cloned().chain(touched).any(|key| state.denied.contains(&key))
    }

    /// Whether a file is inside the workspace.
    pub(crate) fn is_own(&self, path: &Path) -> bool {
        self.roots.hold(path)
    }

    /// The text of a file as the person sees it: unsaved where the client offers that.
    async fn text(&self, path: &Path) -> Option<String> {
        if let Some(files) = self.files.as_ref().filter(|_| self.is_own(path))
            && let Ok(text) = files.read(&self.roots.named(path)).await
        {
            return Some(text);
        }
        let about = tokio::fs::metadata(path).await.ok()?;
        if !about.is_file() || about.len() > TEXT_MAX {
            return None;
        }
        tokio::fs::read_to_string(path).await.ok()
    }
}

impl EditorRules {
    /// For the sessions of one program.
    pub fn new(environments: Option<Arc<dyn Environments>>) -> Arc<Self> {
        Arc::new(Self { environments, sessions: Mutex::default(), panels: Mutex::default() })
    }

    pub(crate) fn admit(&self, session: SessionId, ruled: Arc<RuledSession>) {
        self.sessions.lock().insert(session, ruled);
    }

    pub(crate) fn dismiss(&self, session: &SessionId) {
        self.sessions.lock().remove(session);
        self.panels.lock().remove(session);
    }

    pub(crate) fn show(&self, session: SessionId, panel: Arc<ClientPanel>) {
        self.panels.lock().insert(session, panel);
    }

    /// The panel of the client that a session is open in, where it has one.
    pub fn panel(&self, session: &SessionId) -> Option<Arc<ClientPanel>> {
        self.panels.lock().get(session).cloned()
    }

    /// The session of an editor that a call belongs to, a subagent's included.
    pub(crate) fn of(&self, cx: &CallContext) -> Option<Arc<RuledSession>> {
        let sessions = self.sessions.lock();
        let root = cx.root.as_ref().and_then(|root| sessions.get(root));
        root.or_else(|| sessions.get(&cx.session)).cloned()
    }

    /// The terminals of the editor that a call belongs to, where it has some.
    pub fn terminals(&self, cx: &CallContext) -> Option<Arc<ClientTerminals>> {
        self.of(cx).and_then(|ruled| ruled.terminals.clone())
    }

    /// Whether the editor of a session wants to be asked about what another agent would do for it.
    pub fn about(&self, writes: &[PathBuf], command: Option<&str>, cx: &CallContext) -> Directive {
        let Some(ruled) = self.of(cx) else { return Directive::Pass };
        let (tool, arguments) = match command {
            Some(command) => ("terminal", Map::from_iter([("command".into(), command.into())])),
            None => ("write_file", Map::new()),
        };
        let writes = writes.iter().map(|path| cx.workspace.join(path)).collect();
        let deed = match command {
            Some(_) => Deed::ran(tool, &arguments, (&cx.workspace, cx)),
            None => Deed::edit(writes),
        };
        match command {
            None if deed.touched.is_empty() => Directive::Pass,
            _ => ruled.about(tool, &arguments, &deed),
        }
    }

    fn base(&self, cx: &CallContext) -> PathBuf {
        let cwd = self.environments.as_ref().map(|environments| environments.cwd(cx));
        cwd.map_or_else(|| cx.workspace.to_path_buf(), |cwd| cwd.as_path().to_owned())
    }

    async fn before(&self, about: &ToolMoment<'_>) -> Directive {
        let Some(ruled) = self.of(about.cx) else { return Directive::Pass };
        let (tool, arguments) = (about.tool.as_str(), about.args.object());
        let (base, home) = (self.base(about.cx), about.cx.settings.user_home());
        let deed = if is_edit(tool) {
            Deed::edit(shown::paths(tool, arguments, &base, Some(home)))
        } else {
            Deed::ran(tool, arguments, (&base, about.cx))
        };
        let mut watched = Watched { is_guarded: deed.guarded.is_some(), ..Watched::default() };
        watched.keys.clone_from(&deed.keys);
        for path in deed.touched.iter().filter(|_| is_edit(tool)) {
            watched.before.push((path.clone(), ruled.text(path).await));
        }
        watched.proposed = proposed(tool, arguments, &watched.before);
        ruled.watch(&shown_call(about.cx), watched);
        ruled.about(tool, arguments, &deed)
    }

    async fn after(&self, about: &ToolMoment<'_>, finished: &Finished<'_>) {
        let Some(ruled) = self.of(about.cx) else { return };
        let result: String = finished.result.chars().take(RESULT_MAX).collect();
        let call = shown_call(about.cx);
        let before = ruled.watched(&call).map(|watched| watched.before).unwrap_or_default();
        let mut diffs = Vec::new();
        if finished.status == Status::Ok {
            for (path, old) in before {
                let new = ruled.text(&path).await;
                if new != old {
                    diffs.push(FileDiff { path, old, new: new.unwrap_or_default() });
                }
            }
        }
        let mut state = ruled.state.lock();
        let found = state.calls.iter_mut().rev().find(|(id, _)| *id == call);
        if let Some((_, watched)) = found {
            watched.record = CallRecord { result: Some(result), diffs };
        }
    }
}

/// The name of a call at the client: a subagent's is told apart by whose it is.
pub(crate) fn shown_call(cx: &CallContext) -> CallId {
    match &cx.root {
        Some(root) if *root != cx.session => call_above(&cx.session, &cx.call),
        _ => cx.call.clone(),
    }
}

/// What is judged before it happens.
#[derive(Debug, Default)]
struct Deed {
    /// What a denial for the session would cover: each file, the command, or the very call.
    keys: Vec<String>,
    /// The files that it changes, as far as it says.
    touched: Vec<PathBuf>,
    /// The first of them that is always asked about, by what it is called or by where that leads.
    guarded: Option<PathBuf>,
}

impl Deed {
    fn edit(paths: Vec<PathBuf>) -> Self {
        let keys = paths.iter().map(|path| file_key(path)).collect();
        Self { keys, guarded: guarded(&paths), touched: paths }
    }

    fn ran(tool: &str, arguments: &Map<String, Value>, (base, cx): (&Path, &CallContext)) -> Self {
        let command = arguments.get("command").and_then(Value::as_str);
        let key = match (tool, command) {
            ("terminal", Some(command)) => format!("run {command}"),
            _ => format!("{tool} {}", Value::Object(arguments.clone())),
        };
        let touched = reach::changed(tool, arguments, base, cx);
        Self { keys: vec![key], guarded: guarded(&touched), touched }
    }
}

fn guarded(paths: &[PathBuf]) -> Option<PathBuf> {
    let named = paths.iter().flat_map(|path| [path.clone(), petasos_fs::real(path)]);
    named.into_iter().find(|path| petasos_fs::is_protected(path))
}

fn file_key(path: &Path) -> String {
    format!("edit {}", petasos_fs::real(path).display())
}

fn is_edit(tool: &str) -> bool {
    matches!(tool, "write_file" | "patch")
}

impl RuledSession {
    /// Whether a deed is asked about.
    fn about(&self, tool: &str, arguments: &Map<String, Value>, deed: &Deed) -> Directive {
        if self.is_denied(deed) {
            return Directive::Block(DENIED.to_owned());
        }
        if is_edit(tool) {
            return edit(self.mode(), self, deed);
        }
        match (run(self.mode(), tool, arguments), &deed.guarded) {
            (Directive::Pass, Some(path)) => Directive::AskHuman {
                message: format!("it changes `{}`, which is a protected file", path.display()),
                rule_key: Some(file_key(path)),
            },
            (asked, _) => asked,
        }
    }
}

/// Whether an edit is asked about.
fn edit(mode: Mode, ruled: &RuledSession, deed: &Deed) -> Directive {
    let real: Vec<PathBuf> = deed.touched.iter().map(|path| petasos_fs::real(path)).collect();
    let inside = |path: &PathBuf| ruled.is_own(path) || path.starts_with(TEMPORARY);
    let outside = real.is_empty() || !real.iter().all(inside);
    let why = match (mode, &deed.guarded) {
        (Mode::Plan, _) => return Directive::Block(PLANNING.to_owned()),
        (_, Some(path)) => format!("`{}` is a protected file", path.display()),
        (Mode::Ask, None) => "every edit is asked about in this mode".to_owned(),
        (Mode::AcceptEdits, None) if outside => "the edit is outside the workspace".to_owned(),
        (Mode::AcceptEdits | Mode::DontAsk, None) => return Directive::Pass,
    };
    let names: Vec<String> = real.iter().map(|path| path.display().to_string()).collect();
    Directive::AskHuman { message: why, rule_key: Some(format!("edit {}", names.join(" "))) }
}

const DENIED: &str = "The user has denied this for the whole session. Do not try it again or reach the same effect another way.";
const PLANNING: &str = "Plan mode: nothing is written or run. Say what you would do, or ask the user to leave plan mode.";

/// Whether the mode asks about something that is no edit.
fn run(mode: Mode, tool: &str, arguments: &Map<String, Value>) -> Directive {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    let (runs, subject) = match tool {
        "terminal" => (!reading::only_reads(text("command")), text("command")),
        "execute_code" => (true, text("code")),
        "process" => (matches!(text("action"), "write" | "submit" | "kill"), text("action")),
        "skill_manage" | "memory" | "send_message" | "cronjob" => (mode == Mode::Plan, tool),
        foreign if foreign.starts_with("mcp__") => (mode == Mode::Plan, foreign),
        _ => (false, ""),
    };
    match mode {
        _ if !runs => Directive::Pass,
        Mode::Plan => Directive::Block(PLANNING.to_owned()),
        Mode::Ask => Directive::AskHuman {
            message: "commands that may change something are asked about in this mode".to_owned(),
            rule_key: Some(format!("run {subject}")),
        },
        Mode::AcceptEdits | Mode::DontAsk => Directive::Pass,
    }
}

/// What an edit would do, as far as its arguments and the present texts tell.
fn proposed(
    tool: &str,
    arguments: &Map<String, Value>,
    before: &[(PathBuf, Option<String>)],
) -> Vec<FileDiff> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let Some((path, old)) = before.first().cloned() else { return Vec::new() };
    if tool == "write_file" {
        let new = text("content").unwrap_or_default().to_owned();
        return vec![FileDiff { path, old, new }];
    }
    let (Some(from), Some(to)) = (text("old_string"), text("new_string")) else {
        return Vec::new();
    };
    let whole = old.as_deref().filter(|old| !from.is_empty() && old.contains(from));
    let all = arguments.get("replace_all").and_then(Value::as_bool).unwrap_or_default();
    match whole {
        Some(whole) => {
            let new = if all { whole.replace(from, to) } else { whole.replacen(from, to, 1) };
            vec![FileDiff { path, old, new }]
        }
        // The tool finds the place by likeness; the person sees what is sought and what comes.
        None => vec![FileDiff { path, old: Some(from.to_owned()), new: to.to_owned() }],
    }
}

impl Buffers for EditorRules {
    fn holds(&self, path: &Path, cx: &CallContext) -> bool {
        self.of(cx).is_some_and(|ruled| ruled.files.is_some() && ruled.is_own(path))
    }

    fn read<'a>(
        &'a self,
        path: &'a Path,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, EnvError>> {
        Box::pin(async move {
            let (files, path) = self.held(path, cx)?;
            files.read(&path).await
        })
    }

    fn write<'a>(
        &'a self,
        path: &'a Path,
        text: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move {
            let (files, path) = self.held(path, cx)?;
            files.write(&path, text).await
        })
    }
}

impl EditorRules {
    /// The client's texts, and its name of a file.
    fn held(&self, path: &Path, cx: &CallContext) -> Result<(Arc<ClientFiles>, PathBuf), EnvError> {
        let ruled = self.of(cx).ok_or_else(|| gone(path))?;
        let files = ruled.files.clone().ok_or_else(|| gone(path))?;
        Ok((files, ruled.roots.named(path)))
    }
}

fn gone(path: &Path) -> EnvError {
    let why = "the editor has closed the session".to_owned();
    EnvError::File { path: TargetPath::new(path), why, missing: false }
}

impl Hook for EditorRules {
    fn name(&self) -> &'static str {
        "editor"
    }

    fn wants(&self) -> HookSet {
        HookSet::EMPTY.with(HookKind::PreToolCall).with(HookKind::PostToolCall)
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        Box::pin(async move {
            match moment {
                Moment::PreToolCall(about) => Ok(self.before(about).await),
                Moment::PostToolCall(about, finished) => {
                    self.after(about, finished).await;
                    Ok(Directive::Pass)
                }
                _ => Ok(Directive::Pass),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(directive: &Directive) -> &'static str {
        match directive {
            Directive::Pass => "pass",
            Directive::Block(_) => "block",
            Directive::AskHuman { .. } => "ask",
            _ => "?",
        }
    }

    #[test]
    fn a_mode_decides_what_is_asked_and_protected_files_always_are() {
        let ruled = RuledSession::new(vec!["/w".into()], None, None);
        for (path, answers) in [
            ("/w/src/a.rs", ["ask", "pass", "pass", "block"]),
            ("/etc/motd", ["ask", "ask", "pass", "block"]),
            ("/w/.env", ["ask", "ask", "ask", "block"]),
            ("/w/.env.local", ["ask", "ask", "ask", "block"]),
            ("/w/.git/config", ["ask", "ask", "ask", "block"]),
            ("/home/me/.ssh/id_ed25519", ["ask", "ask", "ask", "block"]),
            ("/w/server.pem", ["ask", "ask", "ask", "block"]),
            ("/w/.envrc", ["ask", "ask", "ask", "block"]),
            ("/w/env.rs", ["ask", "pass", "pass", "block"]),
        ] {
            let modes = [Mode::Ask, Mode::AcceptEdits, Mode::DontAsk, Mode::Plan];
            let found =
                modes.map(|mode| asked(&edit(mode, &ruled, &Deed::edit(vec![path.into()]))));
            assert_eq!(found, answers, "{path}");
        }
    }

    #[test]
    fn commands_that_only_read_are_not_asked_about() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        for (tool, arguments, answers) in [
            ("terminal", json!({"command": "ls -l"}), ["pass", "pass", "pass"]),
            ("terminal", json!({"command": "echo x > y"}), ["ask", "pass", "block"]),
            ("execute_code", json!({"code": "1"}), ["ask", "pass", "block"]),
            ("read_file", json!({"path": "x"}), ["pass", "pass", "pass"]),
            ("mcp__git__commit", json!({}), ["pass", "pass", "block"]),
        ] {
            let arguments = map(arguments);
            let modes = [Mode::Ask, Mode::AcceptEdits, Mode::Plan];
            assert_eq!(modes.map(|mode| asked(&run(mode, tool, &arguments))), answers, "{tool}");
        }
    }

    #[test]
    fn an_edit_is_shown_whole_where_its_place_is_certain() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let path = PathBuf::from("/w/a");
        let before = [(path.clone(), Some("one two one".to_owned()))];
        let diff = |old: &str, new: &str| {
            vec![FileDiff { path: path.clone(), old: Some(old.to_owned()), new: new.to_owned() }]
        };
        let change = |from, to, all| {
            map(json!({"path": "a", "old_string": from, "new_string": to, "replace_all": all}))
        };
        assert_eq!(
            proposed("patch", &change("one", "1", true), &before),
            diff("one two one", "1 two 1")
        );
        assert_eq!(
            proposed("patch", &change("two", "2", false), &before),
            diff("one two one", "one 2 one")
        );
        assert_eq!(proposed("patch", &change("tvo", "2", false), &before), diff("tvo", "2"));
        let write = map(json!({"path": "a", "content": "new"}));
        assert_eq!(proposed("write_file", &write, &before), diff("one two one", "new"));
    }
}
