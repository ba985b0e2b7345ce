//! What `chat` and `run` have in common: which conversation, which model, which tools.

use std::sync::Arc;

use clap::Args;
use petasos_agent::engine::Choice;
use petasos_config::Inputs;
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_runtime::toolsets::{Unknown, choose, unknown};
use petasos_store::SessionStore;

use crate::host::Host;
use crate::out::Out;
use crate::report::Report;

/// Arguments of a conversation.
#[derive(Debug, Args)]
pub(crate) struct Conversation {
    /// Another model than the configured one
    #[arg(long, short)]
    model: Option<String>,
    /// Another provider than the configured one
    #[arg(long)]
    provider: Option<String>,
    /// Only these toolsets (comma-separated)
    #[arg(long, short, value_name = "TOOLSETS")]
    toolsets: Option<String>,
    /// How many requests to the model a turn may make
    #[arg(long, value_name = "N")]
    max_turns: Option<u32>,
    /// Go on with a conversation: its id, the beginning of it, its title, or `latest`
    #[arg(long, short, value_name = "SESSION")]
    resume: Option<String>,
    /// Go on with the newest conversation
    #[arg(long = "continue", short = 'c', conflicts_with = "resume")]
    newest: bool,
    /// Ask nobody for approval; what is never allowed stays so
    #[arg(long)]
    pub(crate) yolo: bool,
}

impl Conversation {
    /// The inputs with what was chosen here.
    pub(crate) fn inputs(&self, inputs: &Inputs) -> Inputs {
        let inputs = inputs.clone();
        if self.yolo { unasked(inputs, "--yolo") } else { inputs }
    }

    /// What the conversation chooses; a toolset that does not exist is refused where it was asked
    /// for here, and named where it stands in the configuration.
    pub(crate) fn choice(&self, host: &Host, surface: Surface, out: Out) -> Result<Choice, Report> {
        let settings = host.settings();
        let mut choice = Choice::new(surface, Arc::clone(settings));
        let tools = host.catalogue().registry().snapshot();
        let configured = choose("cli", settings, &tools);
        for notice in &configured.notices {
            out.remark(format!("`{}`: {}; {}", notice.key, notice.what, notice.hint));
        }
        choice.selection = configured.selection(settings);
        if let Some(toolsets) = &self.toolsets {
            let names = toolsets.split(',').map(str::trim).filter(|name| !name.is_empty());
            let names: Vec<String> = names.map(str::to_owned).collect();
            if let Some(strange) = unknown(&names, settings, &tools).first() {
                return Err(unknown_toolset(strange));
            }
            choice.selection.enabled = Some(names);
        }
        choice.model.clone_from(&self.model);
        choice.provider.clone_from(&self.provider);
        choice.requests_max = self.max_turns;
        Ok(choice)
    }

    /// The conversation to go on with.
    pub(crate) async fn resumed(
        &self,
        store: &dyn SessionStore,
    ) -> Result<Option<SessionId>, Report> {
        let handle = if self.newest { Some("latest") } else { self.resume.as_deref() };
        let Some(handle) = handle else { return Ok(None) };
        let found = store.find(handle).await;
        let head = found.map_err(|error| Report::new(error.to_string()).code("not_found"))?;
        Ok(Some(head.session()))
    }
}

/// A name that no toolset has.
pub(crate) fn unknown_toolset(strange: &Unknown) -> Report {
    let what = format!("no toolset is named `{}`", strange.name);
    Report::new(what).code("unknown_toolset").hint(strange.hint())
}

/// The inputs of a program that asks nobody for approval.
pub(crate) fn unasked(inputs: Inputs, flag: &str) -> Inputs {
    inputs.with_override("approvals.mode", "off", flag)
}
