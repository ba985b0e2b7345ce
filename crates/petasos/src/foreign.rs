//! Other agent programs, as subagents or in the place of a model: Claude Code, Codex, Gemini, goose,
//! or another Petasos, over the Agent Client Protocol.
//!
//! Such an agent works with tools of its own in a process of its own. What it asks permission for is
//! judged by the policy of this program and, where that asks, by its people; what it does without
//! asking is its own affair, which is why only agents that the user named are ever started.

mod judge;
mod model;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_acp::{
    AgentCall, AgentConnection, AgentEnd, AgentWatcher, EditorRules, Transport, WantedAction,
};
use petasos_agent::engine::{AgentTask, OtherAgents};
use petasos_contract::approval::{Approver, Policy};
use petasos_contract::context::Principal;
use petasos_contract::event::Event;
use petasos_contract::processes::{HelperHand, HelperSpec, Processes};
use petasos_contract::wait::Owned;
use petasos_contract::{BoxFuture, CallContext, Settings};
use petasos_session::ModelChoice;
use serde::Deserialize;
use serde_json::Value;

use judge::Judge;
pub(crate) use model::AgentModel;

/// The name under which such an agent is chosen as a model: `acp:NAME`.
pub(crate) const PROVIDER: &str = "acp";

/// The section of the configuration.
const KEY: &str = "acp.agents";
/// The longest that such an agent may work.
const WORK_MAX: Duration = Duration::from_hours(2);
/// How long it has to end by itself once it is told to.
const WIND_UP: Duration = Duration::from_secs(2);
/// So much of its error output is told when it fails.
const COMPLAINT_CHARS: usize = 400;

/// One agent of the configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AgentEntry {
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    /// Variables of this program that it is given.
    pass_env: Vec<String>,
    /// The mode that its sessions are put in, by its own name for it.
    mode: Option<String>,
}

/// The agents of a configuration.
pub(crate) struct ForeignAgents {
    processes: Option<Arc<dyn Processes>>,
    policy: Arc<dyn Policy>,
    people: Arc<dyn Approver>,
    editors: Arc<EditorRules>,
}

impl fmt::Debug for ForeignAgents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignAgents").finish_non_exhaustive()
    }
}

impl ForeignAgents {
    pub(crate) fn new(
        processes: Option<Arc<dyn Processes>>,
        policy: Arc<dyn Policy>,
        people: Arc<dyn Approver>,
        editors: Arc<EditorRules>,
    ) -> Self {
        Self { processes, policy, people, editors }
    }

    /// Starts an agent in the workspace of a call.
    async fn start(&self, name: &str, cx: &CallContext) -> Result<StartedAgent, String> {
        let entry = entry(name, &cx.settings)?;
        let mode = entry.mode;
        let processes = self.processes.as_ref().ok_or("this program starts no others")?;
        let argv = std::iter::once(entry.command).chain(entry.args).collect();
        let spec = HelperSpec {
            cwd: cx.workspace.to_path_buf(),
            env: entry.env,
            grants: entry.pass_env,
            ..HelperSpec::new(format!("agent {name}"), argv, &cx.settings)
        };
        let helper = processes.start(spec).await.map_err(|error| error.to_string())?;
        let complaint = Complaint::default();
        let drain = complaint.drain(helper.stderr);
        let transport = Transport::over(helper.stdout, helper.stdin);
        Ok(StartedAgent {
            transport,
            mode,
            life: AgentLife { hand: helper.hand, complaint, _drain: drain },
        })
    }

    fn judge(&self, agent: &str) -> Judge {
        Judge {
            agent: agent.to_owned(),
            policy: Arc::clone(&self.policy),
            people: Arc::clone(&self.people),
            editors: Arc::clone(&self.editors),
        }
    }

    async fn worked(&self, task: &AgentTask, cx: &CallContext) -> Result<String, String> {
        let StartedAgent { transport, mode, life } = self.start(&task.agent, cx).await?;
        let heard = Arc::new(Heard {
            said: Mutex::default(),
            judge: self.judge(&task.agent),
            // Its questions are the conversation's own: the person there is asked, as for any call.
            cx: CallContext {
                principal: Principal::Model,
                depth: cx.depth.saturating_sub(1),
                ..cx.clone()
            },
        });
        let opening = (transport, mode.as_deref());
        let done = converse(opening, Arc::clone(&heard), task, cx).await;
        if let Err(error) = life.hand.kill(WIND_UP).await {
            tracing::warn!(agent = task.agent, %error, "the agent was not ended");
        }
        let text = heard.said.lock().trim().to_owned();
        match done {
            Ok(AgentEnd::Done) => Ok(text),
            Ok(AgentEnd::CutOff) => Ok(format!("{text}\n[it ran out of its budget]")),
            Ok(AgentEnd::Cancelled) => Err("it was stopped".to_owned()),
            Ok(AgentEnd::Refused) => Err(format!("it refused: {text}")),
            Err(why) => Err(life.complaint.with(&why)),
        }
    }
}

/// An agent whose program runs.
struct StartedAgent {
    transport: Transport,
    /// The mode that its sessions are put in.
    mode: Option<String>,
    life: AgentLife,
}

/// The program of an agent; it ends with this.
struct AgentLife {
    hand: Arc<dyn HelperHand>,
    complaint: Complaint,
    _drain: Owned<()>,
}

/// Connects, says what is to be done, and waits for the end of it.
async fn converse(
    (transport, mode): (Transport, Option<&str>),
    heard: Arc<Heard>,
    task: &AgentTask,
    cx: &CallContext,
) -> Result<AgentEnd, String> {
    let said = |error: petasos_acp::rpc::PeerError| error.to_string();
    let version = env!("CARGO_PKG_VERSION");
    let opened = tokio::select! {
        () = cx.cancel.cancelled() => return Ok(AgentEnd::Cancelled),
        opened = AgentConnection::open(transport, heard, version) => opened,
    };
    let connection = opened.map_err(said)?;
    let session = connection.begin(&cx.workspace, mode).await.map_err(said)?;
    let turn = connection.prompt(&session, &task.words, &[], WORK_MAX);
    tokio::select! {
        biased;
        end = turn => end.map_err(said),
        () = cx.cancel.cancelled() => {
            connection.cancel(&session).await;
            Ok(AgentEnd::Cancelled)
        }
    }
}

impl OtherAgents for ForeignAgents {
    fn names(&self, settings: &Settings) -> Vec<String> {
        names(settings)
    }

    fn work<'a>(
        &'a self,
        task: &'a AgentTask,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.worked(task, cx))
    }
}

/// The agents of a configuration.
pub(crate) fn names(settings: &Settings) -> Vec<String> {
    let agents = settings.get(KEY).and_then(Value::as_object);
    agents.map(|agents| agents.keys().cloned().collect()).unwrap_or_default()
}

/// The agent that answers for this choice; nothing where a provider does.
pub(crate) fn chosen<'a>(
    model: Option<&'a str>,
    provider: Option<&'a str>,
    settings: &'a Settings,
) -> Option<&'a str> {
    let provider = provider.or_else(|| settings.text("model.provider"))?;
    let model = || model.or_else(|| settings.text("model.default")).unwrap_or_default();
    (provider == PROVIDER).then(model)
}

/// Who would answer, where the choice is an agent.
pub(crate) fn resolved(
    choice: &ModelChoice,
    settings: &Settings,
) -> Option<Result<String, String>> {
    let name = chosen(choice.model.as_deref(), choice.provider.as_deref(), settings)?;
    let line = |entry: AgentEntry| format!("the agent `{name}` (`{}`)", entry.command);
    Some(entry(name, settings).map(line))
}

fn entry(name: &str, settings: &Settings) -> Result<AgentEntry, String> {
    let agents = settings.get(KEY).and_then(Value::as_object);
    let Some(found) = agents.and_then(|agents| agents.get(name)) else {
        let known: Vec<&String> = agents.map(|agents| agents.keys().collect()).unwrap_or_default();
        return Err(if known.is_empty() {
            format!("no agent is configured: `{KEY}.{name}` would name its command")
        } else {
            let known: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
            format!("no agent is named `{name}`; there are {}", known.join(", "))
        });
    };
    let entry: AgentEntry = serde_json::from_value(found.clone())
        .map_err(|error| format!("`{KEY}.{name}` cannot be used: {error}"))?;
    if entry.command.is_empty() {
        return Err(format!("`{KEY}.{name}.command` is missing"));
    }
    Ok(entry)
}

/// The end of what an agent writes to its error output.
#[derive(Debug, Clone, Default)]
struct Complaint(Arc<Mutex<String>>);

impl Complaint {
    fn drain(&self, mut stderr: Box<dyn tokio::io::AsyncRead + Send + Sync + Unpin>) -> Owned<()> {
        let kept = Arc::clone(&self.0);
        Owned::start(async move {
            use tokio::io::AsyncReadExt as _;
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
                let text = String::from_utf8_lossy(chunk.get(..count).unwrap_or_default());
                let mut kept = kept.lock();
                kept.push_str(&text);
                let count = kept.chars().count();
                if count > COMPLAINT_CHARS {
                    *kept = kept.chars().skip(count - COMPLAINT_CHARS).collect();
                }
            }
        })
    }

    fn with(&self, why: &str) -> String {
        let wrote = self.0.lock().trim().to_owned();
        if wrote.is_empty() { why.to_owned() } else { format!("{why}; it wrote: {wrote}") }
    }
}

/// Hears an agent that does a task.
struct Heard {
    said: Mutex<String>,
    judge: Judge,
    cx: CallContext,
}

impl AgentWatcher for Heard {
    fn said(&self, text: &str) {
        self.said.lock().push_str(text);
    }

    fn called(&self, call: &AgentCall, is_new: bool) {
        if is_new {
            let text = format!("{}: {}\n", self.judge.agent, call.title);
            let call = self.cx.call.clone();
            self.cx.events.emit(|| Event::ToolOutput { call, text });
        }
    }

    fn permit<'a>(&'a self, action: &'a WantedAction) -> BoxFuture<'a, bool> {
        Box::pin(self.judge.permits(action, &self.cx))
    }
}
