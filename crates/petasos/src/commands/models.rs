//! `petasos models`: what a provider lists.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, Args};
use petasos_agent::engine::Choice;
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_providers::catalog::{Listed, list};
use petasos_providers::{Request, Vault, resolve};
use serde_json::json;

use crate::command::{Command, Session, parse};
use crate::host::Host;
use crate::listed::{counted, facts};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "models",
    about: "List the models that a provider offers",
    examples: &[
        ("petasos models", "models of the configured provider"),
        ("petasos models openrouter", "models of another one"),
    ],
    hidden: false,
    arguments: <Models as Args>::augment_args,
    run,
};

/// How long a provider may take to list its models.
const LISTING_DEADLINE: Duration = Duration::from_secs(15);

/// How long a choice waits for that list.
const SOON: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
struct Models {
    /// The provider (default: the configured one)
    provider: Option<String>,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let Models { provider } = parse(matches)?;
    let out = session.out;
    let host = session.host.get()?;
    let (id, models) = offered(host, provider.as_deref())?;
    let here = if provider.is_none() { window_here(host)? } else { None };
    if out.is_json() {
        out.value(&json!({ "provider": id, "models": models }));
        return Ok(ExitCode::SUCCESS);
    }
    for model in models {
        let mut facts = facts(&model);
        let own = here.as_ref().filter(|(used, _)| *used == model.id);
        if let Some((_, tokens)) = own.filter(|(_, tokens)| Some(*tokens) != model.context_length) {
            facts.push(format!("its server has room for {} tokens", counted(*tokens)));
        }
        out.line(format!("{}  {}", model.id, facts.join(" · ")).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// The configured model and its window as conversations count with it: a server may have been
/// started with less than the model can take.
fn window_here(host: &Host) -> Result<Option<(String, u64)>, Report> {
    let Some(model) = host.settings().text("model.default") else { return Ok(None) };
    let choice = Choice::new(Surface::Cli, Arc::clone(host.settings()));
    let cx = host.call_context(Surface::Cli, SessionId::new("models"));
    let window = host.wait(choice.known_window(host.model().as_ref(), &cx))?;
    Ok(window.map(|window| (model.to_owned(), window)))
}

/// What the configured provider offers.
pub(super) fn offered_here(host: &Host) -> Result<(String, Vec<Listed>), Report> {
    offered(host, None)
}

/// A word about a model that its provider does not list; nothing when the list cannot be had soon.
pub(super) fn unlisted(host: &Host, provider: Option<&str>, model: &str) -> Option<String> {
    let (id, models) = offered_within(host, provider, SOON).ok()?;
    if models.is_empty() || models.iter().any(|listed| listed.id == model) {
        return None;
    }
    let near = models.iter().map(|it| (strsim::osa_distance(&it.id, model), &it.id)).min();
    let near = near.filter(|(distance, _)| *distance <= model.len() / 2);
    let hint = near.map(|(_, name)| format!("; did you mean `{name}`?")).unwrap_or_default();
    Some(format!("{id} does not list `{model}`{hint}"))
}

/// The models of a provider, asked with the key that a conversation would use.
pub(super) fn offered(
    host: &Host,
    provider: Option<&str>,
) -> Result<(String, Vec<Listed>), Report> {
    offered_within(host, provider, LISTING_DEADLINE)
}

fn offered_within(
    host: &Host,
    provider: Option<&str>,
    deadline: Duration,
) -> Result<(String, Vec<Listed>), Report> {
    let settings = host.settings();
    let view = Vault::of(settings).view(settings);
    let request = provider.map(Request::of).unwrap_or_default();
    let runtime = resolve(&request, settings, &view).outcome.map_err(|error| {
        let report = Report::new(error.message).code(error.code);
        match error.hint {
            Some(hint) => report.hint(hint),
            None => report,
        }
    })?;
    let net = host.net();
    let models = host.wait(list(&net, &runtime, deadline))?.map_err(|error| {
        Report::new(error.to_string()).code("models").hint("`petasos provider test` makes a call")
    })?;
    Ok((runtime.provider.clone(), models))
}
