//! `petasos setup`: finds keys and local servers, tries them, and saves the choice.
//!
//! What is tried is exactly what would be saved. Without a terminal nothing is asked: `--yes` takes
//! the first that answers.

mod find;
mod guide;
mod key_shape;
mod save;
mod trial;
mod voice;

use std::process::ExitCode;

use clap::{ArgMatches, Args};
use serde_json::json;

use self::find::Candidate;
use self::trial::Tried;
pub(super) use self::trial::ask;
use crate::command::{Command, Session, parse};
use crate::out::{Out, Style};
use crate::prompt;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "setup",
    about: "Find keys and local model servers, test them, and save the choice",
    examples: &[
        ("petasos setup", "choose a provider and a model"),
        ("petasos setup --provider openai --model MODEL --yes", "without questions"),
        ("petasos setup voice", "fetch a voice for Piper"),
        ("petasos setup --base-url http://localhost:11434/v1", "a server of your own"),
    ],
    hidden: false,
    arguments: <Setup as Args>::augment_args,
    run,
};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command")]
struct Setup {
    /// What to set up: a model, or a voice for Piper (`--model` names another one)
    #[arg(value_parser = ["voice"])]
    what: Option<String>,
    /// Use this provider
    #[arg(long)]
    provider: Option<String>,
    /// Use this model
    #[arg(long)]
    model: Option<String>,
    /// Use the server at this address
    #[arg(long, value_name = "URL", conflicts_with = "provider")]
    base_url: Option<String>,
    /// Do not ask: take the first that answers
    #[arg(long, short, alias = "non-interactive")]
    yes: bool,
    /// Confine commands from now on: off, workspace or readonly
    #[arg(long, value_name = "LEVEL", value_parser = ["off", "workspace", "readonly"])]
    sandbox: Option<String>,
    /// Do not test the choice
    #[arg(long)]
    no_test: bool,
    /// Save nothing
    #[arg(long)]
    dry_run: bool,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let setup: Setup = parse(matches)?;
    if setup.what.is_some() {
        let name = setup.model.as_deref().unwrap_or(petasos_media::voicing::USUAL);
        return voice::run(name, setup.yes, session);
    }
    let out = session.out;
    let asks = !setup.yes && prompt::somebody_is_there(out);
    if asks && setup.is_open() {
        let chosen = guide::run(session)?;
        out.line(if chosen { "Start the chat with: petasos" } else { "Nothing was saved." });
        if chosen {
            setup.confine(session, asks)?;
        }
        return Ok(if chosen { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let candidates = setup.candidates(session)?;
    if candidates.is_empty() {
        return Err(nothing_found(session));
    }
    let tried = if setup.no_test {
        candidates.into_iter().map(Tried::untried).collect()
    } else {
        trial::all(candidates, session.host.inputs())?
    };
    if !out.is_json() {
        show(out, &tried);
    }
    let chosen = setup.choose(out, &tried, asks)?;
    // A script that did not say `--yes` is told and nothing else.
    let saves = !setup.dry_run && (setup.yes || asks);
    let file = match chosen {
        Some(chosen) if saves => Some(save::save(session.host.inputs(), &chosen.candidate)?),
        _ => None,
    };
    let sandbox = if saves { setup.confine(session, asks)? } else { None };
    if out.is_json() {
        let chosen = chosen.map(|tried| &tried.candidate);
        out.value(&json!({ "found": tried, "chosen": chosen, "saved": file, "sandbox": sandbox }));
    } else {
        finish(out, chosen, file.as_deref());
        if let Some(level) = sandbox {
            out.line(format!("{} terminal.sandbox is {level}", out.paint(Style::Good, "✓")));
        }
    }
    // Whoever went on without a model would have been told that there is one.
    let done = chosen.is_some() && (file.is_some() || setup.dry_run);
    Ok(if done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Offers setup to somebody whose first start has nothing that could answer. Whether it has now.
pub(super) fn at_first_start(session: &mut Session) -> Result<bool, Report> {
    session.out.remark("Welcome to Petasos. No model is configured yet.");
    guide::run(session)
}

impl Setup {
    /// Whether nothing was decided on the command line.
    fn is_open(&self) -> bool {
        self.provider.is_none()
            && self.model.is_none()
            && self.base_url.is_none()
            && self.sandbox.is_none()
            && !self.no_test
            && !self.dry_run
    }

    /// Saves how commands are confined: as the flag says, else as the person does who has not
    /// chosen yet. Nothing when it stays as it is.
    fn confine(&self, session: &mut Session, asks: bool) -> Result<Option<String>, Report> {
        let chosen = session.host.get()?.settings().get("terminal.sandbox").is_some();
        let level = match &self.sandbox {
            Some(level) => level.clone(),
            None if asks && !chosen && confirmed(session.out)? => "workspace".to_owned(),
            None => return Ok(None),
        };
        save::sandbox(session.host.inputs(), &level)?;
        Ok(Some(level))
    }

    fn candidates(&self, session: &mut Session) -> Result<Vec<Candidate>, Report> {
        session.host.forget();
        let host = session.host.get()?;
        let mut found = match &self.base_url {
            Some(url) => {
                let url = find::address(url).unwrap_or_else(|| url.clone());
                vec![find::server(host, &url)?]
            }
            None => find::all(host)?,
        };
        if let Some(provider) = &self.provider {
            let table = petasos_providers::table::Table::of(host.settings()).0;
            let known = table.find(provider).map(|known| known.id.as_str());
            found.retain(|candidate| candidate.provider == known.unwrap_or(provider));
            if found.is_empty() && known.is_none() {
                return Err(Report::usage(format!("no provider is named `{provider}`"))
                    .hint("`petasos provider list` shows them all"));
            }
            if found.is_empty() {
                return Err(Report::new(format!("no key or login for `{provider}` was found"))
                    .code("missing_api_key")
                    .hint(format!("`petasos auth login {provider}` stores one")));
            }
        }
        if let Some(model) = &self.model {
            for candidate in &mut found {
                candidate.model = Some(model.clone());
            }
        }
        Ok(found)
    }
}

fn confirmed(out: Out) -> Result<bool, Report> {
    out.line(
        "In the sandbox `workspace` commands write only in the project and in temporary files; \
         what needs more is asked about once. `petasos config set terminal.sandbox off` undoes it.",
    );
    prompt::confirm(out, "Keep commands in the sandbox?")
}

fn nothing_found(session: &Session) -> Report {
    let user = session.host.inputs().user_home.as_deref();
    let hermes = user.is_some_and(|home| home.join(".hermes").is_dir());
    let first =
        if hermes { "`petasos import hermes` takes over your Hermes home; or " } else { "" };
    Report::new("no key and no local model server was found").code("no_provider_configured").hint(
        format!(
            "{first}set a key such as OPENROUTER_API_KEY, `petasos auth login PROVIDER`, or start \
             Ollama, LM Studio, llama.cpp or vLLM; `petasos demo` needs none of it"
        ),
    )
}

fn show(out: Out, tried: &[Tried]) {
    out.line(out.paint(Style::Bold, "Found"));
    for (at, one) in tried.iter().enumerate() {
        let (mark, style, word) = match (one.ok, &one.error) {
            (Some(true), _) => {
                let latency = one.latency_ms.unwrap_or_default();
                ("✓", Style::Good, format!("answered in {latency} ms"))
            }
            (_, Some(error)) => ("✗", Style::Bad, error.clone()),
            (_, None) => ("·", Style::Faint, "not tried".to_owned()),
        };
        let Candidate { provider, source, .. } = &one.candidate;
        let model = one.candidate.model.as_deref().unwrap_or("(no model)");
        let mark = out.paint(style, mark);
        out.line(format!("{:3} {mark} {provider} {model} ({source}): {word}", at + 1));
        if let Some(warning) = &one.warning {
            out.line(out.paint(Style::Warn, &format!("      {warning}")));
        }
    }
}

impl Setup {
    /// The one that is used: the person's choice, else the first that answered.
    fn choose<'a>(
        &self,
        out: Out,
        tried: &'a [Tried],
        asks: bool,
    ) -> Result<Option<&'a Tried>, Report> {
        let untried = self.no_test;
        let usable =
            |one: &&Tried| one.ok == Some(true) || (untried && one.candidate.model.is_some());
        let first = tried.iter().find(usable);
        if !asks {
            return Ok(first);
        }
        let answer = prompt::line(out, "Use which? (number; Enter takes the first that answered)")?;
        if answer.is_empty() {
            return Ok(first);
        }
        let at = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match at.and_then(|at| tried.get(at)) {
            Some(one) if one.candidate.model.is_some() => Ok(Some(one)),
            Some(_) => Err(Report::usage("no model is known for it").hint("name one with --model")),
            None => Err(Report::usage(format!("`{answer}` is not in the list"))),
        }
    }
}

fn finish(out: Out, chosen: Option<&Tried>, file: Option<&std::path::Path>) {
    match (chosen, file) {
        (Some(chosen), Some(file)) => {
            let model = chosen.candidate.model.as_deref().unwrap_or_default();
            let place = format!(
                "{model} from {} is saved in {}",
                chosen.candidate.provider,
                file.display()
            );
            out.line(format!("{} {place}", out.paint(Style::Good, "✓")));
            out.line("Start the chat with: petasos");
        }
        (Some(_), None) => out.line("nothing was saved; --yes saves the first that answered"),
        (None, _) => out.line("none of them answered; nothing was saved"),
    }
}
