//! `mcp serve`: our tools, filtered by toolset, through the one door, for any MCP host.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use petasos_contract::Secret;
use petasos_mcp::server::{ByElicitation, HttpOptions, Toolbox, bind, serve_stdio};
use petasos_runtime::definitions::Wanted;
use petasos_runtime::toolsets::{Selection, choose};
use tokio_util::sync::CancellationToken;

use super::shelf::Shelf;
use crate::command::Session;
use crate::host::Host;
use crate::out::Out;
use crate::report::Report;
use crate::signals;

/// The variable that holds the token of the HTTP server.
const TOKEN: &str = "MCP_SERVER_TOKEN";

#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Listen here instead of serving standard input and output
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8765")]
    http: Option<SocketAddr>,
    /// Offer only these toolsets (comma-separated)
    #[arg(long, value_name = "TOOLSETS")]
    toolsets: Option<String>,
    /// Require no token: every program of this machine may connect
    #[arg(long, requires = "http")]
    no_token: bool,
    /// Also answer to this host name
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,
    /// Also answer to pages of this origin (`https://example.com`)
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
    /// Do not offer the logs of conversations and jobs as resources
    #[arg(long)]
    no_resources: bool,
}

impl Serve {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let offer = Arc::new(self.toolbox(host)?);
        let served = host.wait(async {
            let (stop, _watch) = signals::stop()?;
            match self.http {
                None => {
                    let (read, write) = (tokio::io::stdin(), tokio::io::stdout());
                    serve_stdio(offer, read, write, stop).await.map_err(Report::from)
                }
                Some(address) => self.listen(host, address, offer, (out, stop)).await,
            }
        })?;
        served?;
        Ok(ExitCode::SUCCESS)
    }

    fn toolbox(&self, host: &Host) -> Result<Toolbox, Report> {
        let approver = Arc::new(ByElicitation::new());
        let door = host.dispatcher(Some(Arc::clone(&approver) as _))?;
        let surroundings = (Arc::clone(host.settings()), Arc::clone(host.ports()));
        let toolbox = Toolbox::new(door, Arc::clone(host.catalogue()), surroundings, approver)
            .with_choice(Wanted { selection: self.selection(host), ..Wanted::default() });
        if self.no_resources {
            return Ok(toolbox);
        }
        Ok(toolbox.with_logs(Arc::new(Shelf::of(host)?)))
    }

    /// The named toolsets; else those that the configuration gives to the surface `mcp`; else
    /// those of the terminal. Other servers' tools are not passed on unless they are named.
    fn selection(&self, host: &Host) -> Selection {
        let settings = host.settings();
        let tools = host.catalogue().registry().snapshot();
        let own = settings.get("platform_toolsets.mcp").is_some();
        let mut selection =
            choose(if own { "mcp" } else { "cli" }, settings, &tools).selection(settings);
        if let Some(named) = &self.toolsets {
            let names = named.split(',').map(str::trim).filter(|name| !name.is_empty());
            selection.enabled = Some(names.map(str::to_owned).collect());
        }
        selection
    }

    async fn listen(
        &self,
        host: &Host,
        address: SocketAddr,
        offer: Arc<Toolbox>,
        (out, stop): (Out, CancellationToken),
    ) -> Result<(), Report> {
        let token = self.token(host)?;
        let shown = token.clone();
        let options = HttpOptions {
            address,
            token: token.map(|(token, _)| token),
            hosts: self.allow_host.clone(),
            origins: self.allow_origin.clone(),
        };
        let refused = |error: petasos_mcp::server::ServeError| {
            Report::new(error.to_string()).code("mcp_serve")
        };
        let listening = bind(options).await.map_err(refused)?;
        let access = match shown {
            // A token that was made just now is known to nobody else.
            Some((token, Made::Now)) => format!("token: {}", token.expose()),
            Some((_, Made::Before)) => format!("token: from PETASOS_{TOKEN}"),
            None => "no token: every program of this machine may connect".to_owned(),
        };
        // In one piece: whoever waits for the address may stop reading there.
        out.remark(format!("serving MCP at {}\n{access}", listening.url()));
        listening.run(offer, stop).await;
        Ok(())
    }

    fn token(&self, host: &Host) -> Result<Option<(Secret, Made)>, Report> {
        if self.no_token {
            return Ok(None);
        }
        if let Some(variable) = host.settings().role(TOKEN) {
            return Ok(Some((variable.value.clone(), Made::Before)));
        }
        let mut bytes = [0_u8; 24];
        getrandom::fill(&mut bytes).map_err(|error| Report::new(error.to_string()))?;
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Some((Secret::new(hex.concat()), Made::Now)))
    }
}

/// Where a token comes from.
#[derive(Debug, Clone, Copy)]
enum Made {
    Before,
    Now,
}
