//! `petasos gateway`: the chat platforms. Running it, looking at it, letting people in.

mod control;
mod running;
mod storm;
mod unit;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Subcommand};
use petasos_gateway::pairing::{self, Confirmed};
use petasos_gateway::platform::PlatformDef;
use petasos_gateway::{PLATFORMS, explain};
use petasos_store::{
    AccessStore as _, ChatKind, DeliveryState, OutboxRow, OutboxStore as _, StoreError,
};
use serde_json::{Value, json};

use crate::command::{Command, Session, actions, parse};
use crate::out::{Out, Style};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "gateway",
    about: "Connect the agent to Telegram, Matrix, mail and other platforms",
    examples: &[
        ("petasos gateway platforms", "what each needs; variables go into ~/.petasos/.env"),
        ("petasos gateway run", "run it in this terminal"),
        ("petasos gateway install", "run it as a service of this user"),
        ("petasos gateway status", "accounts, queues, stuck messages"),
    ],
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// Run the gateway here, until it is stopped
    Run(running::How),
    /// Show the state of the gateway: accounts, queues, stuck messages
    Status,
    /// Print metrics in the Prometheus format
    Metrics,
    /// Stop the gateway after running turns have ended
    Stop,
    /// Restart the gateway after running turns have ended
    Restart,
    /// Read the settings again: who may write, how busy chats behave
    Reload,
    /// Write the systemd unit of this user
    Install {
        /// Overwrite a unit that was changed by hand
        #[arg(long)]
        force: bool,
    },
    /// Remove the systemd unit of this user
    Uninstall,
    /// Show the end of the gateway's log
    Logs {
        /// How many lines
        #[arg(long, short, default_value_t = 50)]
        lines: usize,
    },
    /// Approve people who asked with a pairing code
    Pair {
        #[command(subcommand)]
        action: Pair,
    },
    /// Show whether somebody may write, why, and where their messages go
    Explain {
        /// The platform
        #[arg(long)]
        platform: String,
        /// The sender's user id on that platform
        #[arg(long)]
        user: String,
        /// The chat (default: a direct chat with the sender)
        #[arg(long)]
        chat: Option<String>,
        /// The chat is a group
        #[arg(long)]
        group: bool,
    },
    /// List the platforms, what each needs, and the file that their variables go into
    Platforms,
    /// Show outgoing messages
    Outbox {
        #[command(subcommand)]
        action: Outbox,
    },
}

#[derive(Debug, Subcommand)]
enum Pair {
    /// List the approved people
    List,
    /// Approve a person by their pairing code
    Approve {
        /// The platform
        platform: String,
        /// The code
        code: String,
    },
    /// Revoke a person's access
    Revoke {
        /// The platform
        platform: String,
        /// The person's user id on that platform
        user: String,
    },
}

#[derive(Debug, Subcommand)]
enum Outbox {
    /// List undelivered messages: waiting, uncertain and given up
    List,
    /// Show one message: where it goes, its text, its attempts
    Show {
        /// Its number
        id: i64,
    },
    /// Retry a message that was given up
    Retry {
        /// Its number
        id: i64,
    },
    /// Give up on a message
    Drop {
        /// Its number
        id: i64,
    },
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::Run(how) => running::run(session, how),
        Action::Status => control::status(session),
        Action::Metrics => control::metrics(session),
        Action::Stop => control::ask(session, "stop"),
        Action::Restart => control::ask(session, "restart"),
        Action::Reload => control::ask(session, "reload"),
        Action::Install { force } => unit::install(session, force),
        Action::Uninstall => unit::uninstall(session),
        Action::Logs { lines } => logs(session, lines),
        Action::Pair { action } => pair(session, &action),
        Action::Explain { platform, user, chat, group } => {
            explained(session, &platform, &user, (chat.as_deref(), group))
        }
        Action::Platforms => platforms(session),
        Action::Outbox { action } => outbox(session, &action),
    }
}

/// The platform of a name.
fn named(name: &str) -> Result<&'static PlatformDef, Report> {
    let found = PLATFORMS.iter().copied().find(|def| def.name == name && def.name != "loopback");
    found.ok_or_else(|| {
        Report::new(format!("no platform is named `{name}`"))
            .code("unknown_platform")
            .hint("`petasos gateway platforms` lists them")
    })
}

fn platforms(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let settings = Arc::clone(session.host.get()?.settings());
    let has = |name: &str| settings.variable(name).is_some_and(|it| !it.value.expose().is_empty());
    let known = PLATFORMS.iter().filter(|def| def.name != "loopback");
    let rows: Vec<(&PlatformDef, bool)> = known
        .map(|def| (*def, !def.variables.is_empty() && def.variables.iter().all(|name| has(name))))
        .collect();
    if out.is_json() {
        let list: Vec<Value> = rows.iter().map(|(def, configured)| json!({
            "name": def.name, "about": def.about, "configured": configured,
            "variables": def.variables, "toolset": def.toolset, "tested_with": def.tested_with,
        })).collect();
        out.value(&json!({ "platforms": list }));
        return Ok(ExitCode::SUCCESS);
    }
    out.line(variables_go(&settings));
    for (def, configured) in rows {
        let mark = if configured {
            out.paint(Style::Good, "configured")
        } else {
            out.paint(Style::Faint, "not configured")
        };
        out.line(format!(
            "{:<14} {mark}  {}; tested with {}",
            def.name, def.about, def.tested_with
        ));
        if !configured {
            for step in def.setup {
                out.line(format!("               - {step}"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the variables of platforms are read from.
fn variables_go(settings: &petasos_contract::Settings) -> String {
    let file = settings.home().join(".env");
    format!(
        "Variables go into {} (NAME=value, one a line) or into the environment of the gateway.",
        file.display()
    )
}

fn pair(session: &mut Session, action: &Pair) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let store = host.store()?;
    match action {
        Pair::List => {
            let people = host.wait(store.paired(None))?.map_err(|error| failed(&error))?;
            if out.is_json() {
                out.value(&json!({ "people": people }));
            } else if people.is_empty() {
                out.line("Nobody is paired.");
            }
            for person in people.iter().filter(|_| !out.is_json()) {
                let owner = if person.owner { " (owner)" } else { "" };
                out.line(format!("{} {} {}{owner}", person.platform, person.user, person.name));
            }
            Ok(ExitCode::SUCCESS)
        }
        Pair::Approve { platform, code } => {
            named(platform)?;
            let done = pairing::confirm(&*store, platform, code, now_ms());
            match host.wait(done)?.map_err(|error| failed(&error))? {
                Confirmed::Admitted(person) => {
                    let owner = if person.owner { ", who owns everything" } else { "" };
                    out.line(format!("{} ({}) may write now{owner}.", person.name, person.user));
                    Ok(ExitCode::SUCCESS)
                }
                Confirmed::Wrong => Err(Report::new("no such code, or it has expired")
                    .code("wrong_code")
                    .hint("codes hold for an hour; ask them to write again")),
                Confirmed::Locked => {
                    Err(Report::new("too many wrong codes: locked for an hour").code("locked"))
                }
            }
        }
        Pair::Revoke { platform, user } => {
            named(platform)?;
            let gone = host.wait(store.unpair(platform, user))?.map_err(|error| failed(&error))?;
            if !gone {
                return Err(
                    Report::new(format!("`{user}` was not let in on {platform}")).code("not_found")
                );
            }
            out.line(format!("{user} may no longer write."));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn explained(
    session: &mut Session,
    platform: &str,
    user: &str,
    (chat, group): (Option<&str>, bool),
) -> Result<ExitCode, Report> {
    let out = session.out;
    let def = named(platform)?;
    let host = session.host.get()?;
    let store = host.store()?;
    let kind = if group { ChatKind::Group } else { ChatKind::Dm };
    let place = (user, chat.unwrap_or(user), kind);
    let found = host.wait(explain(&*store, host.settings(), def, place))?;
    let found = found.map_err(|error| failed(&error))?;
    let found = found.map_err(|why| Report::new(why).code("settings"))?;
    if out.is_json() {
        out.value(&found);
        return Ok(ExitCode::SUCCESS);
    }
    let class = match found.class {
        Some(class) => out.paint(Style::Good, &format!("may write ({class})")),
        None => out.paint(Style::Bad, "is not let in"),
    };
    out.line(format!("{user} on {platform} {class}."));
    out.line(format!("  Because:     {}", found.rule));
    if !found.asked.is_empty() {
        let count = found.asked.len();
        out.line(format!("               {count} other rules said nothing (`--json` names them)"));
    }
    if let Some(key) = &found.key {
        let session = match &found.session {
            Some(session) => format!("session {session}"),
            None => "it begins with the first message".to_owned(),
        };
        out.line(format!("  Talks in:    {key} ({session})"));
    }
    let busy = match found.busy {
        "interrupt" => "a message stops the turn and begins the next one",
        "queue" => "a message waits for the end of the turn",
        "steer" => "the agent reads a message on its way",
        "collect" => "messages are collected for the next turn",
        other => other,
    };
    out.line(format!("  While busy:  {busy}"));
    let named = if found.mention { "only messages that name it" } else { "every message" };
    out.line(format!("  In groups:   the agent answers {named}"));
    let strangers = match found.strangers.as_str() {
        "pair" => "get a code in a direct chat that you can approve",
        "ignore" => "get no answer",
        other => other,
    };
    out.line(format!("  Strangers:   {strangers}"));
    out.line(format!("  Tools:       toolset {}", found.toolset));
    let limit = found.limit.split(' ').next().unwrap_or_default();
    out.line(format!("  Messages:    at most {limit} signs each; longer ones are divided"));
    if found.class.is_none() {
        out.line(format!(
            "To let them in: `petasos gateway pair approve {platform} CODE`, or add {user} to \
             {}_ALLOWED_USERS. {}",
            platform.to_uppercase(),
            variables_go(host.settings())
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn outbox(session: &mut Session, action: &Outbox) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let store = host.store()?;
    match action {
        Outbox::List => {
            let states = [
                DeliveryState::Planned,
                DeliveryState::Sending,
                DeliveryState::Ambiguous,
                DeliveryState::Dead,
            ];
            let rows =
                host.wait(store.deliveries(&states, 200))?.map_err(|error| failed(&error))?;
            if out.is_json() {
                let list: Vec<Value> = rows.iter().map(|row| json!({
                    "id": row.id, "to": row.delivery.lane.to_string(), "state": row.state, "class": row.delivery.class,
                    "attempts": row.attempts, "error": row.error, "created_ms": row.created_ms,
                })).collect();
                out.value(&json!({ "deliveries": list }));
                return Ok(ExitCode::SUCCESS);
            }
            for row in &rows {
                out.line(format!(
                    "{} {} {} tries {} {}",
                    row.id,
                    row.state.as_str(),
                    row.delivery.lane,
                    row.attempts,
                    row.error
                ));
            }
            if rows.is_empty() {
                out.line("Everything is delivered.");
            }
            Ok(ExitCode::SUCCESS)
        }
        Outbox::Show { id } => {
            let row = host.wait(store.delivery(*id))?.map_err(|error| failed(&error))?;
            shown(out, *id, row)
        }
        Outbox::Retry { id } => settled(out, host.wait(store.retry(*id))?, *id, "is tried again"),
        Outbox::Drop { id } => {
            settled(out, host.wait(store.drop_delivery(*id))?, *id, "is given up")
        }
    }
}

fn shown(out: Out, id: i64, row: Option<OutboxRow>) -> Result<ExitCode, Report> {
    let Some(row) = row else {
        return Err(Report::new(format!("there is no delivery {id}"))
            .code("not_found")
            .hint("`petasos gateway outbox list` shows them"));
    };
    let delivery = &row.delivery;
    let files: Vec<&str> = delivery.media.iter().map(|it| it.name.as_str()).collect();
    if out.is_json() {
        out.value(&json!({
            "id": row.id, "to": delivery.lane.to_string(), "state": row.state, "class": delivery.class,
            "attempts": row.attempts, "error": row.error, "created_ms": row.created_ms,
            "text": delivery.body, "files": files, "parts": row.parts.len(), "arrived": row.sent,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let (state, lane) = (row.state.as_str(), &delivery.lane);
    out.line(format!("{id} {state} {lane} tries {} {}", row.attempts, row.error));
    out.line(format!("parts: {}, arrived: {}", row.parts.len(), row.sent.len()));
    if !files.is_empty() {
        out.line(format!("files: {}", files.join(", ")));
    }
    out.line(format!("\n{}", delivery.body));
    Ok(ExitCode::SUCCESS)
}

fn settled(
    out: Out,
    done: Result<bool, StoreError>,
    id: i64,
    what: &str,
) -> Result<ExitCode, Report> {
    if !done.map_err(|error| failed(&error))? {
        return Err(Report::new(format!(
            "delivery {id} cannot: it is not there, or in another state"
        ))
        .code("not_found")
        .hint("`petasos gateway outbox list` shows them"));
    }
    out.line(format!("{id} {what}."));
    Ok(ExitCode::SUCCESS)
}

fn logs(session: &mut Session, lines: usize) -> Result<ExitCode, Report> {
    let out = session.out;
    let file = session
        .host
        .get()?
        .settings()
        .home()
        .join(crate::logging::FOLDER)
        .join(crate::logging::ALL);
    let text = std::fs::read_to_string(&file)
        .map_err(|error| Report::new(format!("`{}`: {error}", file.display())).code("not_found"))?;
    let own: Vec<&str> = text.lines().filter(|line| line.contains("petasos_gateway")).collect();
    if own.is_empty() {
        out.remark("The gateway has not logged anything yet.");
    }
    for line in own.iter().skip(own.len().saturating_sub(lines)) {
        out.line(line);
    }
    Ok(ExitCode::SUCCESS)
}

fn failed(error: &StoreError) -> Report {
    Report::new(error.to_string()).code("store")
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}
