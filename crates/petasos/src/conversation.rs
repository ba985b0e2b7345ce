//! What `chat` and `run` have in common: which conversation, which model, which tools.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use petasos_agent::engine::Choice;
use petasos_config::Inputs;
use petasos_contract::SessionId;
use petasos_contract::context::{Phase, Surface};
use petasos_runtime::toolsets::{Unknown, choose, unknown};
use petasos_store::{Filter, SessionScope, SessionStore, StoreError};

use crate::host::Host;
use crate::out::Out;
use crate::report::Report;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command")]
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
    /// Resume a conversation: its id, the beginning of it, its title, or `latest`
    #[arg(long, short, value_name = "SESSION")]
    resume: Option<String>,
    /// Continue the newest conversation of this folder
    #[arg(long = "continue", short = 'c', conflicts_with = "resume")]
    newest: bool,
    /// Approve everything without asking; what is always blocked stays blocked
    #[arg(long)]
    pub(crate) yolo: bool,
    /// Look and plan only: nothing is changed until you say /go
    #[arg(long)]
    pub(crate) plan: bool,
}

impl Conversation {
    /// The inputs with what was chosen here.
    pub(crate) fn inputs(&self, inputs: &Inputs) -> Inputs {
        let inputs = inputs.clone();
        if self.yolo { unasked(inputs, "--yolo") } else { inputs }
    }

    /// Whether the configured model and provider answer.
    pub(crate) fn is_usual(&self) -> bool {
        self.model.is_none() && self.provider.is_none()
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
            choice.selection.enabled = Some(names.clone());
            choice.toolsets = Some(names);
        }
        choice.model.clone_from(&self.model);
        choice.provider.clone_from(&self.provider);
        choice.requests_max = self.max_turns;
        if self.plan {
            choice.phase = Phase::Plan;
        }
        Ok(choice)
    }

    /// The conversation to go on with.
    pub(crate) async fn resumed(
        &self,
        store: &dyn SessionStore,
        workspace: &Path,
    ) -> Result<Option<SessionId>, Report> {
        let failed = |error: StoreError| Report::new(error.to_string()).code("not_found");
        if self.newest {
            let here = workspace.display().to_string();
            let filter = Filter { limit: CONTINUED_FROM, ..Filter::default() };
            let heads = store.list(&filter).await.map_err(failed)?;
            let found = heads.iter().find(|head| head.cwd.as_deref() == Some(&here));
            return found.map(|head| Some(head.session())).ok_or_else(|| nothing_here(&here));
        }
        let Some(handle) = self.resume.as_deref() else { return Ok(None) };
        Ok(Some(store.find(handle, &SessionScope::Everyone).await.map_err(failed)?.session()))
    }
}

/// `--continue` looks at so many of the newest conversations.
const CONTINUED_FROM: usize = 1000;

fn nothing_here(folder: &str) -> Report {
    Report::new(format!("no conversation began in {folder}"))
        .code("not_found")
        .hint("`petasos -r latest` continues the newest of all; `petasos sessions list` shows them")
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
