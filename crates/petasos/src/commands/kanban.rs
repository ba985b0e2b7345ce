//! `petasos kanban`: the boards of this home.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Subcommand};
use petasos_contract::taint::Taint;
use petasos_store::{
    ATTACHMENT_BYTES_MAX, Actor, BOARD_USUAL, BoardPlace, BoardStore, Boards, Completion, NewFile,
    NewTask, On, Status, Task, TaskFilter, TaskView, Workspace, board_time, is_board_name,
};
use serde_json::json;

use crate::board::{self, Dispatcher, failed};
use crate::command::{Command, Session, actions, parse};
use crate::host::Host;
use crate::out::Out;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "kanban",
    about: "Manage the task boards that agents work on",
    examples: &[
        ("petasos kanban create \"Write the release notes\"", "add a task"),
        ("petasos kanban list", "the tasks, most urgent first"),
        ("petasos kanban dispatch", "assign ready tasks to workers"),
    ],
    hidden: false,
    arguments: |command| {
        let board = clap::Arg::new("board").long("board").global(true).value_name("NAME");
        actions::<Action>(command.arg(board.help("The board (default: the one of `kanban use`)")))
    },
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// List tasks, the most urgent first
    List {
        /// Only in this state
        #[arg(long)]
        status: Option<String>,
        /// Only tasks of this profile
        #[arg(long)]
        assignee: Option<String>,
        /// Include archived tasks
        #[arg(long)]
        all: bool,
    },
    /// Show a task with its history
    Show {
        /// The task
        task: String,
    },
    /// Add a task
    Create(Wish),
    /// Add a comment
    Comment {
        /// The task
        task: String,
        /// The comment
        text: String,
    },
    /// Attach a file, at most 25 MB
    Attach {
        /// The task
        task: String,
        /// The file
        file: PathBuf,
    },
    /// Make a task depend on another
    Link {
        /// The task that comes first
        parent: String,
        /// The task that waits
        child: String,
    },
    /// Stop work on a task
    Block {
        /// The task
        task: String,
        /// What is missing
        reason: String,
    },
    /// Unblock a task
    Unblock {
        /// The task
        task: String,
    },
    /// Finish a task
    Complete {
        /// The task
        task: String,
        /// What was done
        summary: String,
    },
    /// Archive a task
    Archive {
        /// The task
        task: String,
    },
    /// List the boards
    Boards,
    /// Set the default board
    Use {
        /// The board
        name: String,
        /// Begin it if there is none of that name
        #[arg(long)]
        new: bool,
    },
    /// Assign ready tasks to workers
    Dispatch {
        /// Assign once, then wait for the workers that were started
        #[arg(long)]
        once: bool,
    },
}

/// What somebody wants done.
#[derive(Debug, clap::Args)]
struct Wish {
    /// What is to be done
    title: String,
    /// The profile that does it
    #[arg(long)]
    assignee: Option<String>,
    /// A longer description
    #[arg(long, default_value = "")]
    body: String,
    /// Tasks that must be done before
    #[arg(long = "after", value_name = "TASK")]
    parents: Vec<String>,
    /// Higher goes first
    #[arg(long, default_value_t = 0)]
    priority: i64,
    /// The folder that it works in (default: a new, empty one)
    #[arg(long, value_name = "FOLDER")]
    dir: Option<String>,
    /// Let it be looked at first: a dispatcher splits what is large
    #[arg(long)]
    triage: bool,
    /// Begin the board of `--board` if there is none of that name
    #[arg(long)]
    new_board: bool,
}

/// A board, and the person who looks at it.
struct Desk<'a> {
    host: &'a Host,
    store: Arc<dyn BoardStore>,
    board: String,
    out: Out,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let action: Action = parse(matches)?;
    let named = matches.get_one::<String>("board").cloned();
    let out = session.out;
    let host = session.host.get()?;
    if let Action::Use { name, new } = &action {
        let current = BoardPlace::of(host.settings().home()).choice();
        let name = slug(name.clone())?;
        if !new {
            known(host, &name)?;
        }
        petasos_fs::write(&current, name.as_bytes(), petasos_fs::Mode::Exactly(0o600))?;
        out.line(format!("The default board is `{name}` now."));
        return Ok(ExitCode::SUCCESS);
    }
    let begins = matches!(&action, Action::Create(wish) if wish.new_board);
    if let Some(name) = named.as_ref().filter(|_| !begins) {
        known(host, &slug(name.clone())?)?;
    }
    let name = named.unwrap_or_else(|| board::current(host.settings()));
    let desk = Desk { host, store: kept(host)?, board: slug(name)?, out };
    match action {
        Action::Dispatch { once } => desk.dispatch(once),
        action => host.wait(desk.act(action))?,
    }
}

fn kept(host: &Host) -> Result<Arc<dyn BoardStore>, Report> {
    let boards = Boards::of(host.ports().boards.as_ref());
    let boards = boards.ok_or_else(|| Report::new("this program keeps no boards"))?;
    boards.store().map_err(|error| failed(&error.into()))
}

/// A board that is there: a misspelt name must not begin another one.
fn known(host: &Host, name: &str) -> Result<(), Report> {
    let counts = host.wait(kept(host)?.boards())?.map_err(|error| failed(&error))?;
    let mut names: Vec<String> = counts.into_iter().map(|count| count.board).collect();
    names.extend([BOARD_USUAL.to_owned(), board::current(host.settings())]);
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    let near = names.iter().map(|known| (strsim::osa_distance(known, name), known)).min();
    let near = near.filter(|(distance, _)| *distance <= name.len() / 3);
    let meant = near.map(|(_, known)| format!("did you mean `{known}`? ")).unwrap_or_default();
    Err(Report::new(format!("there is no board `{name}`"))
        .code("not_found")
        .hint(format!("{meant}`petasos kanban --board {name} create --new-board TITLE` begins it")))
}

fn slug(name: String) -> Result<String, Report> {
    if is_board_name(&name) {
        return Ok(name);
    }
    Err(Report::usage(format!("`{name}` names no board"))
        .hint("small letters, digits, `-` and `_`, at most 64"))
}

impl Desk<'_> {
    fn on(&self, task: &str) -> On {
        let profile = board::profile(self.host.settings());
        let by = Actor { profile, lock: None, at_ms: board_time() };
        On { board: self.board.clone(), task: task.to_owned(), by }
    }

    async fn act(&self, action: Action) -> Result<ExitCode, Report> {
        let store = &self.store;
        let told = match action {
            Action::List { status, assignee, all } => {
                return self.list(status.as_deref(), assignee, all).await;
            }
            Action::Show { task } => {
                let view = store.view_task(&self.board, &task).await;
                show(self.out, &view.map_err(|error| failed(&error))?);
                return Ok(ExitCode::SUCCESS);
            }
            Action::Boards => return self.boards().await,
            Action::Create(wish) => self.create(wish).await,
            Action::Attach { task, file } => {
                self.attach(&task, &file).await?;
                self.task(&task).await
            }
            Action::Comment { task, text } => {
                let said = store.comment(self.on(&task), text, Taint::NONE).await;
                said.map_err(|error| failed(&error))?;
                self.task(&task).await
            }
            Action::Link { parent, child } => {
                let linked = store.link(self.on(&child), &parent).await;
                linked.map_err(|error| failed(&error))?;
                self.task(&child).await
            }
            Action::Block { task, reason } => {
                let kind = "needs_input".to_owned();
                store.block(self.on(&task), kind, reason).await.map(|(task, _)| task)
            }
            Action::Unblock { task } => store.unblock(self.on(&task)).await,
            Action::Complete { task, summary } => {
                let done = Completion { summary: Some(summary), ..Completion::default() };
                let ended = store.complete(self.on(&task), done).await;
                ended.map_err(|error| failed(&error))?;
                self.task(&task).await
            }
            Action::Archive { task } => store.archive(self.on(&task)).await,
            Action::Use { .. } | Action::Dispatch { .. } => return Ok(ExitCode::SUCCESS),
        };
        let task = told.map_err(|error| failed(&error))?;
        if self.out.is_json() {
            self.out.value(&json!({ "task": task }));
        } else {
            self.out.line(line(&task));
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn create(&self, wish: Wish) -> Result<Task, petasos_store::BoardError> {
        let usual = self.host.settings().text("kanban.default_assignee");
        let assignee = wish.assignee.or_else(|| usual.map(str::to_owned));
        let by = self.on("").by;
        let new = NewTask {
            board: self.board.clone(),
            title: wish.title,
            body: wish.body,
            assignee: assignee.unwrap_or_else(|| by.profile.clone()),
            parents: wish.parents,
            priority: wish.priority,
            workspace: wish.dir.map(|path| Workspace { kind: "dir".to_owned(), path: Some(path) }),
            begins: wish.triage.then_some(Status::Triage),
            by: by.profile,
            at_ms: by.at_ms,
            ..NewTask::default()
        };
        Ok(self.store.create_task(new).await?.task)
    }

    async fn attach(&self, task: &str, file: &Path) -> Result<(), Report> {
        let place = file.display();
        let unread = |why: std::io::Error| Report::new(format!("`{place}` cannot be read: {why}"));
        let size = std::fs::metadata(file).map_err(unread)?.len();
        if usize::try_from(size).is_ok_and(|size| size > ATTACHMENT_BYTES_MAX) {
            return Err(Report::new(format!("`{place}` is larger than 25 MB")));
        }
        let content = std::fs::read(file).map_err(unread)?;
        let new = NewFile { filename: place.to_string(), content, ..NewFile::default() };
        let kept = self.store.attach(self.on(task), new, Taint::NONE).await;
        kept.map(drop).map_err(|error| failed(&error))
    }

    async fn task(&self, id: &str) -> Result<Task, petasos_store::BoardError> {
        Ok(self.store.view_task(&self.board, id).await?.task)
    }

    async fn list(
        &self,
        status: Option<&str>,
        assignee: Option<String>,
        archived: bool,
    ) -> Result<ExitCode, Report> {
        let status = status
            .map(|word| {
                let words = Status::ALL.map(Status::as_str).join(", ");
                Status::named(word).ok_or_else(|| {
                    Report::usage(format!("`{word}` is no state")).hint(format!("one of {words}"))
                })
            })
            .transpose()?;
        let ready = self.store.promote(&self.board, board_time()).await;
        ready.map_err(|error| failed(&error))?;
        let board = self.board.clone();
        let filter = TaskFilter { board, assignee, status, tenant: None, archived, limit: 1000 };
        let tasks = self.store.list_tasks(filter).await.map_err(|error| failed(&error))?;
        if self.out.is_json() {
            self.out.value(&json!({ "board": self.board, "tasks": tasks }));
        } else if tasks.is_empty() {
            self.out.line(format!(
                "No tasks on board `{}`; `petasos kanban create TITLE` adds one.",
                self.board
            ));
        } else {
            for task in &tasks {
                self.out.line(line(task));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn boards(&self) -> Result<ExitCode, Report> {
        let counts = self.store.boards().await.map_err(|error| failed(&error))?;
        if self.out.is_json() {
            self.out.value(&json!({ "current": self.board, "boards": counts }));
            return Ok(ExitCode::SUCCESS);
        }
        self.out.line(format!("current: {}", self.board));
        for count in counts {
            self.out.line(format!("{} {} {}", count.board, count.status, count.tasks));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn dispatch(&self, once: bool) -> Result<ExitCode, Report> {
        let (ports, settings) = (self.host.ports(), self.host.settings());
        let mut dispatcher = Dispatcher::new(ports, settings, &self.board)?;
        self.host.wait(async {
            let (stop, _watch) = crate::signals::stop()?;
            let every = board::Rules::of(settings).every;
            loop {
                let begun = dispatcher.tick().await.map_err(|error| failed(&error))?;
                for task in &begun {
                    self.out.line(format!("began {}", line(task)));
                }
                if once {
                    let ended = tokio::select! {
                        () = dispatcher.finish() => true,
                        () = stop.cancelled() => false,
                    };
                    return Ok(if ended { ExitCode::SUCCESS } else { ExitCode::from(130) });
                }
                tokio::select! {
                    () = tokio::time::sleep(every) => {}
                    () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
                }
            }
        })?
    }
}

fn line(task: &Task) -> String {
    format!("{} {:<9} {:<12} {}", task.id, task.status.as_str(), task.assignee, task.title)
}

fn show(out: Out, view: &TaskView) {
    if out.is_json() {
        out.value(&json!({
            "task": view.task,
            "parents": view.parents,
            "children": view.children,
            "comments": view.comments,
            "events": view.events,
            "runs": view.runs,
            "attachments": view.attachments,
        }));
        return;
    }
    out.line(line(&view.task));
    if !view.task.body.is_empty() {
        out.line(&view.task.body);
    }
    for (label, text) in [
        ("summary", &view.task.summary),
        ("result", &view.task.result),
        ("blocked", &view.task.block_reason),
    ] {
        if let Some(text) = text {
            out.line(format!("{label}: {text}"));
        }
    }
    for parent in &view.parents {
        out.line(format!("after   {}", line(parent)));
    }
    for child in &view.children {
        out.line(format!("before  {}", line(child)));
    }
    for run in &view.runs {
        let outcome = run.outcome.as_deref().unwrap_or("running");
        let note = run.note.as_deref().unwrap_or_default();
        out.line(format!("run {} {}: {outcome} {note}", run.id, run.profile));
    }
    for comment in &view.comments {
        out.line(format!("{}: {}", comment.author, comment.body));
    }
    for file in &view.attachments {
        out.line(format!("file {} ({} bytes)", file.path.display(), file.size));
    }
}
