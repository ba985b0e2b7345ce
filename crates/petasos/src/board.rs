//! Giving the tasks of a board to workers: each is this program again, with one task to do.
//!
//! Any number of dispatchers may look at one board: a claim goes to one of them. A worker lives
//! below its dispatcher, so that a dispatcher that dies takes its workers with it, and the next one
//! finds their claims. What is in triage is looked at first (`sort`).

mod journal;
mod sort;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::Settings;
use petasos_contract::environment::Ending;
use petasos_contract::hook::{BoardMoment, HookKind, Moment};
use petasos_contract::ports::Ports;
use petasos_contract::processes::{HelperSpec, Processes};
use petasos_contract::settings::Source;
use petasos_contract::wait::Owned;
use petasos_redact::Redactor;
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{
    Actor, BOARD_USUAL, BoardError, BoardPlace, BoardStore, Boards, ClaimAsk, Claimed, On,
    Patience, RunEnd, StoreError, Task, TaskFilter, board_time, is_board_name,
};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use self::journal::Journal;
use self::sort::Sorter;
use crate::host::Host;
use crate::report::Report;

/// What a worker exits with when its provider asks for a pause.
pub(crate) const RATE_LIMITED_CODE: u8 = 75;
/// How long a task rests afterwards.
const REST: Duration = Duration::from_mins(5);
/// So many workers at once, whatever their profiles allow.
const WORKERS_MAX: usize = 8;
/// How long a worker that is given up has to end.
const GRACE: Duration = Duration::from_secs(5);
/// Tasks that somebody outside is shown.
const SHOWN_MAX: usize = 500;
/// How much of a worker's last words is kept.
const WORDS_MAX: usize = 2000;

/// The home that all profiles share.
pub(crate) fn root(settings: &Settings) -> PathBuf {
    root_of(settings.home())
}

/// The home that all profiles share with this one.
pub(crate) fn root_of(home: &Path) -> PathBuf {
    BoardPlace::of(home).root
}

/// The profile of this home.
pub(crate) fn profile(settings: &Settings) -> String {
    BoardPlace::of(settings.home()).profile
}

/// The boards of a home, in the store that all its profiles share.
pub(crate) fn boards(settings: &Arc<Settings>) -> Arc<Boards> {
    let settings = Arc::clone(settings);
    Boards::new(move || {
        let file = root(&settings).join(petasos_sqlite::FILE_NAME);
        Ok(Arc::new(Store::open(&OpenOptions::new(file))?) as Arc<dyn BoardStore>)
    })
}

/// How tasks are given out.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// How often the board is looked at.
    pub(crate) every: Duration,
    patience: Patience,
    running_max: Option<u32>,
}

impl Rules {
    /// Those of a snapshot.
    pub(crate) fn of(settings: &Settings) -> Self {
        let number = |key: &str| settings.get(key).and_then(serde_json::Value::as_u64);
        let most = |key: &str| number(key).and_then(|number| u32::try_from(number).ok());
        let every = number("kanban.dispatch_interval_seconds").unwrap_or(60).max(1);
        let stale = number("kanban.dispatch_stale_timeout_seconds").unwrap_or(14_400);
        Self {
            every: Duration::from_secs(every),
            patience: Patience {
                stale: Duration::from_secs(stale),
                failure_limit: most("kanban.failure_limit").unwrap_or(2),
            },
            running_max: most("kanban.max_in_progress_per_profile"),
        }
    }
}

/// A worker and its task.
#[derive(Debug)]
struct Worker {
    on: On,
    life: Owned<()>,
}

/// Gives out the tasks of one board.
pub(crate) struct Dispatcher {
    store: Arc<dyn BoardStore>,
    processes: Arc<dyn Processes>,
    ports: Arc<Ports>,
    settings: Arc<Settings>,
    program: PathBuf,
    board: String,
    rules: Rules,
    workers: Vec<Worker>,
}

impl Dispatcher {
    /// For this board.
    pub(crate) fn new(
        ports: &Arc<Ports>,
        settings: &Arc<Settings>,
        board: &str,
    ) -> Result<Self, Report> {
        let boards = Boards::of(ports.boards.as_ref());
        let boards = boards.ok_or_else(|| Report::new("this program keeps no boards"))?;
        let processes = ports.processes.clone();
        Ok(Self {
            store: boards.store().map_err(|error| failed(&error.into()))?,
            processes: processes.ok_or_else(|| Report::new("this program starts no processes"))?,
            ports: Arc::clone(ports),
            settings: Arc::clone(settings),
            program: std::env::current_exe()?,
            board: board.to_owned(),
            rules: Rules::of(settings),
            workers: Vec::new(),
        })
    }

    /// How many workers live.
    pub(crate) fn working(&mut self) -> usize {
        self.workers.retain(|worker| !worker.life.is_finished());
        self.workers.len()
    }

    /// Looks once: takes back what the dead held, gives out what is ready. Gives what began.
    pub(crate) async fn tick(&mut self) -> Result<Vec<Task>, BoardError> {
        self.working();
        for worker in &mut self.workers {
            worker.on.by.at_ms = board_time();
            // Whoever lost the claim hears of it below.
            if let Err(error) = self.store.beat(worker.on.clone(), None).await {
                tracing::info!(task = %worker.on.task, %error, "a worker holds its task no more");
            }
        }
        let taken = self.store.reclaim(&self.board, self.rules.patience, board_time()).await?;
        for gone in &taken {
            tracing::warn!(task = %gone.task, why = %gone.why, "a task was taken back");
            // Its worker, where it is ours, ends with what owns it.
            self.workers.retain(|worker| worker.on.task != gone.task);
        }
        self.sorter().look().await?;
        self.store.promote(&self.board, board_time()).await?;
        let mut begun = Vec::new();
        while self.workers.len() < WORKERS_MAX {
            let ask = ClaimAsk {
                board: self.board.clone(),
                running_max: self.rules.running_max,
                at_ms: board_time(),
                ..ClaimAsk::default()
            };
            let Some(claimed) = self.store.claim_task(ask).await? else { break };
            self.tell(&claimed).await;
            begun.push(claimed.task.clone());
            self.start(&claimed);
        }
        Ok(begun)
    }

    fn sorter(&self) -> Sorter<'_> {
        Sorter {
            store: &self.store,
            model: self.ports.model.as_ref(),
            settings: &self.settings,
            board: &self.board,
            failures_max: self.rules.patience.failure_limit,
        }
    }

    /// Waits until every worker has ended.
    pub(crate) async fn finish(&mut self) {
        for worker in std::mem::take(&mut self.workers) {
            worker.life.join().await;
        }
    }

    async fn tell(&self, claimed: &Claimed) {
        let kind = HookKind::KanbanTaskClaimed;
        let Some(moments) = self.ports.moments.as_ref().filter(|it| it.wants(kind)) else { return };
        let (task, run_id) = (&claimed.task, claimed.run_id.to_string());
        let about = BoardMoment {
            task_id: &task.id,
            board: &task.board,
            assignee: &task.assignee,
            run_id: &run_id,
            profile: &task.assignee,
            note: None,
        };
        moments.tell(&Moment::KanbanTaskClaimed(&about)).await;
    }

    fn start(&mut self, claimed: &Claimed) {
        let by = Actor {
            profile: profile(&self.settings),
            lock: Some(claimed.lock.clone()),
            at_ms: board_time(),
        };
        let on = On { board: self.board.clone(), task: claimed.task.id.clone(), by };
        let (store, processes) = (Arc::clone(&self.store), Arc::clone(&self.processes));
        let (limit, mine) = (self.rules.patience.failure_limit, on.clone());
        let plan = self.plan(claimed);
        let life = Owned::start(async move {
            let end = match plan {
                Ok(plan) => work(plan, &*processes, limit).await,
                Err(why) => RunEnd::Failed { why, limit },
            };
            let by = Actor { at_ms: board_time(), ..mine.by.clone() };
            match store.end_run(On { by, ..mine }, end).await {
                Ok(Some(task)) => {
                    tracing::info!(task = %task.id, status = %task.status, "unsettled");
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "the end of a worker was not noted"),
            }
        });
        self.workers.push(Worker { on, life });
    }

    /// What is started for a task, and where.
    fn plan(&self, claimed: &Claimed) -> Result<Start, String> {
        let task = &claimed.task;
        let mut argv = vec![self.program.display().to_string()];
        let order = format!(
            "You are the worker of board task {}. Call kanban_show first; it says what to do. Send \
             kanban_heartbeat during long work. End with kanban_complete, or with kanban_block when \
             you cannot go on.",
            task.id
        );
        argv.extend(["run".to_owned(), "--unattended".to_owned(), order]);
        let mut spec = HelperSpec::new(format!("worker of {}", task.id), argv, &self.settings);
        let own = self.settings.variables().iter();
        // The worker is this program again, so that it is told what this one was told.
        let told = own.filter(|(_, it)| matches!(it.source, Source::Environment { .. }));
        spec.env = told.map(|(name, it)| (name.clone(), it.value.expose().to_owned())).collect();
        let told: BTreeMap<&str, String> = BTreeMap::from([
            ("PETASOS_HOME", root(&self.settings).display().to_string()),
            ("PETASOS_PROFILE", task.assignee.clone()),
            ("PETASOS_KANBAN_TASK", task.id.clone()),
            ("PETASOS_KANBAN_RUN_ID", claimed.run_id.to_string()),
            ("PETASOS_KANBAN_CLAIM_LOCK", claimed.lock.clone()),
            ("PETASOS_KANBAN_BOARD", self.board.clone()),
        ]);
        spec.env.extend(told.into_iter().map(|(name, value)| (name.to_owned(), value)));
        let folder = |name: &str| root(&self.settings).join("kanban").join(name).join(&task.id);
        let (place, tree) = match (task.workspace.kind.as_str(), &task.workspace.path) {
            ("dir", Some(path)) => (PathBuf::from(path), None),
            ("worktree", Some(path)) => (folder("worktrees"), Some(PathBuf::from(path))),
            ("scratch", _) => (folder("workspaces"), None),
            (kind, _) => return Err(format!("a workspace of kind `{kind}` has no folder")),
        };
        spec.cwd = place;
        let log = root(&self.settings).join("kanban").join("logs").join(format!("{}.log", task.id));
        let log = Journal::new(log, &self.settings);
        Ok(Start { spec, tree, log, most: task.max_runtime_s })
    }
}

/// A worker that is to be started.
struct Start {
    spec: HelperSpec,
    /// The repository whose worktree is the workspace.
    tree: Option<PathBuf>,
    log: Journal,
    most: Option<u32>,
}

/// Runs a worker to its end and says what that means for its task.
async fn work(start: Start, processes: &dyn Processes, limit: u32) -> RunEnd {
    let fail = |why: String| RunEnd::Failed { why, limit };
    if let Err(why) = ready(&start, processes).await {
        return fail(why);
    }
    let most = start.most.map_or(Duration::MAX, |most| Duration::from_secs(u64::from(most)));
    let ended = match run(start.spec, processes, most, Some(&start.log)).await {
        Ok(ended) => ended,
        Err(why) => return fail(why),
    };
    match ended.ending {
        Ending::Code(code) if code == i32::from(RATE_LIMITED_CODE) => {
            let rest = i64::try_from(REST.as_millis()).unwrap_or(i64::MAX);
            RunEnd::RateLimited { until_ms: board_time().saturating_add(rest) }
        }
        Ending::Code(0) => {
            fail("the worker ended without completing or blocking its task".to_owned())
        }
        ending => {
            let last = ended.words.trim().lines().last().unwrap_or_default().to_owned();
            fail(format!("the worker ended with {} {last}", ending.code()).trim_end().to_owned())
        }
    }
}

/// The workspace is there.
async fn ready(start: &Start, processes: &dyn Processes) -> Result<(), String> {
    let place = &start.spec.cwd;
    let Some(repository) = &start.tree else {
        let made = tokio::fs::create_dir_all(place).await;
        return made.map_err(|error| format!("`{}` cannot be made: {error}", place.display()));
    };
    if place.exists() {
        return Ok(());
    }
    let words = ["git", "-C", &repository.display().to_string(), "worktree", "add", "--detach"]
        .map(str::to_owned);
    let argv = [words.to_vec(), vec![place.display().to_string()]].concat();
    let mut spec = HelperSpec::new("git worktree", argv, &start.spec.settings);
    spec.cwd.clone_from(repository);
    let ended = run(spec, processes, Duration::from_mins(2), None).await?;
    match ended.ending {
        Ending::Code(0) => Ok(()),
        _ => Err(format!("no worktree of `{}`: {}", repository.display(), ended.words.trim())),
    }
}

struct Ended {
    ending: Ending,
    words: String,
}

async fn run(
    spec: HelperSpec,
    processes: &dyn Processes,
    most: Duration,
    log: Option<&Journal>,
) -> Result<Ended, String> {
    let name = spec.name.clone();
    let helper = processes.start(spec).await.map_err(|error| format!("{name}: {error}"))?;
    let hand = Arc::clone(&helper.hand);
    drop(helper.stdin);
    let ended = async {
        let (ending, out, err) =
            tokio::join!(hand.exited(), tail(helper.stdout, log), tail(helper.stderr, log));
        ending.map(|ending| Ended { ending, words: out + &err })
    };
    // A day is longer than any attempt is waited for.
    let most = most.min(Duration::from_hours(24));
    let Ok(ended) = tokio::time::timeout(most, ended).await else {
        hand.kill(GRACE).await.map_err(|error| format!("{name}: {error}"))?;
        return Err(format!("{name}: it took longer than {} s", most.as_secs()));
    };
    ended.map_err(|error| format!("{name}: {error}"))
}

/// Reads to the end: everything goes to the log, the last words are kept.
async fn tail(mut from: impl AsyncRead + Unpin, log: Option<&Journal>) -> String {
    let (mut kept, mut piece) = (Vec::new(), [0_u8; 4096]);
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        let new = piece.get(..read).unwrap_or_default();
        if let Some(log) = log {
            log.write(new);
        }
        kept.extend_from_slice(new);
        let over = kept.len().saturating_sub(WORDS_MAX);
        kept.drain(..over);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Gives out tasks until it is dropped.
pub(crate) fn dispatch(mut dispatcher: Dispatcher) -> Owned<()> {
    Owned::start(async move {
        loop {
            if let Err(error) = dispatcher.tick().await {
                tracing::warn!(%error, "the board could not be looked at");
            }
            tokio::time::sleep(dispatcher.rules.every).await;
        }
    })
}

/// The dispatcher of a gateway, where the settings want one and the home has a board.
pub(crate) fn in_gateway(ports: &Arc<Ports>, settings: &Arc<Settings>) -> Option<Owned<()>> {
    let is_off = settings.get("kanban.dispatch_in_gateway") == Some(&false.into());
    if is_off {
        return None;
    }
    match Dispatcher::new(ports, settings, BOARD_USUAL) {
        Ok(dispatcher) => Some(dispatch(dispatcher)),
        Err(why) => {
            tracing::warn!(why = why.message(), "no tasks are given out");
            None
        }
    }
}

/// What went wrong with a board, for a person.
pub(crate) fn failed(error: &BoardError) -> Report {
    let report = Report::new(error.to_string()).code("board");
    match error {
        BoardError::Store(StoreError::Failed(_) | StoreError::Slow { .. }) => {
            report.hint("`petasos doctor` looks at the home and its disk")
        }
        _ => report,
    }
}

/// The boards of a home for somebody who looks from outside, or the tasks of one of them.
pub(crate) async fn shown(host: &Host, board: Option<&str>) -> Result<Value, String> {
    let boards = Boards::of(host.ports().boards.as_ref()).ok_or("this program keeps no boards")?;
    let store = boards.store().map_err(|error| error.to_string())?;
    let Some(board) = board else {
        let counts = store.boards().await.map_err(|error| error.to_string())?;
        return Ok(json!({ "current": current(host.settings()), "boards": counts }));
    };
    if !is_board_name(board) {
        return Err(format!("`{board}` names no board"));
    }
    let filter = TaskFilter { board: board.to_owned(), limit: SHOWN_MAX, ..TaskFilter::default() };
    let tasks = store.list_tasks(filter).await.map_err(|error| error.to_string())?;
    let mut value = json!({ "board": board, "tasks": tasks });
    Redactor::of(host.settings()).value(&mut value);
    Ok(value)
}

/// The board that is meant when none is named.
pub(crate) fn current(settings: &Settings) -> String {
    BoardPlace::of(settings.home()).current(settings)
}
