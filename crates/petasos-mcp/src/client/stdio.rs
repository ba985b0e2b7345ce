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
    let found = find(program.command, settings);
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
fn find(command: &str, settings: &Settings) -> PathBuf {
    if let Some(rest) = command.strip_prefix("~/") {
        return settings.user_home().join(rest);
    }
    if command.contains('/') {
        return PathBuf::from(command);
    }
    let path = settings.variable("PATH").map_or("", |path| path.value.expose());
    let mut folders: Vec<PathBuf> =
        path.split(':').filter(|f| !f.is_empty()).map(PathBuf::from).collect();
    if matches!(command, "npx" | "npm" | "node" | "uvx" | "uv") {
        folders.push(settings.home().join("node/bin"));
        folders.push(settings.user_home().join(".local/bin"));
        folders.push(PathBuf::from("/usr/local/bin"));
    }
    let found = folders.into_iter().map(|folder| folder.join(command)).find(|file| file.is_file());
    found.unwrap_or_else(|| PathBuf::from(command))
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
            note(&log, &format!("===== {server} starts\n"));
            while let Ok(count) = from.read(&mut buffer).await {
                if count == 0 {
                    break;
                }
                let text = String::from_utf8_lossy(buffer.get(..count).unwrap_or_default());
                complaints.add(&text);
                if left == 0 {
                    continue;
                }
                left = left.saturating_sub(count);
                note(&log, &text);
                if left == 0 {
                    note(&log, &format!("\n===== {server} wrote more than is kept\n"));
                }
            }
        })
    }
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
