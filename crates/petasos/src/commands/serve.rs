//! `petasos serve`: the HTTP interface for programs that speak to OpenAI, and its tokens.

mod token;

use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{ArgMatches, Args, Subcommand};
use petasos_api::{ApiOptions, ApiParts, ApiServer, OptionsError, StartError};
use petasos_config::home;

use crate::chats::ChatProgram;
use crate::command::{Command, Session, parse};
use crate::halt;
use crate::host::Host;
use crate::out::Out;
use crate::report::Report;
use crate::services::Program;
use crate::signals;

pub(super) static COMMAND: Command = Command {
    name: "serve",
    about: "Serve programs over HTTP: OpenAI's interfaces, runs, sessions",
    hidden: false,
    arguments: <Serve as Args>::augment_args,
    run,
};

/// Running turns may end for so long after the end was asked for.
const DRAIN: Duration = Duration::from_secs(20);
/// The settings are wrong: a service manager does not start it again.
const SETTINGS_CODE: u8 = 78;

/// Arguments of `serve`.
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
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make, list and take back the tokens that clients show
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
        let profile = home::places(&inputs)?.profile;
        let listen = (self.host, self.port);
        let options = match ApiOptions::read(host.settings(), profile.as_deref(), listen) {
            Ok(options) => options,
            Err(error) => return Ok(refused(&error, out)),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Report::new(error.to_string()))?;
        runtime.block_on(async {
            let guests = crate::guests::open(&host, Some(host.people()), out).await?;
            guests.watch(&inputs);
            let program = Program::new(Arc::clone(&host), inputs.clone(), guests);
            let program = Arc::new(ChatProgram::new(Arc::clone(&host), program, &inputs)?);
            serve(&host, program, options, out).await
        })
    }
}

fn refused(error: &OptionsError, out: Out) -> ExitCode {
    out.remark(format!("error: {error}"));
    ExitCode::from(SETTINGS_CODE)
}

async fn serve(
    host: &Arc<Host>,
    program: Arc<ChatProgram>,
    options: ApiOptions,
    out: Out,
) -> Result<ExitCode, Report> {
    let (stop, _watch) = signals::stop()?;
    let slashes = crate::extensions::slashes(host);
    let sessions = host.sessions(Arc::clone(&program) as _, slashes)?;
    let _halt = halt::watch(host.settings().home(), &sessions);
    let store = host.store()?;
    let bound = ApiServer::bind(ApiParts {
        options,
        store: Arc::clone(&store) as _,
        conversations: store,
        sessions: Arc::clone(&sessions),
        host: program,
        version: env!("CARGO_PKG_VERSION"),
    });
    let server = match bound.await {
        Ok(server) => server,
        Err(StartError::Options(error)) => return Ok(refused(&error, out)),
        Err(error) => return Err(Report::new(error.to_string()).code("serve")),
    };
    out.line(format!("serving at http://{}/v1", server.address()));
    server.run(stop).await;
    sessions.drain(Instant::now() + DRAIN).await;
    Ok(ExitCode::SUCCESS)
}
