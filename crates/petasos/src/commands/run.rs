//! `petasos run`: one prompt, one answer. The final text alone goes to standard output.

mod attach;
mod heard;
mod told;
mod watched;

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use clap::{ArgMatches, Args};
use petasos_contract::context::{Phase, Surface};
use petasos_contract::message::Content;
use petasos_contract::model::Reason;
use petasos_session::{Begin, EndReason, Input, Outcome, SessionError, TurnEnd, TurnError};
use petasos_store::StoreError;
use petasos_terminal::TerminalSettings;

use crate::board::RATE_LIMITED_CODE;
use crate::command::{Command, LazyHost, Session, parse};
use crate::conversation::Conversation;
use crate::host::Host;
use crate::out::Out;
use crate::report::Report;
use crate::screen;
use crate::services::Program;
use told::Told;
use watched::Watched;

pub(super) static COMMAND: Command = Command {
    name: "run",
    about: "Ask the agent once and print its answer",
    examples: &[
        ("petasos run \"what changed here this week?\"", "print one answer"),
        ("git diff | petasos run \"review this\"", "standard input is added to the prompt"),
        ("petasos run -f notes.txt -f screen.png \"what is wrong here?\"", "with files"),
        ("petasos run -c \"and now the tests\"", "continue the last conversation here"),
        (
            "petasos run --json --unattended \"update the changelog\"",
            "events for scripts; nobody is asked",
        ),
    ],
    hidden: false,
    arguments,
    run,
};

/// The exit codes stand below the examples.
fn arguments(command: clap::Command) -> clap::Command {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    <Run as Args>::augment_args(command).after_help(format!("{examples}\n\n{EXIT_CODES}"))
}

const EXIT_CODES: &str = "Exit codes: 0 answered, 1 failed, 2 bad usage, 3 requests used up \
    (--max-turns), 4 refused by the provider's filter, 5 stopped by a guardrail, 75 a \
    board's worker whose provider asks for a pause, 130 interrupted.";

/// The word of a failure that a pause would mend.
const BUSY: &str = "rate_limited";

/// A pipe that is open for so long is worth a word.
const PIPE_SILENT: Duration = Duration::from_secs(3);

/// A run that nobody can be asked in, though it was not called unattended.
const CONFINED: &str = "no terminal, so nobody can be asked: commands may write the workspace \
    only; `--set terminal.sandbox=off` changes that";

#[derive(Debug, Args)]
struct Run {
    /// What to do; text on standard input is added to it
    prompt: Option<String>,
    /// Add a file to the prompt: text, or an image
    #[arg(long, short, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Add a picture to the prompt, whatever its file name
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// Add a recording to the prompt, as text
    #[arg(long, value_name = "FILE")]
    audio: Vec<PathBuf>,
    /// Refuse everything that needs approval, and confine commands to the workspace (unless
    /// `terminal.sandbox` is set)
    #[arg(long)]
    unattended: bool,
    #[command(flatten)]
    conversation: Conversation,
}

/// A conversation that only plans goes on planning.
const PLANNING: &str =
    "This conversation is in plan mode: nothing is changed. /go in a chat (`petasos -c`) ends it.";

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let run: Run = parse(matches)?;
    let out = session.out;
    let input = run.input(out)?;
    let person = if run.unattended { None } else { session.people() };
    if run.conversation.yolo {
        session.host = LazyHost::new(run.conversation.inputs(session.host.inputs()));
    }
    let attended = person.is_some();
    let host = session.host.shared()?;
    if !attended && !run.unattended && is_confined_unattended(&host)? {
        out.remark(CONFINED);
    }
    let inputs = session.host.inputs().clone();
    let dumb = inputs.environment.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let ended = host.wait(async {
        let _warming = host.warm_terminal();
        // The login shell begins before anything here takes time.
        tokio::task::yield_now().await;
        let people = attended.then(|| host.people());
        let _pruning = crate::prune::start(&host);
        let choice = run.conversation.choice(&host, Surface::OneShot, out)?;
        let guests = crate::guests::start(&host, people.clone(), out).await?;
        let services = Program::one_turn(Arc::clone(&host), inputs, guests, attended);
        let model = host.model();
        let sessions = host.sessions_with(model, people, Arc::new(services), Vec::new())?;
        let input = heard::with(input, &run.audio, &host).await?;
        let (store, choice) = (host.store()?, Box::new(choice));
        let workspace = host.settings().workspace();
        let begin = match run.conversation.resumed(&*store, workspace).await? {
            None => Begin::New { choice, after: None },
            Some(session) => {
                host.recall_jobs(&session).await;
                Begin::Resume { session, choice }
            }
        };
        let session = sessions.open(begin).await.map_err(failed)?;
        if !run.conversation.plan
            && session.view().await.map_err(failed)?.choice.phase == Phase::Plan
        {
            out.remark(PLANNING);
        }
        let cx = host.call_context(Surface::OneShot, session.id().clone());
        let input = with_skill(input, &sessions, &session).await?;
        let look = screen::look(host.settings(), out, !dumb);
        let emoji = screen::emoji(host.settings(), Arc::clone(host.catalogue()));
        let told = Told::new(out, emoji, look);
        let watched = Watched { session: &session, told, out, person, cx };
        let ended = watched.turn(input).await;
        let shown = watched.told.end();
        session.end(EndReason::Shutdown).await.map_err(failed)?;
        ended.map(|ended| (ended, shown))
    })?;
    // Whoever gave out the task waits as long as the provider asks.
    let is_worker = host.settings().role("KANBAN_TASK").is_some();
    let (ended, shown) = ended.map_err(|report: Report| match report.word() {
        BUSY if is_worker => report.exiting(RATE_LIMITED_CODE),
        _ => report,
    })?;
    Ok(show(out, &ended, shown))
}

/// A prompt that calls a skill, as the turn that it means. Any other line stays as it is.
async fn with_skill(
    input: Input,
    sessions: &petasos_session::Sessions,
    session: &petasos_session::Session,
) -> Result<Input, Report> {
    let Content::Text(line) = &input.content else { return Ok(input) };
    match sessions.called_skill(session.id(), line).await {
        None => Ok(input),
        Some(Ok(skill)) => {
            let context = vec![skill.context];
            Ok(Input { content: Content::Text(skill.words), context, turn: input.turn })
        }
        Some(Err(why)) => Err(Report::new(why).code("skill")),
    }
}

/// Whether commands are confined for no other reason than that nobody is there.
pub(super) fn is_confined_unattended(host: &Host) -> Result<bool, Report> {
    let settings = host.settings();
    let terminal = TerminalSettings::of(settings)
        .map_err(|error| Report::new(error.to_string()).code("terminal"))?;
    Ok(terminal.sandbox_for(settings, false) != terminal.sandbox_for(settings, true))
}

impl Run {
    /// Whether nothing but words could be the prompt.
    fn is_bare(&self) -> bool {
        self.file.is_empty() && self.image.is_empty() && self.audio.is_empty()
    }

    /// The prompt, what was piped in, and files.
    fn input(&self, out: Out) -> Result<Input, Report> {
        let says = |prompt: &&String| *prompt != "-" && !prompt.trim().is_empty();
        let typed = self.prompt.iter().filter(says).cloned();
        let mut parts: Vec<String> = typed.collect();
        if !std::io::stdin().is_terminal() {
            let piped = piped(out);
            let piped = piped.map_err(|error| Report::usage(format!("standard input: {error}")))?;
            parts.extend(Some(piped.trim().to_owned()).filter(|text| !text.is_empty()));
        }
        if parts.is_empty() && self.is_bare() {
            return Err(Report::usage("there is no prompt").hint("petasos run \"…\""));
        }
        let content = attach::content(parts, &self.file, &self.image)?;
        Ok(Input { content, context: Vec::new(), turn: None })
    }
}

/// What comes through the pipe, to its end. One that nobody writes to and nobody closes is told.
fn piped(out: Out) -> std::io::Result<String> {
    let (sender, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut piped = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut piped);
        // Whoever waited is gone only with the whole program.
        sender.send(read.map(|_| piped)).unwrap_or_default();
    });
    let read = read.recv_timeout(PIPE_SILENT).or_else(|_| {
        out.remark("waiting for the end of standard input; `</dev/null` gives none");
        read.recv()
    });
    read.unwrap_or_else(|error| Err(std::io::Error::other(error)))
}

/// The answer; how the turn ended is the exit code.
fn show(out: Out, ended: &TurnEnd, shown: bool) -> ExitCode {
    let replied = ended.outcome == Outcome::Replied;
    let told = out.is_json() || if replied { shown } else { ended.text.is_empty() };
    if !told {
        out.line(&ended.text);
    }
    if ended.outcome == Outcome::Interrupted && !out.is_json() {
        out.remark("Interrupted.");
    }
    match ended.outcome {
        Outcome::Replied => ExitCode::SUCCESS,
        Outcome::OutOfBudget => ExitCode::from(3),
        Outcome::Refused => ExitCode::from(4),
        Outcome::Halted => ExitCode::from(5),
        Outcome::Interrupted => ExitCode::from(130),
    }
}

/// The stable word of a model's failure for scripts; `docs/guides/run.md` lists them.
fn word_of(reason: Reason) -> &'static str {
    match reason {
        Reason::Auth => "auth",
        Reason::Billing => "billing",
        Reason::ModelNotFound => "model_not_found",
        Reason::NotConfigured => "no_provider_configured",
        Reason::Timeout => "unreachable",
        Reason::Certificate => "certificate",
        Reason::ServerError => "server_error",
        Reason::InvalidResponse => "invalid_response",
        Reason::ContentPolicy => "content_policy",
        Reason::ContextOverflow => "context_length_exceeded",
        Reason::Refused => "refused",
        _ => "model",
    }
}

/// Only a model's failure is about who answers; most others say the next step themselves.
fn failed(error: impl Into<SessionError>) -> Report {
    let error = error.into();
    let report = Report::new(error.to_string()).code("run");
    match error {
        SessionError::Turn(TurnError::NoRoom(room)) => {
            Report::new(format!("the request does not fit the model's window: {room}"))
                .code("context_length_exceeded")
                .hint(room.next_step())
        }
        SessionError::Turn(TurnError::Model(error)) => {
            let is_busy = matches!(
                error.reason,
                Reason::RateLimit | Reason::UpstreamRateLimit | Reason::Overloaded
            );
            let report = report.code(if is_busy { BUSY } else { word_of(error.reason) });
            report.hint("`petasos provider explain` shows who would answer, and why")
        }
        SessionError::Store(error) | SessionError::Turn(TurnError::Store(error)) => match error {
            StoreError::Failed(_) | StoreError::Slow { .. } | StoreError::ReadOnly => {
                report.code("store").hint("`petasos doctor` looks at the home and its disk")
            }
            StoreError::Leased { .. } => report.code("busy"),
            StoreError::NotFound { .. } => report.code("not_found"),
            _ => report.code("store"),
        },
        _ => report,
    }
}
