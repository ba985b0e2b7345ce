//! `petasos term`: one command through the full dispatch path, with approval and containment.

use std::process::ExitCode;

use clap::{ArgMatches, Args};
use petasos_contract::call::{RawArguments, ToolCall, ToolResult};
use petasos_contract::context::{Principal, Surface};
use petasos_contract::{CallContext, SessionId};
use serde_json::{Map, Value};

use super::run::is_confined_unattended;
use crate::command::{Command, Session, parse};
use crate::out::Out;
use crate::progress::Progress;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "term",
    about: "Run a command as the terminal tool would",
    examples: &[
        ("petasos term 'make test'", "run a command as the agent would"),
        ("petasos term --background 'make watch'", "as a background job"),
        ("petasos term --workdir /srv ls", "in another folder"),
    ],
    hidden: false,
    arguments: <Term as Args>::augment_args,
    run,
};

/// A command that nobody watches, as `run` and `tools call` have it.
const CONFINED: &str = "no terminal, so the command may write the workspace only; `--set \
    terminal.sandbox=off` changes that";

#[derive(Debug, Args)]
struct Term {
    /// The command
    command: String,
    /// Start it as a background job
    #[arg(long)]
    background: bool,
    /// How many seconds it may take
    #[arg(long)]
    timeout: Option<u64>,
    /// The folder to run it in
    #[arg(long, value_name = "DIR")]
    workdir: Option<String>,
    /// Give it a terminal of its own
    #[arg(long)]
    pty: bool,
    /// Use the directory and variables of this session
    #[arg(long, default_value = "command-line")]
    session: String,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let term: Term = parse(matches)?;
    let out = session.out;
    let people = session.people();
    let host = session.host.get()?;
    let attended = people.is_some();
    if !attended && is_confined_unattended(host)? {
        out.remark(CONFINED);
    }
    let dispatcher = host.dispatcher(people)?;
    let cx = host.call_context(Surface::Cli, SessionId::from(term.session.as_str()));
    let mut cx = cx.attended(attended);
    cx.principal = Principal::Person;
    let progress = Progress::start(out, &term.command);
    cx.events = progress.events();
    let call = ToolCall {
        id: "term".into(),
        name: "terminal".into(),
        arguments: RawArguments::Object(term.arguments()),
    };
    let result = host.wait(interruptible(dispatcher.dispatch(call, &cx), &cx, out))?;
    let streamed = progress.finish();
    if streamed && out.is_unread() && cx.cancel.is_cancelled() {
        return Ok(ExitCode::from(UNREAD));
    }
    Ok(show(out, &result, streamed))
}

impl Term {
    /// What the tool is asked for.
    fn arguments(&self) -> Map<String, Value> {
        let mut arguments = Map::new();
        arguments.insert("command".to_owned(), self.command.as_str().into());
        if self.background {
            arguments.insert("background".to_owned(), true.into());
        }
        if self.pty {
            arguments.insert("pty".to_owned(), true.into());
        }
        if let Some(seconds) = self.timeout {
            arguments.insert("timeout".to_owned(), seconds.into());
        }
        if let Some(workdir) = &self.workdir {
            arguments.insert("workdir".to_owned(), workdir.as_str().into());
        }
        arguments
    }
}

/// What a shell says of a command that wrote to a reader that was gone.
const UNREAD: u8 = 141;

/// Ctrl-C cancels the call, which ends its whole tree; a second one quits. So does a reader that
/// went away while output came.
async fn interruptible(
    call: impl Future<Output = ToolResult>,
    cx: &CallContext,
    out: Out,
) -> ToolResult {
    tokio::pin!(call);
    let mut pressed = false;
    loop {
        tokio::select! {
            result = &mut call => return result,
            () = out.unread(), if !cx.cancel.is_cancelled() => cx.cancel.cancel(),
            signal = tokio::signal::ctrl_c() => {
                if pressed || signal.is_err() {
                    std::process::exit(130);
                }
                pressed = true;
                cx.cancel.cancel();
            }
        }
    }
}

/// A model's words about its tools, in those of the command line.
fn for_people(text: &str) -> String {
    text.replace("background=true", "`--background`")
        .replace("use the process tool to read its output", "`petasos logs JOB` shows its output")
}

/// The output as it is, and the command's own exit code; JSON for scripts.
fn show(out: Out, result: &ToolResult, streamed: bool) -> ExitCode {
    let text = result.content.text();
    let Ok(value) = serde_json::from_str::<Value>(&text) else {
        out.line(text);
        return ExitCode::FAILURE;
    };
    let code = value.get("exit_code").and_then(Value::as_i64);
    if out.is_json() {
        out.value(&value);
    } else {
        let output = value.get("output").and_then(Value::as_str).unwrap_or_default();
        if !streamed {
            out.text(output);
        }
        let job = value.get("session_id").and_then(Value::as_str);
        for key in ["error", "exit_code_meaning", "hint"] {
            // The hint about a job is a model's; a person has commands for it.
            if key == "hint" && job.is_some() {
                continue;
            }
            if let Some(text) = value.get(key).and_then(Value::as_str) {
                // What follows on a refusal is advice for a model.
                let refused = code.is_none_or(|code| code < 0);
                let first = text.split_once(". ").filter(|_| refused).map(|(first, _)| first);
                out.remark(format!("{key}: {}", for_people(first.unwrap_or(text))));
            }
        }
        if let Some(job) = job {
            out.remark(format!("job: {job}"));
            out.remark(format!(
                "hint: `petasos ps` lists it, `petasos logs {job}` shows its output, `petasos \
                 kill {job}` ends it"
            ));
        }
    }
    match code.and_then(|code| u8::try_from(code).ok()) {
        Some(code) => ExitCode::from(code),
        None => ExitCode::FAILURE,
    }
}
