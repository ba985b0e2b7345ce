//! `mcp login`: signs in to a server. The link is printed, so that any browser will do; the answer
//! is waited for on this machine, or pasted.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use petasos_contract::BoxFuture;
use petasos_mcp::client::oauth::{self, Browser, Callback, LoginOptions};
use petasos_mcp::client::{Launch, ServerSpec, Servers};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::spec;
use crate::command::Session;
use crate::guests;
use crate::out::Out;
use crate::report::Report;

/// How long a person may take.
const PATIENCE: Duration = Duration::from_mins(5);
/// How long the server may take to say what it wants.
const CHALLENGE: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
pub(super) struct Login {
    /// The server
    name: String,
}

impl Login {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let mut spec = spec(host, &self.name)?;
        if let Launch::Http { oauth, .. } = &mut spec.launch {
            oauth.get_or_insert_default();
        }
        let around = guests::around(host, None);
        let signed_in = host.wait(async {
            let servers = Servers::of(vec![spec.clone()], &around);
            servers.settle(CHALLENGE).await;
            let challenge = servers.challenge(&self.name);
            drop(servers);
            let person = Person::new(&spec, out).await?;
            let redirect = person.redirect.clone();
            let options = LoginOptions { challenge, redirect, metadata_url: None };
            let signed_in = oauth::login(&spec, &around, &options, &person).await;
            signed_in.map_err(|error| Report::new(error.to_string()).code("mcp_login"))
        })?;
        signed_in?;
        out.line(format!("signed in to {}", self.name));
        Ok(ExitCode::SUCCESS)
    }
}

/// A person with a browser, here or elsewhere.
struct Person {
    callback: Option<Callback>,
    redirect: String,
    out: Out,
}

impl Person {
    async fn new(spec: &ServerSpec, out: Out) -> Result<Self, Report> {
        let oauth = match &spec.launch {
            Launch::Http { oauth, .. } => oauth.clone().unwrap_or_default(),
            Launch::Stdio { .. } => {
                return Err(Report::usage(format!(
                    "`{}` is a program and has no sign-in",
                    spec.name
                )));
            }
        };
        if let Some(redirect) = oauth.redirect_uri {
            return Ok(Self { callback: None, redirect, out });
        }
        let address = oauth.redirect_host.as_deref().unwrap_or("127.0.0.1");
        let callback = Callback::bind(address, oauth.redirect_port).await;
        let callback = callback.map_err(|error| {
            Report::new(format!("port {} is not to be had: {error}", oauth.redirect_port))
                .code("mcp_login")
                .hint("set `oauth.redirect_port` to 0 for any free one")
        })?;
        let redirect = callback.redirect().to_owned();
        Ok(Self { callback: Some(callback), redirect, out })
    }

    async fn pasted(&self) -> Result<String, String> {
        if !std::io::stdin().is_terminal() {
            return std::future::pending().await;
        }
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let line = lines.next_line().await.map_err(|error| error.to_string())?;
        let line = line.unwrap_or_default().trim().to_owned();
        if line.is_empty() || matches!(line.as_str(), "skip" | "cancel" | "q" | "quit" | "no") {
            return Err("it was cancelled".to_owned());
        }
        Ok(line)
    }
}

impl Browser for Person {
    fn visit<'a>(&'a self, link: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            self.out.remark(format!("open this link in a browser:\n\n{link}\n"));
            if std::io::stdin().is_terminal() {
                self.out.remark("on another machine, paste the address that the browser ends at:");
            }
            let arrived = async {
                match &self.callback {
                    Some(callback) => {
                        callback.answer(PATIENCE).await.map_err(|error| error.to_string())
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                arrived = arrived => arrived,
                pasted = self.pasted() => pasted,
                () = tokio::time::sleep(PATIENCE) => Err("nobody came back within 5 minutes".to_owned()),
            }
        })
    }
}
