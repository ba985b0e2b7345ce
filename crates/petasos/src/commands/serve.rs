//! `petasos serve`: the HTTP interface for programs that speak to OpenAI, and its tokens.

mod token;

use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::{ArgMatches, Args, Subcommand};
use petasos_contract::wait::Owned;

use crate::chats::ChatProgram;
use crate::command::{Command, Session, parse};
use crate::halt;
use crate::host::Host;
use crate::http::Over;
use crate::report::Report;
use crate::scheduled::patience;
use crate::services::Program;
use crate::signals;

pub(super) static COMMAND: Command = Command {
    name: "serve",
    about: "Serve programs over HTTP: OpenAI's interfaces, runs, sessions",
    examples: &[
        ("petasos serve", "listen on 127.0.0.1:8642"),
        ("petasos serve token --help", "tokens for clients"),
        ("petasos serve openapi > openapi.json", "the description of the API"),
    ],
    hidden: false,
    arguments: <Serve as Args>::augment_args,
    run,
};

/// The settings are wrong: a service manager does not start it again.
const SETTINGS_CODE: u8 = 78;

// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
struct Serve {
    #[command(subcommand)]
    action: Option<Action>,
    /// Listen on this address (127.0.0.1)
    #[arg(long, value_name = "ADDRESS")]
    host: Option<IpAddr>,
    /// Listen on this port (8642); 0 takes a free one
    #[arg(long)]
    port: Option<u16>,
    /// Accept unsigned webhooks (secret INSECURE_NO_AUTH), on loopback addresses only
    #[arg(long)]
    allow_insecure_webhooks: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create, list and revoke the tokens of clients
    Token {
        #[command(subcommand)]
        action: token::Token,
    },
    /// Print the OpenAPI document
    Openapi,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let serve: Serve = parse(matches)?;
    match &serve.action {
        Some(Action::Token { action }) => action.run(session),
        Some(Action::Openapi) => {
            session.out.value(&petasos_api::document(env!("CARGO_PKG_VERSION")));
            Ok(ExitCode::SUCCESS)
        }
        None => serve.serve(session),
    }
}

impl Serve {
    fn serve(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let inputs = session.host.inputs().clone();
        let host = Arc::new(Host::open(&inputs)?);
        crate::logging::start(host.settings());
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Report::new(error.to_string()))?;
        runtime.block_on(async {
            let (stop, _watch) = signals::stop()?;
            let guests = crate::guests::open(&host, Some(host.people()), out).await?;
            guests.watch(&inputs);
            let program = Program::new(Arc::clone(&host), inputs.clone(), guests);
            let program = Arc::new(ChatProgram::new(Arc::clone(&host), program, &inputs)?);
            let slashes = crate::extensions::slashes(&host);
            let sessions = host.sessions(Arc::clone(&program) as _, slashes)?;
            let _halt = halt::watch(host.settings().home(), &sessions);
            host.scheduled().bind(&host, &inputs);
            let over = Over {
                host: &host,
                inputs: &inputs,
                sessions: &sessions,
                program: &program,
                insecure: self.allow_insecure_webhooks,
                out,
            };
            let doors = match over.doors(true, (self.host, self.port)).await {
                Ok(doors) => doors,
                Err(why) => {
                    out.remark(format!("error: {why}"));
                    return Ok(ExitCode::from(SETTINGS_CODE));
                }
            };
            // Runs of jobs that were asked for over HTTP live here; due ones are others' work.
            let scheduler = host.scheduled().scheduler("serve")?;
            let _beats = Owned::start(Arc::clone(&scheduler).beat());
            out.line(format!("serving at {}", doors.urls().join(", ")));
            for door in doors.open(&stop) {
                door.join().await;
            }
            let patience = patience(host.settings());
            tokio::join!(sessions.drain(Instant::now() + patience), scheduler.drain(patience));
            Ok(ExitCode::SUCCESS)
        })
    }
}
