//! Runs git's plumbing on a store, through the environment; nothing of the user's own git
//! configuration, hooks or index takes part.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::{
    Environment, Exports, Launch, Process, Program, Stderr, Stdin, Step,
};
use petasos_contract::path::TargetPath;
use petasos_contract::{CallContext, wait};

use crate::draft::INDEX;
use crate::error::CheckpointError;
use crate::store::Store;

/// A copy must not hold a call back for longer.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(30);

/// A diff is for people; nobody reads more.
const OUTPUT_MAX: usize = 64 << 20;

/// Git on one store.
pub(crate) struct Git {
    environment: Arc<dyn Environment>,
    cwd: TargetPath,
    exports: Exports,
}

impl Git {
    pub(crate) fn new(environment: Arc<dyn Environment>, store: &Store) -> Self {
        let folder = store.folder.display().to_string();
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut exports = Exports::from([
            own("GIT_DIR", &folder),
            own("GIT_WORK_TREE", &store.workspace.display().to_string()),
            own("GIT_INDEX_FILE", &format!("{folder}/{INDEX}")),
            own("GIT_CONFIG_GLOBAL", "/dev/null"),
            own("GIT_CONFIG_SYSTEM", "/dev/null"),
            own("GIT_CONFIG_NOSYSTEM", "1"),
            own("GIT_ATTR_NOSYSTEM", "1"),
            own("GIT_LITERAL_PATHSPECS", "1"),
            own("GIT_TERMINAL_PROMPT", "0"),
            own("GIT_AUTHOR_NAME", "petasos"),
            own("GIT_AUTHOR_EMAIL", "petasos@localhost"),
            own("GIT_COMMITTER_NAME", "petasos"),
            own("GIT_COMMITTER_EMAIL", "petasos@localhost"),
            own("LC_ALL", "C"),
        ]);
        let exclude = store.workspace.join(".git/info/exclude").display().to_string();
        let settings = [
            ("core.autocrlf", "false"),
            ("core.excludesFile", &exclude),
            ("core.fsmonitor", "false"),
            ("core.hooksPath", "/dev/null"),
            ("core.quotePath", "false"),
            // A copy that was dropped is to be gone.
            ("core.logAllRefUpdates", "false"),
            // A copy that a power cut damages is made again; a call does not wait for the disk.
            ("core.fsync", "none"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
        ];
        exports.insert("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string());
        for (number, (key, value)) in settings.into_iter().enumerate() {
            exports.insert(format!("GIT_CONFIG_KEY_{number}"), key.to_owned());
            exports.insert(format!("GIT_CONFIG_VALUE_{number}"), value.to_owned());
        }
        Self { environment, cwd: TargetPath::new(&store.workspace), exports }
    }

    /// The same with another index.
    pub(crate) fn with_index(&self, index: &Path) -> Self {
        let mut exports = self.exports.clone();
        exports.insert("GIT_INDEX_FILE".to_owned(), index.display().to_string());
        Self { environment: Arc::clone(&self.environment), cwd: self.cwd.clone(), exports }
    }

    /// Runs a shell script of git commands; gives what it prints.
    pub(crate) async fn run(
        &self,
        script: &str,
        input: Vec<u8>,
        cx: &CallContext,
    ) -> Result<Vec<u8>, CheckpointError> {
        let argv = ["/bin/sh", "-c", &format!("set -e\n{script}")];
        self.start(&argv, input, self.exports.clone(), cx).await
    }

    /// Runs one git without a shell in front of it, which would take a millisecond more.
    pub(crate) async fn one(
        &self,
        words: &[&str],
        input: Vec<u8>,
        cx: &CallContext,
    ) -> Result<Vec<u8>, CheckpointError> {
        let argv: Vec<&str> = std::iter::once("git").chain(words.iter().copied()).collect();
        self.start(&argv, input, self.exports.clone(), cx).await
    }

    /// The same with another folder's branch.
    pub(crate) async fn on(
        &self,
        branch: &Path,
        words: &[&str],
        cx: &CallContext,
    ) -> Result<Vec<u8>, CheckpointError> {
        let argv: Vec<&str> = std::iter::once("git").chain(words.iter().copied()).collect();
        let mut exports = self.exports.clone();
        exports.insert("GIT_DIR".to_owned(), branch.display().to_string());
        self.start(&argv, Vec::new(), exports, cx).await
    }

    async fn start(
        &self,
        argv: &[&str],
        input: Vec<u8>,
        exports: Exports,
        cx: &CallContext,
    ) -> Result<Vec<u8>, CheckpointError> {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let mut launch = Launch::of(Program::Argv(argv), self.cwd.clone());
        launch.exports = exports;
        launch.stdin = Stdin::Bytes(input);
        launch.stderr = Stderr::Apart;
        let mut process = self.environment.spawn(launch, cx).await?;
        let begun = Instant::now();
        let until = cx.deadline.min(begun + TIME_MAX);
        let Ok(ended) = wait::until(until, "git", gather(&mut *process)).await else {
            process.control().kill(Duration::ZERO).await?;
            // The call may have had less time than we allow.
            return Err(CheckpointError::Late { seconds: begun.elapsed().as_secs(), files: 0 });
        };
        let (code, output, errors) = ended?;
        if code == 0 {
            return Ok(output);
        }
        let errors = String::from_utf8_lossy(&errors);
        let told = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Err(CheckpointError::Git(match code {
            127 => "git is not installed".to_owned(),
            _ => format!("code {code}: {told}"),
        }))
    }

    /// As [`Self::run`], for scripts that print text.
    pub(crate) async fn text(
        &self,
        script: &str,
        cx: &CallContext,
    ) -> Result<String, CheckpointError> {
        let output = self.run(script, Vec::new(), cx).await?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }
}

async fn gather(process: &mut dyn Process) -> Result<(i32, Vec<u8>, Vec<u8>), CheckpointError> {
    let (mut output, mut errors, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut code, mut is_closed) = (None, false);
    while code.is_none() || !is_closed {
        bytes.clear();
        match process.next(&mut bytes).await? {
            Step::Output if output.len() < OUTPUT_MAX => output.extend_from_slice(&bytes),
            Step::Errors if errors.len() < 10_000 => errors.extend_from_slice(&bytes),
            Step::Output | Step::Errors => {}
            Step::Exited(exit) => code = Some(exit.ending.code()),
            Step::Closed => is_closed = true,
        }
    }
    Ok((code.unwrap_or(-1), output, errors))
}

/// One word for a shell.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
