//! `petasos mcp`: other servers' tools for us, and our tools for other hosts.

mod change;
mod list;
mod login;
mod logs;
mod serve;
mod shelf;
mod test;

pub(super) use test::look as try_servers;

use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_mcp::client::ServerSpec;

use crate::command::{Command, Session, parse};
use crate::host::Host;
use crate::report::Report;

pub(super) static COMMAND: Command =
    Command::of_actions::<Action>("mcp", "Use MCP servers, and serve our tools over MCP", run)
        .examples(&[
            (
                "petasos mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
                "a local server",
            ),
            ("petasos mcp add docs --url https://mcp.example.com/mcp", "a remote one"),
            ("petasos mcp test", "start all and report"),
            ("petasos mcp serve", "our tools for another MCP client"),
        ]);

#[derive(Debug, Subcommand)]
enum Action {
    /// List the configured servers
    List,
    /// Start one server, or all, and report their state
    Test(test::Test),
    /// Add a server to the configuration
    Add(change::Add),
    /// Import servers from another client's file
    Import(change::Import),
    /// Remove a server from the configuration, with its tokens
    Remove(change::Remove),
    /// Sign in to a server
    Login(login::Login),
    /// Show what servers wrote to their error output
    Logs(logs::Logs),
    /// Offer our tools to an MCP host, on standard input and output or over HTTP
    Serve(serve::Serve),
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::List => list::run(session),
        Action::Test(test) => test.run(session),
        Action::Add(add) => add.run(session),
        Action::Import(import) => import.run(session),
        Action::Remove(remove) => remove.run(session),
        Action::Login(login) => login.run(session),
        Action::Logs(logs) => logs.run(session),
        Action::Serve(serve) => serve.run(session),
    }
}

/// The entry of a server that a person names.
fn spec(host: &Host, name: &str) -> Result<ServerSpec, Report> {
    let servers = host.settings().get("mcp_servers");
    let entry = servers.and_then(|servers| servers.get(name)).ok_or_else(|| {
        Report::new(format!("no MCP server is named `{name}`"))
            .code("not_found")
            .hint("`petasos mcp list` shows them")
    })?;
    let read = ServerSpec::read(name, entry, host.settings());
    read.map_err(|error| Report::new(error.to_string()).code("config"))
}
