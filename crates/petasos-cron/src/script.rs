//! Scripts of jobs: files in the home's `scripts` folder, started without a shell line.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::Ending;
use petasos_contract::processes::{Helper, HelperSandbox, HelperSpec, Processes};
use petasos_contract::{Settings, wait};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use crate::host::CronHost;

/// The folder of the home.
const FOLDER: &str = "scripts";
/// So much output is kept.
const OUTPUT_MAX: usize = 50_000;
/// How long a tree may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// A script that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// What it printed.
    pub stdout: String,
    /// What went wrong, if something did.
    pub error: Option<String>,
    /// It was ended because the program ends.
    pub stopped: bool,
}

/// The file of a script. It lies in the folder, links resolved.
pub fn locate(script: &str, settings: &Settings) -> Result<PathBuf, String> {
    let folder = settings.home().join(FOLDER);
    let wanted = folder.join(script.strip_prefix("~/.petasos/scripts/").unwrap_or(script));
    let real = wanted.canonicalize().map_err(|_| {
        format!("no script is at `{}`: put it into `{}`", wanted.display(), folder.display())
    })?;
    let inside = folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
    if !inside || !real.is_file() {
        return Err(format!("`{script}` lies outside of `{}`", folder.display()));
    }
    Ok(real)
}

/// How a script is started: `.sh` by bash, others by what their first line names, else by Python.
fn program(file: &Path) -> Result<Vec<String>, String> {
    let path = file.display().to_string();
    if file.extension().is_some_and(|ending| ending == "sh" || ending == "bash") {
        return Ok(vec!["bash".to_owned(), path]);
    }
    let text = std::fs::read(file).map_err(|error| format!("`{path}`: {error}"))?;
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let mut words: Vec<String> = match first.strip_prefix("#!") {
        Some(line) => line.split_whitespace().map(str::to_owned).collect(),
        None => vec!["python3".to_owned()],
    };
    words.push(path);
    Ok(words)
}

/// Runs a script to its end, or ends its whole tree.
pub(crate) async fn run(
    script: &str,
    host: &Arc<dyn CronHost>,
    limit: Duration,
    workdir: Option<&Path>,
    cancel: &CancellationToken,
) -> Ran {
    let (settings, processes) = (host.settings(), host.processes());
    started(script, (&settings, processes), workdir, String::new(), (limit, cancel)).await
}

/// Runs a script that reads this text; gives what it printed, or why it failed.
pub async fn filter(
    script: &str,
    input: String,
    (settings, processes): (&Arc<Settings>, Option<Arc<dyn Processes>>),
    limit: Duration,
) -> Result<String, String> {
    let never = CancellationToken::new();
    let ran = started(script, (settings, processes), None, input, (limit, &never)).await;
    ran.error.map_or(Ok(ran.stdout), Err)
}

async fn started(
    script: &str,
    (settings, processes): (&Arc<Settings>, Option<Arc<dyn Processes>>),
    workdir: Option<&Path>,
    input: String,
    limits: (Duration, &CancellationToken),
) -> Ran {
    let failed = |error: String| Ran { stdout: String::new(), error: Some(error), stopped: false };
    let argv = match locate(script, settings).and_then(|file| program(&file)) {
        Ok(argv) => argv,
        Err(why) => return failed(why),
    };
    let Some(processes) = processes else {
        return failed("this program cannot start scripts".to_owned());
    };
    let mut spec = HelperSpec::new(format!("script {script}"), argv, settings);
    spec.sandbox = HelperSandbox::LikeCommands { attended: false };
    if let Some(workdir) = workdir {
        spec.cwd = workdir.to_owned();
    }
    match processes.start(spec).await {
        Ok(helper) => followed(helper, input, limits).await,
        Err(error) => failed(format!("the script did not start: {error}")),
    }
}

async fn followed(
    helper: Helper,
    input: String,
    (limit, cancel): (Duration, &CancellationToken),
) -> Ran {
    let Helper { mut stdin, stdout, stderr, hand } = helper;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let give = async move {
        // A script need not read what it is given.
        drop(stdin.write_all(input.as_bytes()).await);
        drop(stdin.shutdown().await);
    };
    let work = async {
        let (ended, (), (), ()) =
            tokio::join!(hand.exited(), take(stdout, &mut out), take(stderr, &mut err), give);
        ended
    };
    let deadline = Instant::now() + limit;
    let ended = tokio::select! {
        ended = wait::until(deadline, "a script", work) => ended.ok(),
        () = cancel.cancelled() => None,
    };
    let stopped = ended.is_none() && cancel.is_cancelled();
    let error = match ended {
        Some(Ok(Ending::Code(0))) => None,
        Some(Ok(ending)) => {
            Some(format!("the script ended with code {}: {}", ending.code(), tail(&err)))
        }
        Some(Err(error)) => Some(format!("the script is lost: {error}")),
        None => {
            let why = if stopped { "was stopped" } else { "took too long" };
            if let Err(error) = hand.kill(GRACE).await {
                tracing::warn!(%error, "a script did not end");
            }
            Some(format!("the script {why}"))
        }
    };
    Ran { stdout: String::from_utf8_lossy(&out).into_owned(), error, stopped }
}

/// Reads everything and keeps the beginning.
async fn take(mut from: Box<dyn AsyncRead + Send + Sync + Unpin>, into: &mut Vec<u8>) {
    let mut block = vec![0_u8; 8192];
    while let Ok(count) = from.read(&mut block).await {
        if count == 0 {
            break;
        }
        let room = OUTPUT_MAX.saturating_sub(into.len());
        into.extend(block.iter().take(count.min(room)));
    }
}

fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(500);
    text.chars().skip(skipped).collect()
}
