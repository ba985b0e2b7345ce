//! `petasos chat`: a conversation at the terminal. The screen and the keys are `petasos-tui`'s; this
//! wires them to the engines.

use std::io::{IsTerminal as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Args};
use petasos_config::Inputs;
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_media::speaking::{SpeechAsk, speak};
use petasos_media::transcribing::{self, Patience, transcribe};
use petasos_media::{inline, recording};
use petasos_providers::{Request, Vault, resolve};
use petasos_session::{Begin, Choice};
use petasos_tui::{Clipboard, Ears, Editor, Look, Mouth, Pictures, Setup};

use crate::command::{Command, Session, parse};
use crate::conversation::Conversation;
use crate::host::Host;
use crate::out::Style;
use crate::report::Report;
use crate::screen;
use crate::services::Program;

pub(super) static COMMAND: Command = Command {
    name: "chat",
    about: "Talk with the agent (also without any command, at a terminal)",
    examples: &[
        ("petasos chat", "start a conversation"),
        ("petasos chat -c", "continue the last one of this folder"),
        ("petasos chat -r 'Lamp colour'", "resume one by its title"),
        ("petasos chat --plan \"clean up src\"", "look and plan, change nothing until /go"),
    ],
    hidden: false,
    arguments: <Chat as Args>::augment_args,
    run,
};

const HISTORY_FILE: &str = "chat_history";
/// Pictures that were pasted, below the home.
const PASTED: &str = "pasted";

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
    let mut host = Host::open(&inputs)?;
    let look = screen::look(host.settings(), out, terminal && !dumb);
    if let Some(strange) = screen::strange_skin(host.settings()) {
        out.remark(strange);
    }
    if look.live && chat.conversation.is_usual() && !can_answer(&host)? {
        if !super::setup::at_first_start(session)? {
            return Ok(ExitCode::FAILURE);
        }
        host = Host::open(&inputs)?;
    }
    let host = Arc::new(host);
    crate::logging::start(host.settings());
    let choice = chat.conversation.choice(&host, Surface::Cli, out)?;
    let greeting = greeting(&host, &choice, look);
    let editor = editor(&inputs, host.settings().workspace());
    let ended = host.wait(async {
        let _warming = host.warm_terminal();
        let _pruning = crate::prune::start(&host);
        let guests = crate::guests::open(&host, Some(host.people()), out).await?;
        guests.watch(&inputs);
        let services = Arc::new(Program::new(Arc::clone(&host), inputs, guests));
        let sessions = host.sessions(services, crate::extensions::slashes(&host))?;
        let _upkeep = crate::upkeep::start(&host, &sessions);
        let _halt = crate::halt::watch(host.settings().home(), &sessions);
        let resume =
            chat.conversation.resumed(&*host.store()?, host.settings().workspace()).await?;
        if let Some(session) = &resume {
            host.recall_jobs(session).await;
        }
        let choice = Box::new(choice);
        let session = sessions.open(match resume {
            Some(session) => Begin::Resume { session, choice },
            None => Begin::New { choice, after: None },
        });
        let session = session.await.map_err(|error| failed(&error))?;
        let pasted = host.settings().home().join(PASTED);
        let setup = Setup {
            session,
            look,
            history: Some(host.settings().home().join(HISTORY_FILE)),
            first: chat.prompt,
            greeting,
            emoji: screen::emoji(host.settings(), Arc::clone(host.catalogue())),
            editor,
            clipboard: clipboard(pasted.clone()),
            pasted,
            pictures: pictures(&host, look),
            ears: ears(&host),
            mouth: mouth(&host),
        };
        petasos_tui::run(setup).await.map_err(|error| failed(&error))
    })??;
    if let Some(session) = ended.filter(|_| terminal) {
        let hint = format!("petasos chat --resume {session}");
        out.line(format!("{} {hint}", out.paint(Style::Faint, "Resume with:")));
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether somebody would answer whom the person has chosen, or given a key for. A server that
/// merely runs here is offered first.
fn can_answer(host: &Host) -> Result<bool, Report> {
    let settings = host.settings();
    let vault = Vault::of(settings).view(settings);
    let unchosen = resolve(&Request::default(), settings, &vault).outcome;
    if unchosen.is_err_and(|error| error.code == "no_provider_configured") {
        return Ok(false);
    }
    let net = host.net();
    let resolved =
        host.wait(host.resolver().resolve(&Request::default(), settings, vault, &net))?;
    Ok(resolved.outcome.is_ok())
}

/// The editor that the person has chosen for everything.
fn editor(inputs: &Inputs, workspace: &Path) -> Option<Editor> {
    let chosen = |name: &str| inputs.environment.get(name).filter(|it| !it.trim().is_empty());
    let editor = chosen("VISUAL").or_else(|| chosen("EDITOR"))?.clone();
    let workspace = workspace.to_path_buf();
    Some(Arc::new(move |file| {
        let (editor, workspace) = (editor.clone(), workspace.clone());
        Box::pin(async move { petasos_terminal::edit(&editor, &file, &workspace).await })
    }))
}

/// How pictures are shown at this terminal, if at all.
fn pictures(host: &Host, look: Look) -> Option<Pictures> {
    let protocol = inline::protocol(host.settings()).filter(|_| look.live)?;
    Some(Arc::new(move |file, size| match inline::shown(file, protocol, size) {
        Ok(sequence) => Some(sequence),
        Err(error) => {
            tracing::debug!(%error, file = %file.display(), "a picture is not shown");
            None
        }
    }))
}

/// Records what the person says, and has it heard.
fn ears(host: &Arc<Host>) -> Ears {
    let host = Arc::clone(host);
    Arc::new(move |seconds| {
        let host = Arc::clone(&host);
        Box::pin(async move {
            let cx = host.call_context(Surface::Cli, SessionId::new("voice"));
            transcribing::ready(&cx.settings)?;
            let processes = host.ports().processes.as_ref();
            let seconds = seconds.unwrap_or(recording::SECONDS);
            let recorded = recording::record(seconds, processes, &cx).await;
            let file = recorded.map_err(|error| error.to_string())?;
            let heard = Box::pin(transcribe(&file, Patience::USUAL, processes, &cx)).await;
            // What was said is in the line now; the recording is of no more use.
            std::fs::remove_file(&file).unwrap_or_default();
            heard.map(|heard| heard.transcript).map_err(|error| error.to_string())
        })
    })
}

/// Says an answer aloud.
fn mouth(host: &Arc<Host>) -> Mouth {
    let host = Arc::clone(host);
    Arc::new(move |text| {
        let host = Arc::clone(&host);
        Box::pin(async move {
            let cx = host.call_context(Surface::Cli, SessionId::new("voice"));
            let processes = host.ports().processes.as_ref();
            let ask = SpeechAsk { text, voice_message: false };
            let said = async {
                let speech = Box::pin(speak(&ask, processes, &cx)).await?;
                let played = recording::play(&speech.path, processes, &cx).await;
                // It was said; the recording is of no more use.
                std::fs::remove_file(&speech.path).unwrap_or_default();
                played
            };
            // Without a voice the conversation goes on: the answer is on the screen.
            if let Err(error) = said.await {
                tracing::warn!(%error, "an answer was not said aloud");
            }
        })
    })
}

/// The picture in the clipboard of the person, kept where only they can read it.
fn clipboard(folder: PathBuf) -> Clipboard {
    Arc::new(move || {
        let folder = folder.clone();
        Box::pin(async move {
            let picture = petasos_terminal::clipboard_picture().await?;
            let kept = keep(&folder, &picture);
            kept.map_err(|error| {
                format!("the picture cannot be kept in {}: {error}", folder.display())
            })
        })
    })
}

fn keep(folder: &Path, picture: &[u8]) -> std::io::Result<PathBuf> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let file = folder.join(format!("{}.png", at.map_or(0, |at| at.as_millis())));
    let mut options = std::fs::File::options();
    options.write(true).create_new(true).mode(0o600).open(&file)?.write_all(picture)?;
    Ok(file)
}

fn greeting(host: &Host, choice: &Choice, look: Look) -> String {
    let settings = host.settings();
    let configured = settings.text("model.default").filter(|model| !model.is_empty());
    let model = choice.model.as_deref().or(configured);
    let model = model.map(|model| format!(" · `{model}`")).unwrap_or_default();
    let sandbox = petasos_terminal::TerminalSettings::of(settings)
        .map_or("off", |terminal| terminal.sandbox_for(settings, true).as_str());
    let text =
        format!("**petasos** {}{model} · sandbox {sandbox} · /help", env!("CARGO_PKG_VERSION"));
    // Where nothing is styled, the signs would be all that is seen of it.
    if look.is_styled() { text } else { text.replace(['*', '`'], "") }
}

fn failed(error: &impl std::fmt::Display) -> Report {
    Report::new(error.to_string()).code("chat")
}
