//! What the board tools share: whose board, who acts, what a worker may touch, and the answers.

use std::path::PathBuf;
use std::sync::Arc;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::event::Event;
use petasos_contract::hook::{BoardMoment, HookKind, Moment};
use petasos_contract::ports::Ports;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Settings, Tool, ToolError, ToolOutput,
};
use petasos_redact::Redactor;
use petasos_store::{
    Actor, Attachment, BoardError, BoardPlace, BoardStore, Boards, On, Task, board_time,
    is_board_name,
};
use petasos_taint::Ledger;
use serde_json::{Map, Value, json};

use crate::trouble::Trouble;

const NEEDS: &str = "needs the kanban toolset in this profile, or a task given by the dispatcher";
const NEEDS_ALL: &str =
    "needs the kanban toolset in this profile, without a task given by the dispatcher";

/// The tools of a worker and of whoever orchestrates.
pub(crate) static KANBAN: CheckDef = CheckDef {
    id: "kanban",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            let is_worker = cx.settings.role(TASK).is_some();
            Availability::when(is_worker || is_listed(&cx.settings), NEEDS)
        })
    },
};

/// The tools of whoever orchestrates.
pub(crate) static ORCHESTRATOR: CheckDef = CheckDef {
    id: "kanban_orchestrator",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            let is_worker = cx.settings.role(TASK).is_some();
            Availability::when(!is_worker && is_listed(&cx.settings), NEEDS_ALL)
        })
    },
};

const TASK: &str = "KANBAN_TASK";
const TOOLSET: &str = "kanban";

/// Whether the profile names the toolset for any of its surfaces.
pub fn is_listed(settings: &Settings) -> bool {
    let names = |value: &Value| match value {
        Value::String(name) => name == TOOLSET,
        Value::Array(names) => names.iter().any(|name| name == TOOLSET),
        _ => false,
    };
    settings.get("toolsets").is_some_and(names)
        || settings
            .get("platform_toolsets")
            .and_then(Value::as_object)
            .is_some_and(|platforms| platforms.values().any(names))
}

/// What a tool does with its arguments at a desk.
pub(crate) type Handle = for<'a> fn(Desk<'a>, Args) -> BoxFuture<'a, Result<Value, Trouble>>;

/// A tool that works on a board.
pub(crate) struct BoardTool {
    pub(crate) ports: Ports,
    pub(crate) effects: fn(&mut Args, &CallContext) -> Effects,
    pub(crate) handle: Handle,
}

impl BoardTool {
    /// A tool that only looks.
    pub(crate) fn looking(ports: &Ports, handle: Handle) -> Arc<dyn Tool> {
        Arc::new(Self { ports: ports.clone(), effects: |_, _| Effects::none(), handle })
    }

    /// A tool that changes the board.
    pub(crate) fn changing(ports: &Ports, handle: Handle) -> Arc<dyn Tool> {
        Arc::new(Self { ports: ports.clone(), effects: |_, _| Effects::one(kept()), handle })
    }
}

/// The effect of every change of a board.
pub(crate) fn kept() -> Effect {
    Effect::Remember { store: "board".to_owned() }
}

impl Tool for BoardTool {
    fn plan<'a>(
        &'a self,
        mut args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<petasos_contract::Plan, ToolError>> {
        let effects = (self.effects)(&mut args, cx);
        let plan = petasos_contract::Plan::new(args).with_effects(effects);
        Box::pin(std::future::ready(Ok(plan)))
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args = cleared.into_args();
            let told = match Desk::open(&self.ports, &args, cx) {
                Ok(desk) => (self.handle)(desk, args).await,
                Err(trouble) => Err(trouble),
            };
            let mut value = told.unwrap_or_else(Trouble::value);
            Redactor::of(&cx.settings).value(&mut value);
            let text = value.to_string();
            // A card carries the label of the conversation that wrote it.
            let is_outside = value.get("from_outside") == Some(&Value::Bool(true));
            Ok(if is_outside { ToolOutput::Untrusted(text) } else { ToolOutput::Text(text) })
        })
    }
}

/// A board, and who sits at it.
pub(crate) struct Desk<'a> {
    pub(crate) store: Arc<dyn BoardStore>,
    pub(crate) board: String,
    pub(crate) who: Actor,
    /// The task that the dispatcher gave to this process.
    pub(crate) own: Option<String>,
    pub(crate) ports: &'a Ports,
    pub(crate) cx: &'a CallContext,
}

impl<'a> Desk<'a> {
    fn open(ports: &'a Ports, args: &Args, cx: &'a CallContext) -> Result<Self, Trouble> {
        let boards = Boards::of(ports.boards.as_ref())
            .ok_or_else(|| Trouble::new("missing_setup", "this program keeps no boards"))?;
        let settings = &cx.settings;
        let role = |name: &str| settings.role(name).map(|it| it.value.expose().to_owned());
        let place = BoardPlace::of(settings.home());
        let named = args.text("board").map(str::trim).filter(|name| !name.is_empty());
        let board = named.map_or_else(|| place.current(settings), str::to_owned);
        let who =
            Actor { profile: place.profile, lock: role("KANBAN_CLAIM_LOCK"), at_ms: board_time() };
        if !is_board_name(&board) {
            let why = format!(
                "`{board}` names no board: use small letters, digits, `-` and `_`, at most 64"
            );
            return Err(Trouble::new("bad_argument", why));
        }
        Ok(Self {
            store: boards.store().map_err(|error| store(&error))?,
            board,
            who,
            own: role(TASK),
            ports,
            cx,
        })
    }

    /// The task that is meant: the one named, or the worker's own.
    pub(crate) fn task(&self, args: &Args) -> Result<String, Trouble> {
        let named = args.text("task_id").filter(|id| !id.is_empty()).map(str::to_owned);
        named.or_else(|| self.own.clone()).ok_or_else(|| {
            Trouble::new("bad_argument", "say which task: `task_id` is missing and none is yours")
        })
    }

    /// The task as something to be changed. A worker changes its own and no other.
    pub(crate) fn on(&self, task: String) -> Result<On, Trouble> {
        match &self.own {
            Some(own) if *own != task => Err(Trouble::new(
                "denied",
                format!("a worker changes only its own task, `{own}`; `{task}` is somebody else's"),
            )),
            _ => Ok(On { board: self.board.clone(), task, by: self.who.clone() }),
        }
    }

    /// Whether the conversation hears how the tasks that it makes end.
    pub(crate) fn is_told(&self) -> bool {
        let is_off = self.cx.settings.get("kanban.auto_subscribe_on_create") == Some(&false.into());
        self.own.is_none() && is_listed(&self.cx.settings) && !is_off
    }

    /// Text as it is kept: without secrets.
    pub(crate) fn masked(&self, text: &str) -> String {
        Redactor::of(&self.cx.settings).text(text).into_owned()
    }

    /// Tells hooks.
    pub(crate) async fn tell(&self, kind: HookKind, task: &Task, run: Option<i64>, note: &str) {
        let Some(moments) = self.ports.moments.as_ref().filter(|it| it.wants(kind)) else { return };
        let run_id = run.map(|run| run.to_string()).unwrap_or_default();
        let about = BoardMoment {
            task_id: &task.id,
            board: &task.board,
            assignee: &task.assignee,
            run_id: &run_id,
            profile: &self.who.profile,
            note: Some(note),
        };
        let moment = match kind {
            HookKind::KanbanTaskCompleted => Moment::KanbanTaskCompleted(&about),
            _ => Moment::KanbanTaskBlocked(&about),
        };
        moments.tell(&moment).await;
    }
}

fn store(error: &petasos_store::StoreError) -> Trouble {
    Trouble::new("upstream", error.to_string())
}

impl From<BoardError> for Trouble {
    fn from(error: BoardError) -> Self {
        let kind = match &error {
            BoardError::Store(_) => "upstream",
            BoardError::NoTask { .. } => "not_found",
            BoardError::Cycle { .. } | BoardError::Bad(_) => "bad_argument",
            BoardError::ClaimLost { .. } => "stale",
            BoardError::WrongState { .. } => "not_actionable",
        };
        Self::new(kind, error.to_string())
    }
}

/// A result: `ok` and these keys.
pub(crate) fn ok(keys: Value) -> Value {
    let mut object = Map::new();
    object.insert("ok".to_owned(), true.into());
    if let Value::Object(keys) = keys {
        object.extend(keys);
    }
    Value::Object(object)
}

/// Files that strangers had a hand in are known again by whoever reads them where they are kept.
pub(crate) async fn noted(files: &[Attachment], cx: &CallContext) {
    let theirs = files.iter().filter(|file| !file.label.is_clean());
    let theirs: Vec<(PathBuf, String)> = theirs
        .map(|file| {
            let from = file.source.as_ref().unwrap_or(&file.filename);
            (file.path.clone(), format!("board: {from}"))
        })
        .collect();
    if theirs.is_empty() {
        return;
    }
    let ledger = Ledger::of(&cx.settings);
    let note = move || {
        let known = ledger.snapshot();
        let new = theirs.iter().filter(|(path, _)| known.source(path).is_none());
        new.map(|(path, from)| ledger.note(path, from)).collect::<std::io::Result<Vec<()>>>()
    };
    let done = tokio::task::spawn_blocking(note).await;
    if !matches!(done, Ok(Ok(_))) {
        let text = "whose words files of the board hold was not noted".to_owned();
        cx.events.emit(|| Event::Notice { text });
    }
}

/// A task as a list shows it.
pub(crate) fn row(task: &Task) -> Value {
    let mut value = json!(task);
    if let Some(object) = value.as_object_mut() {
        object.remove("body");
        if !task.label.is_clean() {
            object.insert("from_outside".to_owned(), true.into());
        }
    }
    value
}

/// The parameter that every board tool has.
pub(crate) fn board_parameter() -> Value {
    json!({ "type": "string" })
}

/// The parameter that names a task.
pub(crate) fn task_parameter() -> Value {
    json!({ "type": "string" })
}
