//! Files that are read in a process of its own: confined, without a network, with little memory and
//! time. What goes wrong there costs that process and nothing else.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::{Sandbox, SandboxLevel};
use petasos_contract::processes::{Helper, HelperSandbox, HelperSpec, Processes};
use petasos_contract::{CallContext, Settings, wait};
use serde_json::Deserializer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use crate::fault::WebError;
use crate::pdf::Told;

const TIME_MAX: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_millis(100);
/// Every letter of the longest text, escaped.
const ANSWER_BYTES_MAX: u64 = 16 << 20;
const REMARKS_BYTES_MAX: u64 = 64 << 10;
/// How an allocation that was refused ends a program.
const STARVED: &str = "memory allocation of";

/// How such a process is started.
#[derive(Clone)]
pub struct Apart {
    argv: Vec<String>,
    processes: Arc<dyn Processes>,
    within: Duration,
}

impl fmt::Debug for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Apart").field("argv", &self.argv).finish_non_exhaustive()
    }
}

impl Apart {
    /// By this program, which hands its input and output to [`serve`](crate::serve_pdf).
    pub fn new(argv: Vec<String>, processes: Arc<dyn Processes>) -> Self {
        Self { argv, processes, within: TIME_MAX }
    }

    /// Waits no longer than this.
    #[must_use]
    pub fn within(self, most: Duration) -> Self {
        Self { within: most, ..self }
    }

    /// The text of a PDF.
    pub(crate) async fn pdf(&self, bytes: &[u8], cx: &CallContext) -> Result<String, WebError> {
        let started = self.processes.start(self.spec(&cx.settings)).await;
        let helper = started.map_err(|error| {
            WebError::new("missing_setup", format!("the PDF was not read: {error}"))
        })?;
        let hand = Arc::clone(&helper.hand);
        let deadline = Instant::now() + self.within;
        let asked = wait::until(deadline, "a PDF to be read", asked(helper, bytes)).await;
        if let Ok((answer, remarks)) = asked {
            return read(&answer, &remarks);
        }
        if let Err(left) = hand.kill(GRACE).await {
            tracing::warn!(%left, "the reader of a PDF was not ended");
        }
        let why = format!("the PDF took longer than {} s to read", self.within.as_secs());
        Err(WebError::new("timeout", why))
    }

    fn spec(&self, settings: &Arc<Settings>) -> HelperSpec {
        let sandbox = Sandbox { level: SandboxLevel::Readonly, ..Sandbox::default() };
        HelperSpec {
            cwd: "/".into(),
            sandbox: HelperSandbox::Given(sandbox),
            ..HelperSpec::new("the reader of PDF files", self.argv.clone(), settings)
        }
    }
}

/// Hands the file over; gives what the process said and remarked until its end.
async fn asked(helper: Helper, bytes: &[u8]) -> (Vec<u8>, String) {
    let Helper { mut stdin, stdout, stderr, hand } = helper;
    let writing = async {
        // One that gave up closes its input; what it said tells.
        stdin.write_all(bytes).await.unwrap_or_default();
        stdin.shutdown().await.unwrap_or_default();
        drop(stdin);
    };
    let all =
        tokio::join!(writing, until(stdout, ANSWER_BYTES_MAX), until(stderr, REMARKS_BYTES_MAX));
    let ((), answer, remarks) = all;
    drop(hand);
    (answer, String::from_utf8_lossy(&remarks).into_owned())
}

async fn until(from: Box<dyn AsyncRead + Send + Sync + Unpin>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What was said before a broken pipe is what there is.
    from.take(most).read_to_end(&mut bytes).await.unwrap_or_default();
    bytes
}

/// What the surroundings of the process said before and behind its answer is passed over.
fn read(answer: &[u8], remarks: &str) -> Result<String, WebError> {
    let begin = answer.iter().position(|byte| *byte == b'{').unwrap_or(answer.len());
    let mut said = Deserializer::from_slice(answer.get(begin..).unwrap_or_default()).into_iter();
    if let Some(Ok(told)) = said.next() {
        return Told::text(told);
    }
    if remarks.contains(STARVED) {
        return Err(WebError::new("too_large", "the PDF needs more memory than is given to one"));
    }
    Err(WebError::new("upstream", "the PDF is broken: whoever read it died of it"))
}
