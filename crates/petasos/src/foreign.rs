//! Other agent programs as subagents: Claude Code, Codex, Gemini, goose, or another Petasos, over the
//! Agent Client Protocol.
//!
//! Such an agent works with tools of its own in a process of its own. What it asks permission for is
//! judged by the policy of this program and, where that asks, by its people; what it does without
//! asking is its own affair, which is why only agents that the user named are ever started.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_acp::{AgentConnection, AgentEnd, AgentWatcher, Transport, WantedAction};
use petasos_agent::engine::{AgentTask, OtherAgents};
use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Digest, Finding, Intent, Policy, Scope, Settlement, Verdict,
};
use petasos_contract::context::Principal;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::event::Event;
use petasos_contract::plan::Plan;
use petasos_contract::processes::{HelperSpec, Processes};
use petasos_contract::{Args, BoxFuture, CallContext, Settings, ToolName};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

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
}

/// The agents of a configuration.
pub(crate) struct ForeignAgents {
    processes: Option<Arc<dyn Processes>>,
    policy: Arc<dyn Policy>,
    people: Arc<dyn Approver>,
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
    ) -> Self {
        Self { processes, policy, people }
    }

    async fn worked(&self, task: &AgentTask, cx: &CallContext) -> Result<String, String> {
        let entry = entry(&task.agent, &cx.settings)?;
        let processes = self.processes.as_ref().ok_or("this program starts no others")?;
        let argv = std::iter::once(entry.command).chain(entry.args).collect();
        let spec = HelperSpec {
            cwd: cx.workspace.to_path_buf(),
            env: entry.env,
            grants: entry.pass_env,
            ..HelperSpec::new(format!("agent {}", task.agent), argv, &cx.settings)
        };
        let helper = processes.start(spec).await.map_err(|error| error.to_string())?;
        let (hand, complaint) = (helper.hand, Complaint::default());
        let _drain = complaint.drain(helper.stderr);
        let transport = Transport::over(helper.stdout, helper.stdin);
        let heard = Arc::new(Heard {
            agent: task.agent.clone(),
            said: Mutex::default(),
            policy: Arc::clone(&self.policy),
            people: Arc::clone(&self.people),
            // Its questions are the conversation's own: the person there is asked, as for any call.
            cx: CallContext {
                principal: Principal::Model,
                depth: cx.depth.saturating_sub(1),
                ..cx.clone()
            },
        });
        let done = converse(transport, Arc::clone(&heard), task, cx).await;
        if let Err(error) = hand.kill(WIND_UP).await {
            tracing::warn!(agent = task.agent, %error, "the agent was not ended");
        }
        let text = heard.said.lock().trim().to_owned();
        match done {
            Ok(AgentEnd::Done) => Ok(text),
            Ok(AgentEnd::CutOff) => Ok(format!("{text}\n[it ran out of its budget]")),
            Ok(AgentEnd::Cancelled) => Err("it was stopped".to_owned()),
            Ok(AgentEnd::Refused) => Err(format!("it refused: {text}")),
            Err(why) => Err(complaint.with(&why)),
        }
    }
}

/// Connects, says what is to be done, and waits for the end of it.
async fn converse(
    transport: Transport,
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
    let session = connection.begin(&cx.workspace).await.map_err(said)?;
    let turn = connection.prompt(&session, &task.words, WORK_MAX);
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
        let agents = settings.get(KEY).and_then(Value::as_object);
        agents.map(|agents| agents.keys().cloned().collect()).unwrap_or_default()
    }

    fn work<'a>(
        &'a self,
        task: &'a AgentTask,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.worked(task, cx))
    }
}

fn entry(name: &str, settings: &Settings) -> Result<AgentEntry, String> {
    let agents = settings.get(KEY).and_then(Value::as_object);
    let Some(found) = agents.and_then(|agents| agents.get(name)) else {
        let known: Vec<&String> = agents.map(|agents| agents.keys().collect()).unwrap_or_default();
        return Err(match known.as_slice() {
            [] => format!("no agent is configured: `{KEY}.{name}` would name its command"),
            _ => format!("no agent is named `{name}`; there are {known:?}"),
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
    fn drain(
        &self,
        mut stderr: Box<dyn tokio::io::AsyncRead + Send + Sync + Unpin>,
    ) -> petasos_contract::wait::Owned<()> {
        let kept = Arc::clone(&self.0);
        petasos_contract::wait::Owned::start(async move {
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

/// Hears an agent and decides what it may do.
struct Heard {
    agent: String,
    said: Mutex<String>,
    policy: Arc<dyn Policy>,
    people: Arc<dyn Approver>,
    cx: CallContext,
}

impl Heard {
    /// The same rules as for a tool of ours: what the policy allows is allowed, what it blocks stays
    /// blocked, and everything else is asked.
    async fn permitted(&self, action: &WantedAction) -> bool {
        let (tool, plan) = self.plan(action);
        let named = format!("agent {} wants: {}", self.agent, action.title);
        let unknown = plan.effects.is_empty() && !action.reads_only;
        let escalated: Vec<Finding> = unknown
            .then(|| Finding {
                key: format!("agent {}", self.agent).into(),
                why: format!("{named}; it does not say what that does"),
                kind: petasos_contract::approval::FindingKind::Rule,
                span: None,
                widest: Scope::Session,
                stores: None,
            })
            .into_iter()
            .collect();
        let intent = Intent { tool: &tool, plan: &plan, escalated: &escalated };
        let verdict = self.policy.judge(&intent, &self.cx);
        let answer = match &verdict {
            Verdict::Allow | Verdict::Block(_) => None,
            Verdict::Ask(findings) => {
                let widest = findings.iter().map(|it| it.widest).min().unwrap_or(Scope::Once);
                let request = ApprovalRequest {
                    tool: tool.clone(),
                    subject: named,
                    cwd: Some(self.cx.workspace.to_path_buf()),
                    findings: findings.clone(),
                    edits: Vec::new(),
                    digest: Digest(Sha256::digest(action.title.as_bytes()).into()),
                    widest,
                };
                Some(self.cx.pauses.during(self.people.ask(&request, &self.cx)).await)
            }
        };
        let allowed = matches!(
            (&verdict, &answer),
            (Verdict::Allow, _) | (Verdict::Ask(_), Some(Answer::Allowed { .. }))
        );
        let settled = Settlement { intent: &intent, verdict: &verdict, answer: answer.as_ref() };
        match self.policy.settle(&settled, &self.cx) {
            Ok(()) => allowed,
            Err(error) => {
                tracing::warn!(%error, "a decision could not be recorded: denied");
                false
            }
        }
    }

    fn plan(&self, action: &WantedAction) -> (ToolName, Plan) {
        let cwd = self.cx.workspace.to_path_buf();
        let mut arguments = Map::new();
        if let Some(command) = &action.command {
            arguments.insert("command".to_owned(), json!(command));
            let effect = Effect::Command { script: command.clone(), cwd };
            let plan = Plan::new(Args::new(arguments)).with_effects(Effects::one(effect));
            return ("terminal".into(), plan);
        }
        arguments.insert("title".to_owned(), json!(action.title));
        let writes = action.writes.iter().map(|path| Effect::Write(cwd.join(path)));
        ("delegate_task".into(), Plan::new(Args::new(arguments)).with_effects(writes.collect()))
    }
}

impl AgentWatcher for Heard {
    fn said(&self, text: &str) {
        self.said.lock().push_str(text);
    }

    fn used(&self, title: &str) {
        let (call, text) = (self.cx.call.clone(), format!("{}: {title}\n", self.agent));
        self.cx.events.emit(|| Event::ToolOutput { call, text });
    }

    fn permit<'a>(&'a self, action: &'a WantedAction) -> BoxFuture<'a, bool> {
        Box::pin(self.permitted(action))
    }
}
