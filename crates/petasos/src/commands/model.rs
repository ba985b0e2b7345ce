//! `petasos model`: which model answers, and choosing another one.

use std::io::{BufRead as _, IsTerminal as _};
use std::process::ExitCode;

use clap::{ArgMatches, Args, Subcommand};
use petasos_config::{edit, home};
use petasos_providers::{Request, Vault, resolve};
use serde_json::{Value, json};

use super::models::{offered, unlisted};
use crate::command::{Command, Session, parse};
use crate::out::Style;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "model",
    about: "Show or choose the model that answers",
    examples: &[
        ("petasos model", "show the model that answers, and why"),
        ("petasos model set MODEL --provider NAME", "choose another one"),
    ],
    hidden: false,
    arguments: <Model as Args>::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Model {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Save a model, and its provider, as the default
    Set(Choice),
}

/// A choice to be saved.
#[derive(Debug, Args)]
struct Choice {
    /// The model
    model: String,
    /// The provider (default: the configured one)
    #[arg(long)]
    provider: Option<String>,
    /// The URL of your own server
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let Model { action } = parse(matches)?;
    match action {
        Some(Action::Set(choice)) => {
            let saved = save(session, &choice)?;
            session.host.forget();
            let host = session.host.get()?;
            if let Some(word) = unlisted(host, choice.provider.as_deref(), &choice.model) {
                session.out.remark(session.out.paint(Style::Warn, &format!("warning: {word}")));
            }
            Ok(saved)
        }
        None if std::io::stdin().is_terminal() && !session.out.is_json() => pick(session),
        None => show(session),
    }
}

/// The choice in force, from the resolver that every surface asks.
fn show(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let settings = host.settings();
    let view = Vault::of(settings).view(settings);
    let net = host.net();
    let resolved = host.wait(host.resolver().resolve(&Request::default(), settings, view, &net))?;
    let runtime = resolved.outcome.map_err(|error| {
        let report = Report::new(error.message).code(error.code);
        match error.hint {
            Some(hint) => report.hint(hint),
            None => report,
        }
    })?;
    let model = runtime.model.as_deref();
    if out.is_json() {
        out.value(&json!({
            "provider": runtime.provider, "model": model, "base_url": runtime.base_url.as_str(),
        }));
    } else {
        let model = model.unwrap_or("(the provider's default)");
        out.line(format!("{model} from {} at {}", runtime.provider, runtime.base_url.as_str()));
    }
    Ok(ExitCode::SUCCESS)
}

fn save(session: &Session, choice: &Choice) -> Result<ExitCode, Report> {
    let out = session.out;
    let file = home::places(session.host.inputs())?.config;
    if let Some(provider) = &choice.provider {
        edit::set(&file, "model.provider", &Value::from(provider.as_str()))?;
        // An address that was saved for another provider must not follow this one.
        if choice.base_url.is_none() {
            edit::unset(&file, "model.base_url")?;
        }
    }
    if let Some(base_url) = &choice.base_url {
        edit::set(&file, "model.base_url", &Value::from(base_url.as_str()))?;
    }
    edit::set(&file, "model.default", &Value::from(choice.model.as_str()))?;
    if out.is_json() {
        out.value(&json!({ "model": choice.model, "provider": choice.provider, "file": file }));
    } else {
        out.line(format!("{} is saved in {}", choice.model, file.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks for a provider that can be used, then for one of its models.
fn pick(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let settings = host.settings();
    let view = Vault::of(settings).view(settings);
    let usable: Vec<String> = view
        .table
        .providers()
        .iter()
        .filter(|provider| resolve(&Request::of(&provider.id), settings, &view).outcome.is_ok())
        .map(|provider| provider.id.clone())
        .collect();
    if usable.is_empty() {
        return Err(Report::new("no provider can be used yet")
            .code("no_provider_configured")
            .hint(
                "set a key such as OPENROUTER_API_KEY in .env, or `petasos auth login PROVIDER`",
            ));
    }
    out.line(out.paint(Style::Bold, "Providers that can be used"));
    let provider = choose(session, &usable)?;
    let (_, models) = offered(session.host.get()?, Some(&provider))?;
    let models: Vec<String> = models.into_iter().map(|model| model.id).collect();
    out.line(out.paint(Style::Bold, "Models"));
    let model = choose(session, &models)?;
    save(session, &Choice { model, provider: Some(provider), base_url: None })
}

/// One of the names, by number or by name; an empty answer gives up.
fn choose(session: &Session, names: &[String]) -> Result<String, Report> {
    let out = session.out;
    for (at, name) in names.iter().enumerate() {
        out.line(format!("{:4}  {name}", at + 1));
    }
    out.line("Number or name (Enter to cancel):");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    let answer = answer.trim();
    let by_number =
        answer.parse::<usize>().ok().and_then(|number| names.get(number.checked_sub(1)?));
    let chosen = by_number.or_else(|| names.iter().find(|name| *name == answer));
    chosen.cloned().ok_or_else(|| {
        if answer.is_empty() {
            Report::new("nothing was chosen, nothing has changed")
        } else {
            Report::usage(format!("`{answer}` is not in the list"))
        }
    })
}
