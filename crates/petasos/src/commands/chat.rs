//! `petasos chat`: a conversation at the terminal. The screen and the keys are `petasos-tui`'s; this
//! wires them to the engines.

mod backstage;
mod console;
mod pages;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Args};
use petasos_approval::ask::Look as Marks;
use petasos_contract::context::Surface;
use petasos_tui::{Look, Person, Setup};

use crate::command::{Command, Session, parse};
use crate::conversation::Conversation;
use crate::host::Host;
use crate::out::Style;
use crate::report::Report;
use backstage::Stage;
use console::ChatApprover;

pub(super) static COMMAND: Command = Command {
    name: "chat",
    about: "Talk with the agent (also without any command, at a terminal)",
    hidden: false,
    arguments: <Chat as Args>::augment_args,
    run,
};

const HISTORY_FILE: &str = "chat_history";

/// Arguments of `chat`.
#[derive(Debug, Args)]
struct Chat {
    /// The first message
    prompt: Option<String>,
    #[command(flatten)]
    conversation: Conversation,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let chat: Chat = parse(matches)?;
    let out = session.out;
    if out.is_json() {
        return Err(Report::usage("a chat prints no JSON").hint("`petasos run --json \"…\"` does"));
    }
    let inputs = chat.conversation.inputs(session.host.inputs());
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let dumb = inputs.environment.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let look = Look { colour: out.look() == Marks::Colour, live: terminal && !dumb };
    let host = Arc::new(Host::open(&inputs)?);
    let (person, questions) = Person::pair();
    let approver = ChatApprover::new(person.clone(), out.look());
    let people: Arc<dyn petasos_contract::approval::Approver> = Arc::new(approver);
    let engine = host.agent(Arc::new(host.model()), Some(Arc::clone(&people)))?;
    let mut engine = Arc::into_inner(engine).ok_or_else(|| Report::new("the engine is in use"))?;
    engine.asker = Some(Arc::new(person));
    let engine = Arc::new(engine);
    let choice = chat.conversation.choice(&host, Surface::Cli, out)?;
    let greeting = greeting(&host, &choice);
    let ended = host.wait(async {
        let _warming = host.warm_terminal();
        let guests = crate::guests::open(&host, Some(people), out).await?;
        guests.watch(&inputs);
        let resume = chat.conversation.resumed(&*engine.store).await?;
        if let Some(session) = &resume {
            host.recall_jobs(session).await;
        }
        let setup = Setup {
            engine,
            choice,
            backstage: Arc::new(Stage::new(Arc::clone(&host), inputs, guests)),
            questions,
            look,
            history: Some(host.settings().home().join(HISTORY_FILE)),
            resume,
            first: chat.prompt,
            greeting,
            extras: crate::extensions::slashes(&host),
        };
        let ended = petasos_tui::run(setup).await;
        ended.map_err(|error| Report::new(error.to_string()).code("chat"))
    })??;
    if let Some(session) = ended.filter(|_| terminal) {
        let hint = format!("petasos chat --resume {session}");
        out.line(format!("{} {hint}", out.paint(Style::Faint, "go on with:")));
    }
    Ok(ExitCode::SUCCESS)
}

fn greeting(host: &Host, choice: &petasos_agent::engine::Choice) -> String {
    let settings = host.settings();
    let configured = settings.text("model.default").filter(|model| !model.is_empty());
    let model = choice.model.as_deref().or(configured);
    let model = model.map(|model| format!(" · `{model}`")).unwrap_or_default();
    format!("**petasos** {}{model} · /help", env!("CARGO_PKG_VERSION"))
}
