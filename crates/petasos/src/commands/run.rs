//! `petasos run`: one prompt, one answer. The final text alone goes to standard output.

use std::io::{IsTerminal as _, Read as _};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Args};
use petasos_agent::agent::{Agent, Outcome, TurnEnd};
use petasos_agent::engine::Choice;
use petasos_contract::context::Surface;
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_runtime::toolsets::choose;

use crate::command::{Command, Session, parse};
use crate::out::{Out, Style};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "run",
    about: "Ask the agent once and print its answer",
    hidden: false,
    arguments: <Run as Args>::augment_args,
    run,
};

/// Arguments of `run`.
#[derive(Debug, Args)]
struct Run {
    /// What to do; text on standard input is added to it
    prompt: Option<String>,
    /// Another model than the configured one
    #[arg(long)]
    model: Option<String>,
    /// Another provider than the configured one
    #[arg(long)]
    provider: Option<String>,
    /// Only these toolsets (comma-separated)
    #[arg(long, value_name = "TOOLSETS")]
    toolsets: Option<String>,
    /// How many requests to the model at most
    #[arg(long, value_name = "N")]
    max_turns: Option<u32>,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let run: Run = parse(matches)?;
    let prompt = run.prompt()?;
    let out = session.out;
    let people = session.people();
    let host = session.host.get()?;
    let engine = host.agent(Arc::new(host.model()), people.clone())?;
    let choice = run.choice(host);
    let ended = host.wait(async {
        let _guests = crate::guests::start(host, people, out).await?;
        let mut agent = Agent::begin(engine, choice).await.map_err(|error| failed(&error))?;
        let mut cx = host.call_context(Surface::OneShot, agent.session().clone());
        cx.events = EventSink::to(Arc::new(Told { out }));
        let ended = agent.turn(prompt.as_str().into(), &cx).await;
        ended.map_err(|error| failed(&error))
    })??;
    Ok(show(out, &ended))
}

impl Run {
    /// The prompt, and what was piped in.
    fn prompt(&self) -> Result<String, Report> {
        let mut parts: Vec<String> = self.prompt.iter().cloned().collect();
        if !std::io::stdin().is_terminal() {
            let mut piped = String::new();
            let read = std::io::stdin().lock().read_to_string(&mut piped);
            read.map_err(|error| Report::usage(format!("standard input: {error}")))?;
            parts.extend(Some(piped.trim().to_owned()).filter(|text| !text.is_empty()));
        }
        if parts.is_empty() {
            return Err(Report::usage("there is no prompt").hint("petasos run \"…\""));
        }
        Ok(parts.join("\n\n"))
    }

    fn choice(&self, host: &crate::host::Host) -> Choice {
        let settings = host.settings();
        let mut choice = Choice::new(Surface::OneShot, Arc::clone(settings));
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
}

/// Progress for whoever watches: events as JSON lines, or a line a tool call.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) out: Out,
}

impl Subscriber for Told {
    fn take(&self, event: Event) {
        if self.out.is_json() {
            self.out.line(event.to_json().to_string());
            return;
        }
        match event {
            Event::ToolStarted { tool, .. } => {
                self.out.remark(self.out.paint(Style::Faint, &format!("⚡ {tool}")));
            }
            Event::Notice { text } => self.out.remark(text),
            _ => {}
        }
    }
}

/// The answer; how the turn ended is the exit code.
fn show(out: Out, ended: &TurnEnd) -> ExitCode {
    if !out.is_json() {
        out.line(&ended.text);
    }
    match ended.outcome {
        Outcome::Replied => ExitCode::SUCCESS,
        Outcome::Interrupted => ExitCode::from(130),
        Outcome::OutOfBudget | Outcome::Refused | Outcome::Halted => ExitCode::FAILURE,
    }
}

fn failed(error: &impl std::fmt::Display) -> Report {
    Report::new(error.to_string())
        .code("run")
        .hint("`petasos provider explain` shows who would answer, and why")
}
