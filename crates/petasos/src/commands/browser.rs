//! `petasos browser`: the browser's profiles in a person's own hands.

use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_browser::Browsers;
use petasos_contract::context::Surface;
use petasos_contract::{CallContext, SessionId};

use crate::command::{Command, Session, parse};
use crate::report::Report;

pub(super) static COMMAND: Command =
    Command::of_actions::<Action>("browser", "Sign in to sites in a lasting browser profile", run)
        .examples(&[(
            "petasos browser login work https://example.org",
            "sign in, then close the window",
        )]);

#[derive(Debug, Subcommand)]
enum Action {
    /// Open a profile in a window; what you sign in to stays there for `browser.profile`
    Login {
        /// Its name: letters, digits, - and _
        name: String,
        /// The page to begin with
        url: Option<String>,
    },
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let (out, host) = (session.out, session.host.shared()?);
    let Action::Login { name, url } = parse(matches)?;
    let browsers = Browsers::of(host.ports())
        .ok_or_else(|| Report::new("this program has no browser".to_owned()))?;
    out.remark(format!("opening the profile `{name}`; close its window when you are done"));
    host.wait(async {
        let (stop, _watch) = crate::signals::stop()?;
        let cx = host.call_context(Surface::Cli, SessionId::new("browser login"));
        let cx = CallContext { cancel: stop, ..cx };
        let done = browsers.login(&cx, (&name, url.as_deref()), true).await;
        done.map_err(|error| Report::new(error.to_string()).code(error.kind))?;
        out.line(format!("`browser.profile: {name}` uses it from now on"));
        Ok(ExitCode::SUCCESS)
    })
    .map_err(|error| Report::new(error.to_string()))?
}
