//! Starting a server that is a program: where it is found, what it is told, where its complaints go.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::Settings;
use petasos_contract::processes::{Helper, HelperSandbox, HelperSpec, Processes};
use petasos_contract::wait::Owned;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::state::Fault;

/// Where servers complain, below the home.
pub const STDERR_LOG: &str = "logs/mcp-stderr.log";
/// How much of one server's complaints is kept for each of its lives.
const KEPT_MAX: usize = 1024 * 1024;
/// A log that has grown past this is begun anew; the old one stays beside it.
const LOG_MAX: u64 = 5 * 1024 * 1024;
/// A line that is longer is cut.
const OPEN_MAX: usize = 64 * 1024;
/// How much of the end is shown when a server fails.
const TAIL: usize = 2000;

/// A program that is to be started.
pub(super) struct Program<'a> {
    pub(super) server: &'a str,
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) cwd: Option<&'a Path>,
    pub(super) confined: bool,
}

/// Starts it.
pub(super) async fn start(
    program: &Program<'_>,
    settings: &Arc<Settings>,
    processes: &dyn Processes,
) -> Result<Helper, Fault> {
    let found = find(program, settings)?;
    let mut argv = vec![found.to_string_lossy().into_owned()];
    argv.extend(program.args.iter().cloned());
    let mut spec = HelperSpec::new(format!("MCP server {}", program.server), argv, settings);
    if program.confined {
        // One server serves attended sessions and others: what a person chose holds for all.
        spec.sandbox = HelperSandbox::LikeCommands { attended: true };
    }
    if let Some(cwd) = program.cwd {
        spec.cwd = cwd.to_path_buf();
    }
    if let Some(folder) = found.parent().filter(|folder| folder.is_absolute()) {
        let path = settings.variable("PATH").map_or("", |path| path.value.expose());
        spec.env.insert("PATH".to_owned(), format!("{}:{path}", folder.display()));
    }
    spec.env.extend(program.env.clone());
    processes.start(spec).await.map_err(|error| Fault::Lasting(error.to_string()))
}

/// Where a command is: `~` is the user's home; the usual launchers are also looked for where
/// people install them.
///
/// One that is not there is said at once: started, it would only be a pipe that breaks.
fn find(program: &Program<'_>, settings: &Settings) -> Result<PathBuf, Fault> {
    let command = program.command;
    let missing = || {
        let hint = "install it, or give its whole path";
        Fault::Lasting(format!("there is no program `{command}` on this machine: {hint}"))
    };
    let named = match command.strip_prefix("~/") {
        Some(rest) => Some(settings.user_home().join(rest)),
        None => command.contains('/').then(|| PathBuf::from(command)),
    };
    if let Some(named) = named {
        let from = program.cwd.unwrap_or_else(|| settings.workspace());
        return if from.join(&named).exists() { Ok(named) } else { Err(missing()) };
    }
    let own = program.env.get("PATH").map(String::as_str);
    let path = settings.variable("PATH").map_or("", |path| path.value.expose());
    let path = own.unwrap_or(path);
    let mut folders: Vec<PathBuf> =
        path.split(':').filter(|f| !f.is_empty()).map(PathBuf::from).collect();
    if matches!(command, "npx" | "npm" | "node" | "uvx" | "uv") {
        folders.push(settings.home().join("node/bin"));
        folders.push(settings.user_home().join(".local/bin"));
        folders.push(PathBuf::from("/usr/local/bin"));
    }
    let found = folders.into_iter().map(|folder| folder.join(command)).find(|file| file.is_file());
    found.ok_or_else(missing)
}

/// What a server wrote to its error output, the end of it at hand.
#[derive(Clone, Default)]
pub(super) struct Complaints(Arc<Mutex<String>>);

impl Complaints {
    /// The end.
    pub(super) fn tail(&self) -> String {
        self.0.lock().trim().to_owned()
    }

    fn add(&self, text: &str) {
        let mut kept = self.0.lock();
        kept.push_str(text);
        if kept.len() > 2 * TAIL {
            let skipped = kept.len() - TAIL;
            let start = kept.char_indices().map(|(at, _)| at).find(|at| *at >= skipped);
            *kept = kept.split_off(start.unwrap_or(0));
        }
    }

    /// Reads until the end, whatever comes: a server whose pipe is full stops.
    pub(super) fn drain(
        &self,
        server: &str,
        mut from: Box<dyn AsyncRead + Send + Sync + Unpin>,
        home: &Path,
    ) -> Owned<()> {
        let (complaints, server, log) = (self.clone(), server.to_owned(), home.join(STDERR_LOG));
        Owned::start(async move {
            let mut buffer = vec![0_u8; 16 * 1024];
            let mut left = KEPT_MAX;
            note(&log, &format!("{}\n", started(&server)));
            let mut open = String::new();
            while let Ok(count) = from.read(&mut buffer).await {
                if count == 0 {
                    break;
                }
                let text = String::from_utf8_lossy(buffer.get(..count).unwrap_or_default());
                complaints.add(&text);
                if left == 0 {
                    continue;
                }
                open.push_str(&text);
                let lines = whole_lines(&server, &mut open);
                left = left.saturating_sub(lines.len());
                note(&log, &lines);
                if left == 0 {
                    note(&log, &line_of(&server, "(it wrote more than is kept)"));
                }
            }
            if !open.is_empty() {
                note(&log, &line_of(&server, &open));
            }
        })
    }
}

/// Servers write at the same time: each line says whose it is.
pub(super) fn line_of(server: &str, line: &str) -> String {
    format!("{}{line}\n", prefix(server))
}

/// What a line of this server begins with in the log.
pub fn prefix(server: &str) -> String {
    format!("[{server}] ")
}

/// The line with which a life of this server begins.
pub fn started(server: &str) -> String {
    format!("===== {server} starts")
}

/// The lines that have their end; the rest waits for more, unless it is very long.
fn whole_lines(server: &str, open: &mut String) -> String {
    let end = match open.rfind('\n') {
        _ if open.len() > OPEN_MAX => open.len(),
        Some(at) => at + 1,
        None => return String::new(),
    };
    let rest = open.split_off(end);
    let whole = std::mem::replace(open, rest);
    whole.lines().map(|line| line_of(server, line)).collect()
}

/// Appends to the log, which only its owner reads.
pub(super) fn note(log: &Path, text: &str) {
    let written = || -> std::io::Result<()> {
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder)?;
        }
        if std::fs::metadata(log).is_ok_and(|data| data.len() > LOG_MAX) {
            std::fs::rename(log, log.with_extension("log.1"))?;
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(log)?.write_all(text.as_bytes())
    };
    if let Err(error) = written() {
        tracing::debug!(%error, "the log of MCP servers was not written");
    }
}
