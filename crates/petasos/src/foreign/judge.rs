//! What another agent wants to do, judged like a call of ours: what the policy allows is allowed, what
//! it blocks stays blocked, and everything else is asked.

use std::sync::Arc;

use petasos_acp::{EditorRules, WantedAction};
use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Digest, Finding, FindingKind, Intent, Policy, Scope,
    Settlement, Verdict,
};
use petasos_contract::context::Phase;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::hook::Directive;
use petasos_contract::plan::Plan;
use petasos_contract::{Args, CallContext, ToolName};
use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};

/// Judges what one agent asks for.
pub(super) struct Judge {
    pub(super) agent: String,
    pub(super) policy: Arc<dyn Policy>,
    pub(super) people: Arc<dyn Approver>,
    pub(super) editors: Arc<EditorRules>,
}

impl Judge {
    /// Whether it may. The context says whose conversation it is, and by which call it is shown.
    pub(super) async fn permits(&self, action: &WantedAction, cx: &CallContext) -> bool {
        let (tool, plan) = plan(action, cx);
        let named = format!("agent {} wants: {}", self.agent, action.title);
        let Some(escalated) = self.escalated(action, &plan, cx) else { return false };
        let intent = Intent { tool: &tool, plan: &plan, escalated: &escalated };
        let verdict = self.policy.judge(&intent, cx);
        let answer = match &verdict {
            Verdict::Allow | Verdict::Block(_) => None,
            Verdict::Ask(findings) => {
                let widest = findings.iter().map(|it| it.widest).min().unwrap_or(Scope::Once);
                let request = ApprovalRequest {
                    tool: tool.clone(),
                    subject: named,
                    cwd: Some(cx.workspace.to_path_buf()),
                    findings: findings.clone(),
                    edits: action.edits.clone(),
                    digest: digest(action),
                    widest,
                };
                Some(cx.pauses.during(self.people.ask(&request, cx)).await)
            }
        };
        let allowed = matches!(
            (&verdict, &answer),
            (Verdict::Allow, _) | (Verdict::Ask(_), Some(Answer::Allowed { .. }))
        );
        let settled = Settlement { intent: &intent, verdict: &verdict, answer: answer.as_ref() };
        match self.policy.settle(&settled, cx).await {
            Ok(()) => allowed,
            Err(error) => {
                tracing::warn!(%error, "a decision could not be recorded: denied");
                false
            }
        }
    }
}

impl Judge {
    /// What must be asked whatever the policy says; nothing where it must not happen at all.
    fn escalated(
        &self,
        action: &WantedAction,
        plan: &Plan,
        cx: &CallContext,
    ) -> Option<Vec<Finding>> {
        if cx.phase == Phase::Plan && !action.only_looks() {
            return None;
        }
        let mut whys = Vec::new();
        if plan.effects.is_empty() && !action.reads_only {
            whys.push("it does not say what that does".to_owned());
        }
        match self.editors.about(&action.writes, action.command.as_deref(), cx) {
            Directive::Block(_) => return None,
            Directive::AskHuman { message, .. } => whys.push(message),
            _ => {}
        }
        let finding = |why: String| Finding {
            key: format!("agent {}", self.agent).into(),
            why: format!("agent {}: {why}", self.agent),
            kind: FindingKind::Rule,
            span: None,
            widest: Scope::Session,
            stores: None,
        };
        Some(whys.into_iter().map(finding).collect())
    }
}

/// What was asked about, whole: a title alone may stand for two different commands.
fn digest(action: &WantedAction) -> Digest {
    let whole = json!([action.title, action.command, action.writes]);
    Digest(Sha256::digest(whole.to_string().as_bytes()).into())
}

fn plan(action: &WantedAction, cx: &CallContext) -> (ToolName, Plan) {
    let cwd = cx.workspace.to_path_buf();
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
