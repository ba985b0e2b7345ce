//! What `chat` and `run` have in common: which conversation, which model, which tools.

use std::sync::Arc;

use clap::Args;
use petasos_agent::engine::Choice;
use petasos_config::Inputs;
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_contract::store::SessionStore;
use petasos_runtime::toolsets::choose;

use crate::host::Host;
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

    /// What the conversation chooses.
    pub(crate) fn choice(&self, host: &Host, surface: Surface) -> Choice {
        let settings = host.settings();
        let mut choice = Choice::new(surface, Arc::clone(settings));
        let tools = host.catalogue().registry().snapshot();
        choice.selection = choose("cli", settings, &tools).selection(settings);
        if let Some(toolsets) = &self.toolsets {
            let names = toolsets.split(',').map(|name| name.trim().to_owned()).collect();
            choice.selection.enabled = Some(names);
        }
        choice.model.clone_from(&self.model);
        choice.provider.clone_from(&self.provider);
        choice.requests_max = self.max_turns;
        choice
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

/// The inputs of a program that asks nobody for approval.
pub(crate) fn unasked(inputs: Inputs, flag: &str) -> Inputs {
    inputs.with_override("approvals.mode", "off", flag)
}
