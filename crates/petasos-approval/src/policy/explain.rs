//! Answers about one command for the command line, from the code that decides for real.

use std::sync::Arc;

use petasos_contract::approval::{Finding, Intent, Verdict};
use petasos_contract::context::{Principal, Surface};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::processes::Processes;
use petasos_contract::{CallContext, Plan, SessionId, Settings, ToolName};
use serde::Serialize;

use super::decision::{Decision, Observed, word};
use super::{Engine, facts};
use crate::scan::Scanned;
use crate::settings::{ApprovalSettingsError, Approvals, Backend, Mode};
use petasos_analysis::RULES;
use petasos_analysis::Severity;

/// One judged command, in short.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// `allow`, `ask` or `block`.
    pub verdict: &'static str,
    /// The keys that decided.
    pub rules: Vec<String>,
}

/// One judged command, in full.
#[derive(Debug, Clone, Serialize)]
pub struct Explained {
    /// The command.
    pub command: String,
    /// `allow`, `ask` or `block`.
    pub verdict: &'static str,
    /// What the built-in rules alone say, before settings and memory.
    pub rules_say: petasos_analysis::Verdict,
    /// The keys that decided.
    pub deciding: Vec<String>,
    /// Who judges.
    pub mode: Mode,
    /// Where it would run.
    pub backend: Backend,
    /// Everything that spoke against it, with what set it aside.
    pub observed: Vec<Observed>,
    /// What the scanner said, where there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scanned: Vec<Scanned>,
    /// The commands that would run.
    pub leaves: Vec<petasos_analysis::Leaf>,
    /// What they would do.
    pub effects: Vec<petasos_analysis::Effect>,
}

/// A rule, for a list.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// `built-in`, or the key of the list it stands in.
    pub source: &'static str,
    /// What an approval is remembered under, or the rule itself.
    pub key: String,
    /// What it is about.
    pub description: String,
    /// `ask`, `block` or `allow`.
    pub severity: &'static str,
}

/// A judge for many commands of one snapshot.
#[derive(Debug)]
pub struct Checker {
    engine: Engine,
    cx: CallContext,
    tool: ToolName,
}

impl Checker {
    /// Judges as a person at a terminal would see it.
    pub fn new(settings: Arc<Settings>) -> Result<Self, ApprovalSettingsError> {
        let engine = Engine::new(&settings)?;
        let mut cx = CallContext::new(settings, Surface::Cli, SessionId::new("check"));
        cx.principal = Principal::Model;
        Ok(Self { engine, cx, tool: ToolName::new("terminal") })
    }

    /// With a scanner, where the settings name one or it is installed.
    #[must_use]
    pub fn with_processes(mut self, processes: Option<Arc<dyn Processes>>) -> Self {
        self.engine = self.engine.with_processes(processes);
        self
    }

    /// As for a process below a supervisor of ours.
    #[must_use]
    pub fn supervised(mut self, supervised: bool) -> Self {
        self.engine = self.engine.supervised(supervised);
        self
    }

    /// Shows one command to the scanner, as a call would; nothing where it would not be asked.
    pub async fn scan(&self, command: &str) -> Vec<Scanned> {
        let plan = self.plan(command);
        match self.engine.scanning(&self.intent(&plan, &[]), &self.cx) {
            Some(scanning) => scanning.await,
            None => Vec::new(),
        }
    }

    /// Judges one command by the rules alone.
    pub fn check(&self, command: &str) -> Checked {
        let decision = self.decide(command, &[]);
        Checked { verdict: word(&decision.verdict), rules: deciding(&decision) }
    }

    /// Judges one command with what a scanner said and tells everything that was seen.
    pub fn explain(
        &self,
        command: &str,
        scanned: Vec<Scanned>,
    ) -> Result<Explained, ApprovalSettingsError> {
        let approvals = Approvals::read(&self.cx.settings)?;
        let facts = facts(&approvals, &self.cx);
        let analysis = petasos_analysis::analyse(command, &facts);
        let found: Vec<Finding> =
            scanned.iter().flat_map(|scanned| scanned.findings.clone()).collect();
        let decision = self.decide(command, &found);
        Ok(Explained {
            command: command.to_owned(),
            verdict: word(&decision.verdict),
            deciding: deciding(&decision),
            rules_say: petasos_analysis::judge(analysis.clone()).verdict,
            mode: approvals.mode,
            backend: approvals.backend,
            observed: decision.observed,
            scanned,
            leaves: analysis.leaves,
            effects: analysis.effects,
        })
    }

    fn decide(&self, command: &str, escalated: &[Finding]) -> Decision {
        self.engine.decide(&self.intent(&self.plan(command), escalated), &self.cx)
    }

    fn plan(&self, command: &str) -> Plan {
        let cwd = self.cx.workspace.to_path_buf();
        let effect = Effect::Command { script: command.to_owned(), cwd };
        Plan::default().with_effects(Effects::one(effect))
    }

    fn intent<'a>(&'a self, plan: &'a Plan, escalated: &'a [Finding]) -> Intent<'a> {
        Intent { tool: &self.tool, plan, escalated }
    }
}

fn deciding(decision: &Decision) -> Vec<String> {
    let (Verdict::Ask(findings) | Verdict::Block(findings)) = &decision.verdict else {
        return Vec::new();
    };
    let mut keys: Vec<String> = Vec::new();
    for finding in findings {
        if !keys.iter().any(|key| *key == *finding.key) {
            keys.push(finding.key.to_string());
        }
    }
    keys
}

/// Every rule in force: the built-in ones, then the user's and the project's.
pub fn rules(settings: &Settings) -> Result<Vec<Listed>, ApprovalSettingsError> {
    let approvals = Approvals::read(settings)?;
    let listed = |source, key: &str, about: &str, severity| Listed {
        source,
        key: key.to_owned(),
        description: about.to_owned(),
        severity,
    };
    let built_in = RULES.iter().map(|rule| {
        let severity = if rule.severity == Severity::Block { "block" } else { "ask" };
        listed("built-in", rule.key, rule.description, severity)
    });
    let denied = approvals.deny.iter().map(|glob| {
        listed("approvals.deny", glob.as_str(), "a command that is never run", "block")
    });
    let own = approvals.permissions.listed().map(|(list, rule)| {
        let severity = match list {
            crate::permissions::List::Allow => "allow",
            crate::permissions::List::Ask => "ask",
            crate::permissions::List::Deny => "block",
        };
        listed(list.key(), &rule, "a rule of the user or the project", severity)
    });
    Ok(built_in.chain(denied).chain(own).collect())
}
