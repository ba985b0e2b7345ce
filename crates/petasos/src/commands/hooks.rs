//! `petasos hooks`: which programs run at which moments, who agreed to them, and trying one out.

use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_contract::call::Status;
use petasos_contract::context::Surface;
use petasos_contract::hook::{
    Directive, Finished, HookKind, Moment, OnFailure, ReplyMoment, SessionMoment,
};
use petasos_contract::hook::{ToolMoment, TurnMoment, VerifyMoment};
use petasos_contract::{Args, SessionId, Settings, ToolName};
use petasos_plugins::shell::{Allowlist, Consent, HookSpec, Ran, listing, try_out};
use serde_json::{Value, json};

use crate::command::{Command, Session, actions, parse};
use crate::prompt;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "hooks",
    about: "List, approve and test shell hooks",
    examples: &[
        ("petasos hooks list", "the configured hooks"),
        ("petasos hooks test pre_tool_call", "run them with sample data"),
        ("petasos hooks approve", "let new ones run"),
    ],
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// List the configured hooks and whether they run
    List {
        /// List the events that hooks can run on
        #[arg(long)]
        events: bool,
    },
    /// Run the hooks of an event with sample data and show their decisions
    Test {
        /// The event, such as pre_tool_call
        event: String,
        /// The tool of the example
        #[arg(long, default_value = "terminal")]
        tool: String,
        /// The arguments of the example
        #[arg(long, value_name = "JSON", default_value = r#"{"command":"echo hello"}"#)]
        args: String,
    },
    /// Approve hooks
    Approve {
        /// The command as configured (default: all that wait)
        command: Option<String>,
    },
    /// Revoke approval of hooks
    Revoke {
        /// The command as configured
        command: String,
    },
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::List { events: true } => Ok(events(session)),
        Action::List { events: false } => list(session),
        Action::Test { event, tool, args } => test(session, &event, &tool, &args),
        Action::Approve { command } => approve(session, command.as_deref()),
        Action::Revoke { command } => revoke(session, &command),
    }
}

fn events(session: &Session) -> ExitCode {
    let names: Vec<&str> = HookKind::ALL.iter().map(|kind| kind.as_str()).collect();
    if session.out.is_json() {
        session.out.value(&json!({ "events": names }));
    } else {
        for name in names {
            session.out.line(name);
        }
    }
    ExitCode::SUCCESS
}

fn list(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let settings = session.host.get()?.settings();
    let (listing, allowlist) = (listing(settings), Allowlist::of(settings));
    let rows: Vec<Value> =
        listing.hooks.iter().map(|hook| row(hook, &allowlist, settings)).collect();
    if out.is_json() {
        out.value(&json!({ "hooks": rows, "problems": listing.problems }));
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        out.line("no hook is configured; `hooks:` in the configuration names them");
    }
    for row in &rows {
        let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or("*").to_owned();
        out.line(format!(
            "{:<24} {:<12} {:<10} {}",
            text("event"),
            text("matcher"),
            text("state"),
            text("command")
        ));
    }
    listing.problems.iter().for_each(|problem| out.remark(problem));
    Ok(ExitCode::SUCCESS)
}

fn row(hook: &HookSpec, allowlist: &Allowlist, settings: &Settings) -> Value {
    let accepted = settings.get("hooks_auto_accept") == Some(&Value::Bool(true));
    let consent = allowlist.consent(hook, settings);
    let state = match if accepted { Consent::Given } else { consent } {
        Consent::Given => "runs",
        Consent::Outdated => "changed",
        Consent::Missing => "waits",
    };
    json!({
        "event": hook.event_name,
        "command": hook.command,
        "matcher": hook.matcher.as_ref().map(|matcher| matcher.text.as_str()),
        "timeout": hook.timeout.as_secs(),
        "on_failure": if hook.on_failure == OnFailure::Block { "block" } else { "allow" },
        "state": state,
    })
}

fn test(session: &mut Session, event: &str, tool: &str, args: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let args: Value = serde_json::from_str(args)
        .map_err(|error| Report::usage(format!("`--args` is no JSON: {error}")))?;
    let args = Args::new(args.as_object().cloned().unwrap_or_default());
    let listing = listing(host.settings());
    let named = |hook: &&HookSpec| hook.event_name == event || hook.event.as_str() == event;
    let hooks: Vec<&HookSpec> = listing.hooks.iter().filter(named).collect();
    if hooks.is_empty() {
        return Err(Report::new(format!("no hook is configured for `{event}`"))
            .code("not_found")
            .hint("`petasos hooks list` names those that are"));
    }
    let processes = host.ports().processes.clone();
    let processes = processes.ok_or_else(|| Report::new("this program starts no programs"))?;
    let (tool, cx) =
        (ToolName::new(tool), host.call_context(Surface::Cli, SessionId::new("hooks-test")));
    let example = Example { tool: &tool, args: &args, cx: &cx };
    let mut failed = false;
    for hook in hooks {
        let ran = host.wait(example.try_out(hook, processes.as_ref()))?;
        failed |= !matches!(&ran, Ok(Some(Ran { directive: Ok(_), .. }) | None));
        let shown = shown(hook, &ran);
        if out.is_json() {
            out.value(&shown);
        } else {
            let result = shown.get("result").and_then(Value::as_str).unwrap_or_default();
            let span = shown.get("took_ms").and_then(Value::as_u64);
            let span = span.map(|ms| format!(" ({ms} ms)")).unwrap_or_default();
            out.line(format!("{}: {result}{span}", hook.command));
            if let Ok(Some(ran)) = &ran
                && !ran.said.stderr.trim().is_empty()
            {
                out.remark(ran.said.stderr.trim());
            }
        }
    }
    Ok(ExitCode::from(u8::from(failed)))
}

type Tried = Result<Option<Ran>, petasos_contract::hook::HookError>;

/// What a hook wants, in words.
fn told(directive: &Directive) -> String {
    match directive {
        Directive::Pass => "lets it pass".to_owned(),
        Directive::Block(why) => format!("blocks it: {why}"),
        Directive::AskHuman { message, .. } => format!("wants a person to agree: {message}"),
        Directive::Replace(text) => format!("replaces the text: {text}"),
        Directive::Append(text) => format!("adds to the text: {text}"),
        Directive::Rewrite(args) => format!("changes the arguments: {}", args.words()),
    }
}

fn shown(hook: &HookSpec, ran: &Tried) -> Value {
    let result = match ran {
        Ok(Some(Ran { directive: Ok(directive), .. })) => told(directive),
        Ok(Some(Ran { directive: Err(error), .. })) | Err(error) => format!("failed: {error}"),
        Ok(None) => "its matcher does not fit the tool".to_owned(),
    };
    let ran = ran.as_ref().ok().and_then(Option::as_ref);
    json!({
        "event": hook.event_name,
        "command": hook.command,
        "result": result,
        "exit_code": ran.map(|ran| ran.said.code),
        "stdout": ran.map(|ran| ran.said.stdout.as_str()),
        "stderr": ran.map(|ran| ran.said.stderr.as_str()),
        "took_ms": ran.map(|ran| u64::try_from(ran.took.as_millis()).unwrap_or(u64::MAX)),
    })
}

/// What a hook is tried with.
struct Example<'a> {
    tool: &'a ToolName,
    args: &'a Args,
    cx: &'a petasos_contract::CallContext,
}

impl Example<'_> {
    async fn try_out(
        &self,
        hook: &HookSpec,
        processes: &dyn petasos_contract::processes::Processes,
    ) -> Tried {
        let cx = self.cx;
        let call = ToolMoment { tool: self.tool, args: self.args, cx, rewrites: &[] };
        let finished = Finished {
            result: "{\"ok\":true}",
            status: Status::Ok,
            duration_ms: 1,
            error_type: None,
            error_message: None,
        };
        let turn = TurnMoment {
            cx,
            model: "example",
            user_message: "an example",
            history: &[],
            is_first_turn: true,
            sender: None,
        };
        let reply = ReplyMoment { cx, model: "example", text: "an example" };
        let verify = VerifyMoment {
            cx,
            model: "example",
            attempt: 0,
            final_response: "an example",
            changed_paths: &[],
        };
        let border =
            SessionMoment { cx, model: "example", reason: "new_session", old: None, new: None };
        let moment = match hook.event {
            HookKind::PreToolCall => Moment::PreToolCall(&call),
            HookKind::PostToolCall => Moment::PostToolCall(&call, &finished),
            HookKind::TransformToolResult => Moment::TransformToolResult(&call, &finished),
            HookKind::PreLlmCall => Moment::PreLlmCall(&turn),
            HookKind::PostLlmCall => Moment::PostLlmCall(&turn, "an example"),
            HookKind::TransformLlmOutput => Moment::TransformLlmOutput(&reply),
            HookKind::PreVerify => Moment::PreVerify(&verify),
            HookKind::OnSessionFinalize => Moment::OnSessionFinalize(&border),
            HookKind::OnSessionReset => Moment::OnSessionReset(&border),
            // Everything else is only observed; a session's beginning stands for it.
            _ => Moment::OnSessionStart(&border),
        };
        if !hook.concerns(&moment) {
            return Ok(None);
        }
        try_out(hook, &moment, processes).await.map(Some)
    }
}

fn approve(session: &mut Session, command: Option<&str>) -> Result<ExitCode, Report> {
    let out = session.out;
    let settings = session.host.get()?.settings();
    let mut allowlist = Allowlist::of(settings);
    let wanted = |hook: &HookSpec| command.is_none_or(|command| hook.command == command);
    let waiting: Vec<HookSpec> = listing(settings)
        .hooks
        .into_iter()
        .filter(|hook| wanted(hook))
        .filter(|hook| allowlist.consent(hook, settings) != Consent::Given)
        .collect();
    if command.is_none() && !waiting.is_empty() && !prompt::somebody_is_there(out) {
        return Err(Report::usage("this needs a confirmation at a terminal")
            .hint("name the command: `petasos hooks approve COMMAND`"));
    }
    for hook in &waiting {
        // Naming a command is consent; without one each is asked about.
        let question = format!("{}: {}\nLet it run from now on?", hook.event_name, hook.command);
        if command.is_none() && prompt::somebody_is_there(out) && !prompt::confirm(out, &question)?
        {
            continue;
        }
        allowlist.approve(hook, settings).map_err(|error| Report::new(error.to_string()))?;
        out.line(format!("{} runs at {}", hook.command, hook.event_name));
    }
    if waiting.is_empty() {
        out.line("no hook waits for consent");
    }
    Ok(ExitCode::SUCCESS)
}

fn revoke(session: &mut Session, command: &str) -> Result<ExitCode, Report> {
    let settings = session.host.get()?.settings();
    let mut allowlist = Allowlist::of(settings);
    let listed = listing(settings);
    let named: Vec<_> = listed.hooks.iter().filter(|hook| hook.command == command).collect();
    if named.is_empty() {
        return Err(Report::new(format!("no hook runs `{command}`"))
            .code("not_found")
            .hint("`petasos hooks list` shows the configured hooks"));
    }
    for hook in named {
        allowlist.revoke(hook).map_err(|error| Report::new(error.to_string()))?;
    }
    session.out.line(format!("Revoked: {command} does not run any more."));
    Ok(ExitCode::SUCCESS)
}
