//! Programs that speak, hear and convert: found on the search path, started through the port, ended
//! with their whole tree when time is up.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::processes::{HelperSpec, Processes};
use petasos_contract::{CallContext, Settings};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use crate::fault::MediaError;

/// What of a program's output is read.
const OUTPUT_MAX: u64 = 4 << 20;
const GRACE: Duration = Duration::from_millis(300);

/// A program on the search path of the settings.
pub(crate) fn find(settings: &Settings, name: &str) -> Option<PathBuf> {
    let search = settings.variable("PATH").map(|path| path.value.expose().to_owned());
    let folders = search.as_deref().unwrap_or("/usr/local/bin:/usr/bin:/bin").split(':');
    let named =
        folders.filter(|folder| !folder.is_empty()).map(|folder| Path::new(folder).join(name));
    named.into_iter().find(|path| path.is_file())
}

/// What a decoder of other people's files may have, in KiB: several frames of the largest film.
const DECODER_KIB: u32 = 3 << 20;

/// A decoder that cannot eat the machine, where the system counts memory.
pub(crate) fn bounded(argv: Vec<String>) -> Vec<String> {
    let line = format!("ulimit -v {DECODER_KIB} 2>/dev/null; exec \"$@\"");
    ["/bin/sh", "-c", &line, "sh"].map(str::to_owned).into_iter().chain(argv).collect()
}

/// What a program is given.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) name: &'a str,
    pub(crate) argv: Vec<String>,
    pub(crate) stdin: Vec<u8>,
    pub(crate) within: Duration,
}

/// Runs it to its end; gives its output. It has a clean environment and no key of ours.
pub(crate) async fn run(
    job: Job<'_>,
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<String, MediaError> {
    let missing = || MediaError::new("missing_setup", "programs cannot be started here");
    let processes = processes.ok_or_else(missing)?;
    let spec = HelperSpec::new(job.name, job.argv, &cx.settings);
    let failed = |what: String| MediaError::new("upstream", format!("{} {what}", job.name));
    let helper = processes.start(spec).await.map_err(|error| failed(error.to_string()))?;
    let hand = Arc::clone(&helper.hand);
    let work = async {
        let (mut stdin, stdout, stderr) = (helper.stdin, helper.stdout, helper.stderr);
        let writing = async {
            // A program that does not read its input closes it; its exit code tells.
            stdin.write_all(&job.stdin).await.unwrap_or_default();
            stdin.shutdown().await.unwrap_or_default();
            drop(stdin);
        };
        let ((), out, err) = tokio::join!(writing, text(stdout), text(stderr));
        (helper.hand.exited().await, out, err)
    };
    let ended = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(MediaError::cancelled()),
        ended = tokio::time::timeout(job.within, work) => ended.map_err(|_| {
            let told = format!("{} took longer than {} s", job.name, job.within.as_secs());
            MediaError::new("timeout", told)
        }),
    };
    let (ending, out, err) = match ended {
        Ok(ended) => ended,
        Err(error) => {
            if let Err(left) = hand.kill(GRACE).await {
                tracing::warn!(%left, program = job.name, "a program was not ended");
            }
            return Err(error);
        }
    };
    match ending.map_err(|error| failed(error.to_string()))?.code() {
        0 => Ok(out),
        code => {
            let said = crate::vendor::detail(if err.trim().is_empty() { &out } else { &err });
            Err(failed(format!("failed (exit code {code})")).with("detail", said))
        }
    }
}

async fn text(from: Box<dyn AsyncRead + Send + Sync + Unpin>) -> String {
    let mut bytes = Vec::new();
    let mut from = from.take(OUTPUT_MAX);
    // What was read before a broken pipe is what there is.
    from.read_to_end(&mut bytes).await.unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
