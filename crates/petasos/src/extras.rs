//! Slash commands that need the program around sessions: the task board, the curator of skills, and
//! a page of facts for whoever looks for a fault.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::context::Surface;
use petasos_contract::{BoxFuture, SessionId};
use petasos_fs::Mode;
use petasos_redact::Redactor;
use petasos_session::Extra;
use petasos_skills::curator;
use petasos_store::{Boards, Task, TaskFilter, board_time};

use crate::board;
use crate::host::Host;

/// So many tasks are listed.
const TASKS_MAX: usize = 50;
/// So much of the end of a log is kept.
const LOG_LINES: usize = 200;

type Said<'a> = BoxFuture<'a, Result<String, String>>;

/// One of these commands.
struct Own {
    name: &'static str,
    about: &'static str,
    host: Arc<Host>,
    run: Run,
}

impl Extra for Own {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn run<'a>(&'a self, words: &'a str) -> Said<'a> {
        (self.run)(&self.host, words)
    }
}

/// How one is run.
type Run = for<'a> fn(&'a Arc<Host>, &'a str) -> Said<'a>;

/// All of them: name, what it does, and how.
pub(crate) const COMMANDS: [(&str, &str, Run); 3] = [
    ("kanban", "List the tasks of the board", |host, words| Box::pin(kanban(host, words))),
    ("curator", "What the curator of skills would do, or do it: `run`", |host, words| {
        Box::pin(std::future::ready(curator_of(host, words)))
    }),
    ("debug", "Write a page of facts about this program to a file", |host, words| {
        Box::pin(std::future::ready(debug(host, words)))
    }),
];

/// The commands, on a host.
pub(crate) fn of(host: &Arc<Host>) -> Vec<Arc<dyn Extra>> {
    let own = |(name, about, run)| {
        Arc::new(Own { name, about, host: Arc::clone(host), run }) as Arc<dyn Extra>
    };
    COMMANDS.into_iter().map(own).collect()
}

async fn kanban(host: &Arc<Host>, words: &str) -> Result<String, String> {
    if !words.is_empty() {
        return Err("/kanban lists the tasks; `petasos kanban` changes them".to_owned());
    }
    let settings = host.settings();
    let boards = Boards::of(host.ports().boards.as_ref()).ok_or("this program keeps no boards")?;
    let store = boards.store().map_err(|error| error.to_string())?;
    let board = board::current(settings);
    store.promote(&board, board_time()).await.map_err(|error| error.to_string())?;
    let filter = TaskFilter { board: board.clone(), limit: TASKS_MAX, ..TaskFilter::default() };
    let tasks = store.list_tasks(filter).await.map_err(|error| error.to_string())?;
    let line = |task: &Task| {
        let who = if task.assignee.is_empty() { "nobody" } else { &task.assignee };
        format!("- `{}` {} **{}**, {who}", task.id, task.status.as_str(), task.title)
    };
    let lines: Vec<String> = tasks.iter().map(line).collect();
    Ok(if lines.is_empty() { format!("No task on the board `{board}`.") } else { lines.join("\n") })
}

fn curator_of(host: &Arc<Host>, words: &str) -> Result<String, String> {
    let library = petasos_skills::Library::of(host.ports());
    let cx = host.call_context(Surface::Cli, SessionId::new("curator"));
    let now = SystemTime::now();
    let steps = match words {
        "" | "status" => curator::plan(&library, &cx, now).map_err(|error| error.to_string())?,
        "run" => curator::run(&library, &cx, now).map_err(|error| error.to_string())?.steps,
        other => return Err(format!("`{other}` is nothing to do: status or run")),
    };
    let line = |step: &curator::Step| {
        let becomes = format!("{:?}", step.becomes).to_lowercase();
        let since = step.last_touched.as_deref().unwrap_or("nobody counted");
        format!("- **{}** {becomes}, last used {since}", step.name)
    };
    let lines: Vec<String> = steps.iter().map(line).collect();
    Ok(if lines.is_empty() { "Nothing to do.".to_owned() } else { lines.join("\n") })
}

/// Writes it to a file of this home, and sends it nowhere.
fn debug(host: &Arc<Host>, words: &str) -> Result<String, String> {
    if !matches!(words, "" | "local") {
        return Err("/debug writes a file here; nothing is uploaded".to_owned());
    }
    let settings = host.settings();
    let mut page = format!("petasos {}\n", env!("CARGO_PKG_VERSION"));
    let told = writeln!(page, "home {}", settings.home().display())
        .and_then(|()| writeln!(page, "workspace {}", settings.workspace().display()))
        .and_then(|()| {
            let values = serde_json::Value::Object(settings.values().clone());
            writeln!(page, "\nsettings\n{values:#}\n")
        });
    told.map_err(|error| error.to_string())?;
    for log in ["logs/agent.log", "logs/errors.log"] {
        let text = std::fs::read_to_string(settings.home().join(log)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines.iter().skip(lines.len().saturating_sub(LOG_LINES));
        let last: Vec<&str> = last.copied().collect();
        writeln!(page, "{log}\n{}\n", last.join("\n")).map_err(|error| error.to_string())?;
    }
    let page = Redactor::of(settings).text(&page).into_owned();
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let path = settings.home().join("cache").join(format!("debug-{at}.txt"));
    petasos_fs::write(&path, page.as_bytes(), Mode::Exactly(0o600))
        .map_err(|error| error.to_string())?;
    Ok(format!("Written to {}; secrets are masked, nothing was sent.", path.display()))
}
