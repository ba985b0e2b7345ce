//! Terminals of the client: a command runs where its person sees it and can stop it.
//!
//! Whatever happens to a call, its terminal is released: at its end, or when whoever waits for it
//! gives up.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, EnvVariable, KillTerminalRequest,
    KillTerminalResponse, ReleaseTerminalRequest, ReleaseTerminalResponse, SessionId,
    TerminalExitStatus, TerminalId, TerminalOutputRequest, TerminalOutputResponse,
    WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};
use parking_lot::Mutex;
use petasos_contract::{CallContext, CallId};

use crate::follow::send;
use crate::render::Renderer;
use crate::rpc::{Peer, PeerError};
use crate::rules::shown_call;

/// How long a client may take for anything but the command itself.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take once the turn is cancelled, which must end within two seconds.
const HURRY: Duration = Duration::from_millis(600);

/// A command for a terminal of an editor.
#[derive(Debug, Clone)]
pub struct TerminalTask {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// Variables on top of the client's own.
    pub env: Vec<(String, String)>,
    /// So much of its output is kept, the end of it.
    pub bytes_max: u64,
    /// How long it may take.
    pub within: Duration,
}

/// How a command in a terminal of an editor ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalEnd {
    /// By itself, or by its person's hand.
    Exited(i32),
    /// Its time ran out.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
}

/// What it left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalRan {
    /// Its output, as it came.
    pub output: String,
    /// Whether the beginning of it is missing.
    pub cut: bool,
    /// How it ended.
    pub end: TerminalEnd,
}

/// The terminals of a client, for one session.
#[derive(Debug)]
pub struct ClientTerminals {
    peer: Arc<Peer>,
    session: SessionId,
    /// Who knows by which name the client knows a call.
    renderer: Mutex<Weak<Mutex<Renderer>>>,
}

impl ClientTerminals {
    /// For one session; nothing where the client has no terminals.
    pub(crate) fn new(peer: &Arc<Peer>, session: &str, offered: bool) -> Option<Arc<Self>> {
        let session = SessionId::new(session);
        let renderer = Mutex::new(Weak::new());
        offered.then(|| Arc::new(Self { peer: Arc::clone(peer), session, renderer }))
    }

    /// Calls are shown by this renderer.
    pub(crate) fn shown_by(&self, renderer: &Arc<Mutex<Renderer>>) {
        *self.renderer.lock() = Arc::downgrade(renderer);
    }

    /// Runs a command to its end. An error before it began means that nothing has run.
    pub async fn run(
        &self,
        task: TerminalTask,
        cx: &CallContext,
    ) -> Result<TerminalRan, PeerError> {
        let variable = |(name, value): (String, String)| EnvVariable::new(name, value);
        let request = CreateTerminalRequest::new(self.session.clone(), task.program)
            .args(task.args)
            .env(task.env.into_iter().map(variable).collect::<Vec<_>>())
            .cwd(task.cwd)
            .output_byte_limit(task.bytes_max);
        let made: CreateTerminalResponse =
            self.peer.request("terminal/create", &request, PATIENCE).await?;
        let mut open = OpenTerminal { of: self, id: made.terminal_id, open: true };
        self.show(&shown_call(cx), &open.id).await;
        let end = open.wait(task.within, cx).await?;
        let patience = if end == TerminalEnd::Cancelled { HURRY } else { PATIENCE };
        if !matches!(end, TerminalEnd::Exited(_)) {
            open.kill(patience).await;
        }
        let (output, cut) = open.output(patience).await;
        open.release(patience).await;
        Ok(TerminalRan { output, cut, end })
    }

    /// The client shows the terminal in the place of the call's content.
    async fn show(&self, call: &CallId, terminal: &TerminalId) {
        let Some(renderer) = self.renderer.lock().upgrade() else { return };
        let update = renderer.lock().terminal(call, terminal);
        if let Some(update) = update {
            send(&self.peer, &self.session, update).await;
        }
    }
}

/// A terminal that must be released.
struct OpenTerminal<'a> {
    of: &'a ClientTerminals,
    id: TerminalId,
    open: bool,
}

impl OpenTerminal<'_> {
    async fn wait(&self, within: Duration, cx: &CallContext) -> Result<TerminalEnd, PeerError> {
        let request = WaitForTerminalExitRequest::new(self.of.session.clone(), self.id.clone());
        let waited = self.of.peer.request("terminal/wait_for_exit", &request, within);
        let waited: Result<WaitForTerminalExitResponse, PeerError> = tokio::select! {
            biased;
            waited = waited => waited,
            () = cx.cancel.cancelled() => return Ok(TerminalEnd::Cancelled),
        };
        match waited {
            Ok(ended) => Ok(TerminalEnd::Exited(code(&ended.exit_status))),
            Err(PeerError::Silent { .. }) => Ok(TerminalEnd::TimedOut),
            Err(error) => Err(error),
        }
    }

    async fn kill(&self, patience: Duration) {
        let request = KillTerminalRequest::new(self.of.session.clone(), self.id.clone());
        let killed: Result<KillTerminalResponse, PeerError> =
            self.of.peer.request("terminal/kill", &request, patience).await;
        if let Err(error) = killed {
            tracing::warn!(%error, "a command in the editor's terminal was not ended");
        }
    }

    /// What it printed; a client that has forgotten the terminal has nothing to say.
    async fn output(&self, patience: Duration) -> (String, bool) {
        let request = TerminalOutputRequest::new(self.of.session.clone(), self.id.clone());
        let read: Result<TerminalOutputResponse, PeerError> =
            self.of.peer.request("terminal/output", &request, patience).await;
        match read {
            Ok(read) => (read.output, read.truncated),
            Err(error) => (format!("[the editor did not give the output: {error}]"), true),
        }
    }

    async fn release(&mut self, patience: Duration) {
        let request = ReleaseTerminalRequest::new(self.of.session.clone(), self.id.clone());
        self.open = false;
        let released: Result<ReleaseTerminalResponse, PeerError> =
            self.of.peer.request("terminal/release", &request, patience).await;
        if let Err(error) = released {
            tracing::debug!(%error, "a terminal of the editor was released already");
        }
    }
}

impl Drop for OpenTerminal<'_> {
    /// Whoever waited has given up: releasing a terminal ends what still runs in it.
    fn drop(&mut self) {
        if self.open {
            let request = ReleaseTerminalRequest::new(self.of.session.clone(), self.id.clone());
            self.of.peer.cast("terminal/release", &request);
        }
    }
}

/// The code of an end, as a shell would tell it.
fn code(status: &TerminalExitStatus) -> i32 {
    if let Some(code) = status.exit_code {
        return i32::try_from(code).unwrap_or(i32::MAX);
    }
    match status.signal.as_deref().map(|name| name.trim_start_matches("SIG")) {
        None => 0,
        Some("HUP" | "1") => 129,
        Some("INT" | "2") => 130,
        Some("QUIT" | "3") => 131,
        Some("ABRT" | "6") => 134,
        Some("KILL" | "9") => 137,
        Some("SEGV" | "11") => 139,
        Some("PIPE" | "13") => 141,
        Some("TERM" | "15") => 143,
        Some(_) => 128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_as_a_shell_tells_them() {
        let by = |status: TerminalExitStatus| code(&status);
        assert_eq!(by(TerminalExitStatus::new().exit_code(3)), 3);
        assert_eq!(by(TerminalExitStatus::new().signal("SIGTERM".to_owned())), 143);
        assert_eq!(by(TerminalExitStatus::new().signal("KILL".to_owned())), 137);
        assert_eq!(by(TerminalExitStatus::new()), 0);
    }
}
