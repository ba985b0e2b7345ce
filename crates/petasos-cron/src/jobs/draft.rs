//! What somebody says about a job that is to be made or changed; what is absent stays.

use std::path::PathBuf;

use petasos_contract::Address;
use petasos_contract::taint::Taint;
use petasos_store::SessionScope;

use super::{JobError, Jobs, check};
use crate::job::{JobBody, Notify};
use crate::late::{Misfire, Overlap};
use crate::scan;

/// Who makes or changes a job.
#[derive(Debug, Clone, Default)]
pub struct Author {
    /// What they are called: `cli`, or the conversation of a model.
    pub name: String,
    /// The conversation in which a model does it; a person at the machine has none.
    pub session: Option<String>,
    /// The chat in which that is held.
    pub origin: Option<Address>,
    /// Whose words that conversation has taken in.
    pub label: Taint,
    /// A person has seen what was found in the words, and wants them.
    pub accepts: bool,
    /// It comes over the network.
    pub remote: bool,
}

impl Author {
    /// Whose jobs they may see: a model those of its own chat, or, at the machine, those of none.
    pub fn scope(&self) -> SessionScope {
        match self.session {
            Some(_) => SessionScope::of(self.origin.as_ref()),
            None => SessionScope::Everyone,
        }
    }
}

/// What is said about a job.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// What people call it.
    pub name: Option<String>,
    /// What the agent is told.
    pub prompt: Option<String>,
    /// When.
    pub schedule: Option<String>,
    /// In which zone.
    pub tz: Option<String>,
    /// How often; zero is for ever.
    pub repeat: Option<u32>,
    /// Where the reply goes.
    pub deliver: Option<String>,
    /// Skills.
    pub skills: Option<Vec<String>>,
    /// The provider; an empty one is the configured one again.
    pub provider: Option<String>,
    /// The model; an empty one is the configured one again.
    pub model: Option<String>,
    /// The script; an empty one is none.
    pub script: Option<String>,
    /// Only the script.
    pub no_agent: Option<bool>,
    /// Jobs whose output is shown.
    pub context_from: Option<Vec<String>>,
    /// Toolsets.
    pub enabled_toolsets: Option<Vec<String>>,
    /// The working directory; an empty one is none.
    pub workdir: Option<PathBuf>,
    /// What becomes of missed instants.
    pub misfire: Option<Misfire>,
    /// What becomes of instants that meet a run.
    pub overlap: Option<Overlap>,
    /// Which replies are sent.
    pub notify: Option<Notify>,
    /// The longest run in seconds.
    pub timeout: Option<u64>,
    /// Starts are spread over so many seconds.
    pub jitter: Option<u64>,
    /// Whether the reply becomes part of the conversation that it is delivered to.
    pub attach_to_session: Option<bool>,
    /// The most that a run may cost, in US dollars; zero is without a limit.
    pub max_cost: Option<f64>,
    /// Rules that this job may break; only a person at the machine says so.
    pub grants: Option<Vec<String>>,
    /// The configured provider and model of now are meant.
    pub accept_drift: bool,
}

fn given(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

impl Jobs {
    /// Puts what was said into a job, after looking at it. Gives what to know about it.
    pub(super) async fn fill(
        &self,
        body: &mut JobBody,
        draft: Draft,
        author: &Author,
    ) -> Result<Vec<String>, JobError> {
        if let Some(prompt) = draft.prompt {
            check::prompt(&prompt, author)?;
            body.prompt = prompt;
        }
        if let Some(skills) = draft.skills {
            let missing = self.host().missing_skills(&skills).await;
            if !missing.is_empty() {
                let what = missing.join("; ");
                return Err(JobError::Invalid(what));
            }
            body.skills = skills;
        }
        if draft.provider.is_some() || draft.model.is_some() {
            let keep = |new: Option<String>, old: &Option<String>| match new {
                Some(new) => given(&new),
                None => old.clone(),
            };
            body.provider = keep(draft.provider, &body.provider);
            body.model = keep(draft.model, &body.model);
            let (provider, model) = (body.provider.as_deref(), body.model.as_deref());
            self.host().resolve(provider, model).await.map_err(JobError::Invalid)?;
        }
        if let Some(script) = draft.script {
            body.script = given(&script);
        }
        body.no_agent = draft.no_agent.unwrap_or(body.no_agent);
        self.found_script(body)?;
        if let Some(jobs) = draft.context_from {
            body.context_from.clear();
            let scope = author.scope();
            for reference in jobs {
                body.context_from.push(self.find_in(&reference, &scope).await?.id);
            }
        }
        if let Some(names) = draft.enabled_toolsets {
            let unknown = self.host().unknown_toolsets(&names);
            if !unknown.is_empty() {
                let what = format!("no toolset is named {}", unknown.join(", "));
                return Err(JobError::Invalid(what));
            }
            body.enabled_toolsets = (!names.is_empty()).then_some(names);
        }
        if let Some(workdir) = draft.workdir {
            body.workdir = check::workdir(workdir)?;
        }
        if let Some(times) = draft.repeat {
            body.repeat.times = (times > 0).then_some(times);
        }
        if let Some(deliver) = draft.deliver.as_deref().and_then(given) {
            body.deliver = deliver;
        }
        if let Some(grants) = draft.grants {
            body.grants = self.granted(&grants, author)?;
        }
        body.max_cost = check::cost(draft.max_cost, body.max_cost)?;
        body.attach_to_session = draft.attach_to_session.or(body.attach_to_session);
        body.misfire = draft.misfire.unwrap_or(body.misfire);
        body.overlap = draft.overlap.unwrap_or(body.overlap);
        body.notify = draft.notify.unwrap_or(body.notify);
        body.timeout = draft.timeout.or(body.timeout).filter(|seconds| *seconds > 0);
        body.jitter = draft.jitter.unwrap_or(body.jitter).min(3600);
        self.looked_at(body, author)?;
        Ok(crate::targets::told(body, self.host()).await)
    }

    /// The script is where scripts are, and a job without an agent has one.
    fn found_script(&self, body: &JobBody) -> Result<(), JobError> {
        if let Some(script) = &body.script {
            let found = crate::script::locate(script, &self.host().settings());
            return found.map(drop).map_err(JobError::Invalid);
        }
        if body.no_agent {
            let what = "`no_agent` needs a script: name a file in the home's `scripts` folder";
            return Err(JobError::Invalid(what.to_owned()));
        }
        Ok(())
    }

    /// Rules that a job may break, of those that there are.
    fn granted(&self, grants: &[String], author: &Author) -> Result<Vec<String>, JobError> {
        let grants: Vec<String> = grants.iter().filter_map(|rule| given(rule)).collect();
        if !grants.is_empty() && (author.session.is_some() || author.remote) {
            let what = "only a person at the machine grants rules: `petasos cron edit --grants`";
            return Err(JobError::Invalid(what.to_owned()));
        }
        let unknown = self.host().unknown_rules(&grants);
        if !unknown.is_empty() {
            let what = format!(
                "no rule that asks is named {}: `petasos approval rules` lists them",
                unknown.join(", ")
            );
            return Err(JobError::Invalid(what));
        }
        Ok(grants)
    }

    /// What was found in the words of a job: a model is refused, a person is asked.
    fn looked_at(&self, body: &JobBody, author: &Author) -> Result<(), JobError> {
        let found = scan::findings(&body.prompt, &**self.host());
        if found.is_empty() || author.accepts {
            return Ok(());
        }
        Err(JobError::Findings(found))
    }
}
