//! Behaviour of the policy through its public doors: what is judged, asked, remembered, recorded.

mod confined;
mod corpus;
mod files;
mod grants;
mod kills;
mod layers;
mod outcomes;
mod outward;
mod properties;
mod remembering;
mod rules;
mod sessions;
mod smart;
mod suggestions;
mod tainted;
mod unattended;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_approval::Engine;
use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Digest, Finding, Intent, Policy, Scope, Settlement, Verdict,
    Who,
};
use petasos_contract::context::Surface;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{BoxFuture, CallContext, Plan, Secret, SessionId, Settings, ToolName};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A home, a workspace and a user of their own.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["agent", "work", "ada/.ssh"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn top(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.top().join("agent")
    }

    pub(crate) fn user(&self) -> PathBuf {
        self.top().join("ada")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.top().join("work")
    }

    pub(crate) fn settings(&self, values: &Value, variables: &[(&str, &str)]) -> Arc<Settings> {
        let variable = |(name, value): &(&str, &str)| {
            let source = Source::Environment { variable: (*name).to_owned() };
            ((*name).to_owned(), Variable { value: Secret::new(*value), source })
        };
        Arc::new(Settings::new(Parts {
            home: self.home(),
            user_home: self.user(),
            workspace: self.work(),
            temp: std::env::temp_dir(),
            values: values.as_object().cloned().unwrap_or_default(),
            variables: variables.iter().map(variable).collect::<BTreeMap<_, _>>(),
            ..Parts::default()
        }))
    }

    pub(crate) fn cx(&self, values: &Value) -> CallContext {
        self.cx_on(Surface::Cli, values, &[])
    }

    pub(crate) fn cx_on(
        &self,
        surface: Surface,
        values: &Value,
        variables: &[(&str, &str)],
    ) -> CallContext {
        CallContext::new(self.settings(values, variables), surface, SessionId::new("one"))
    }
}

pub(crate) fn command(script: &str, cx: &CallContext) -> Effects {
    Effects::one(Effect::Command { script: script.to_owned(), cwd: cx.workspace.to_path_buf() })
}

pub(crate) fn judge(engine: &Engine, tool: &str, effects: &Effects, cx: &CallContext) -> Verdict {
    let (tool, plan) = (ToolName::new(tool), Plan::default().with_effects(effects.clone()));
    engine.judge(&Intent { tool: &tool, plan: &plan, escalated: &[] }, cx)
}

pub(crate) fn shell(engine: &Engine, script: &str, cx: &CallContext) -> Verdict {
    judge(engine, "terminal", &command(script, cx), cx)
}

/// Judges a command and settles it with an answer, as the dispatcher would.
pub(crate) fn settle(engine: &Engine, script: &str, answer: &Answer, cx: &CallContext) {
    let tool = ToolName::new("terminal");
    let plan = Plan::default().with_effects(command(script, cx));
    let intent = Intent { tool: &tool, plan: &plan, escalated: &[] };
    let verdict = engine.judge(&intent, cx);
    let asked = matches!(verdict, Verdict::Ask(_));
    let settled =
        Settlement { intent: &intent, verdict: &verdict, answer: asked.then_some(answer) };
    now(engine.settle(&settled, cx)).unwrap();
}

/// What a future gives that never waits: files do not.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    futures::FutureExt::now_or_never(future).unwrap()
}

pub(crate) fn yes(scope: Scope) -> Answer {
    Answer::Allowed { scope, by: Who::Person(None) }
}

pub(crate) fn word(verdict: &Verdict) -> &'static str {
    petasos_approval::policy::decision::word(verdict)
}

pub(crate) fn keys(verdict: &Verdict) -> Vec<String> {
    match verdict {
        Verdict::Allow => Vec::new(),
        Verdict::Ask(findings) | Verdict::Block(findings) => {
            findings.iter().map(|finding| finding.key.to_string()).collect()
        }
    }
}

pub(crate) fn request(subject: &str, widest: Scope) -> ApprovalRequest {
    ApprovalRequest {
        tool: ToolName::new("terminal"),
        subject: subject.to_owned(),
        cwd: Some("/srv/app".into()),
        findings: vec![Finding {
            key: "recursive delete".into(),
            why: "deletes a directory".to_owned(),
            kind: petasos_contract::approval::FindingKind::Rule,
            span: subject.find("rm").map(|start| start..subject.len()),
            widest,
            stores: Some("recursive delete: only /srv/app/build and below".to_owned()),
        }],
        edits: Vec::new(),
        digest: Digest([7; 32]),
        widest,
    }
}

/// Answers everything alike.
pub(crate) struct Says(pub(crate) Answer);

impl Approver for Says {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest, _: &'a CallContext) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

pub(crate) fn write_file(path: &Path, text: &str) {
    let mode = petasos_fs::Mode::KeepOr(0o600);
    petasos_fs::write(path, text.as_bytes(), mode).unwrap();
}

pub(crate) fn empty() -> Value {
    json!({})
}
