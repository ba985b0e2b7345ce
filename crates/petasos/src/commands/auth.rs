//! `petasos auth`: logging in and out of providers, and what is kept.

use std::io::{BufRead as _, IsTerminal as _};
use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_contract::settings::Source;
use petasos_contract::{Secret, Settings};
use petasos_providers::credential::keep::Place;
use petasos_providers::credential::login::Login;
use petasos_providers::credential::oauth::{self, LoginError, Pkce};
use petasos_providers::credential::services::{self, ServiceDef};
use petasos_providers::table::Provider;
use petasos_providers::{Vault, credential};
use serde_json::json;

use crate::command::{Command, Session, parse};
use crate::out::{Out, Style};
use crate::prompt;
use crate::report::Report;

pub(super) static COMMAND: Command = Command::of_actions::<Action>(
    "auth",
    "Log in to providers, log out, and list stored credentials",
    run,
)
.examples(&[
    ("petasos auth status", "which credentials there are"),
    ("petasos auth login anthropic", "log in with the browser, or type a key"),
    ("petasos auth login openai --key-stdin < key.txt", "take a key from a file"),
    ("petasos auth logout openai", "forget it"),
]);

#[derive(Debug, Subcommand)]
enum Action {
    /// Log in to a provider, or store a key for it
    Login {
        /// The provider
        provider: String,
        /// Read a key from standard input and store it, instead of logging in
        #[arg(long)]
        key_stdin: bool,
        /// Add another login and use them in turn
        #[arg(long, conflicts_with = "key_stdin")]
        add: bool,
    },
    /// Remove the stored login and keys of a provider
    Logout {
        /// The provider
        provider: String,
    },
    /// Remove one stored key, by the id that `auth status` shows
    Remove {
        /// The provider
        provider: String,
        /// The key's id
        id: String,
    },
    /// Show every credential, masked, and whether it can be used
    Status {
        /// Only those of this provider
        provider: Option<String>,
    },
    /// Clear the cooldown of a provider's keys
    Reset {
        /// The provider
        provider: String,
    },
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::Login { provider, key_stdin, add } => {
            let way = match (key_stdin, add) {
                (true, _) => Way::Key,
                (false, true) => Way::Further,
                (false, false) => Way::Login,
            };
            login(session, &provider, way)
        }
        Action::Logout { provider } => logout(session, &provider),
        Action::Remove { provider, id } => remove(session, &provider, &id),
        Action::Status { provider } => status(session, provider.as_deref()),
        Action::Reset { provider } => reset(session, &provider),
    }
}

/// Whether a provider lets people log in.
pub(super) fn has_login(provider: &str) -> bool {
    provider == "anthropic" || oauth::DeviceFlow::of(provider).is_some()
}

/// Logs in, as `auth login` does.
pub(super) fn log_in(session: &mut Session, provider: &str) -> Result<(), Report> {
    login(session, provider, Way::Login).map(|_| ())
}

/// How somebody becomes known to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By a key on standard input.
    Key,
    /// By a login that replaces the one before.
    Login,
    /// By a login beside those that are there.
    Further,
}

/// Signs in to a service that is no model provider: what is asked for is shown first.
fn sign_in(session: &mut Session, service: &ServiceDef) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let flow = service.begin(host.settings()).ok_or_else(|| {
        let names = service.client_env.join(" or ");
        Report::new(format!("signing in to {} needs an app of your own: set {names}", service.name))
            .code("auth")
            .hint(format!("its redirect address must be {}", service.redirect))
    })?;
    let flow = flow.map_err(report)?;
    out.line(format!("{} will be asked to let this program:", service.name));
    for (scope, why) in service.scopes {
        out.line(format!("  {why} ({scope})"));
    }
    out.line(format!(
        "\nOpen this page and agree; then paste the address that the browser ends at, also when \
         it shows no page:\n\n  {}\n",
        flow.authorize_url
    ));
    let pasted = line("the address")?;
    let net = host.net();
    let login = host.wait(flow.arrived(&pasted, &net))?.map_err(report)?;
    let vault = Vault::of(host.settings());
    host.wait(vault.sign_in(service.id, &login))?.map_err(report)?;
    tell_place(out, service.id, &Place::File { because: None });
    Ok(ExitCode::SUCCESS)
}

fn login(session: &mut Session, provider: &str, way: Way) -> Result<ExitCode, Report> {
    if let Some(service) = services::find(provider) {
        if way != Way::Login {
            return Err(Report::usage(format!("`{provider}` takes a login and no keys")));
        }
        return sign_in(session, service);
    }
    let out = session.out;
    let host = session.host.get()?;
    let vault = Vault::of(host.settings());
    let view = vault.view(host.settings());
    let known = view.table.find(provider).ok_or_else(|| {
        Report::new(format!("no provider is named `{provider}`"))
            .code("invalid_provider")
            .hint("`petasos provider list` shows them all")
    })?;
    let mut id = known.id.clone();
    if id == KEYED && way != Way::Key {
        // Its account signs in under a name of its own, beside the keys.
        SIGNED.clone_into(&mut id);
        out.line(format!("signing in as {id}; `--key-stdin` stores a key instead"));
    }
    if way == Way::Further && id == "anthropic" {
        return Err(
            Report::usage("`anthropic` keeps one login").hint("`--key-stdin` adds a key beside it")
        );
    }
    // A provider without a login takes a key, and a person who is there can be asked for it.
    let asks = way == Way::Login && !has_login(&id) && prompt::somebody_is_there(out);
    let place = if asks || way == Way::Key {
        let key = Secret::new(if asks { asked(out, &id)? } else { line("a key")? });
        host.wait(vault.add_key(&id, "manual", key))?.map_err(report)?.place
    } else {
        let net = host.net();
        let login = if id == "anthropic" {
            let flow = Pkce::anthropic().map_err(report)?;
            out.line(format!(
                "Open this page, log in, and paste the code it shows:\n\n  {}\n",
                flow.authorize_url
            ));
            let pasted = line("the code")?;
            host.wait(flow.finish(&pasted, &net))?.map_err(report)?
        } else {
            host.wait(device(&id, &net, out))?.map_err(|error| refused(&error, &id))?
        };
        if way == Way::Further && id != "copilot" {
            host.wait(vault.add_login(&id, &login))?.map_err(report)?;
            Place::File { because: None }
        } else {
            host.wait(vault.log_in(&id, &login))?.map_err(report)?
        }
    };
    tell_place(out, &id, &place);
    Ok(ExitCode::SUCCESS)
}

/// Says where the secret is now, and why not in a better place.
fn tell_place(out: Out, id: &str, place: &Place) {
    let (kept_in, because) = match place {
        Place::Keyring => ("keyring", None),
        Place::File { because } => ("file", because.as_ref().map(|absent| absent.why.as_str())),
    };
    if out.is_json() {
        let told = json!({
            "provider": id, "logged_in": true, "kept_in": kept_in, "because": because,
        });
        out.value(&told);
        return;
    }
    let place = match (kept_in, because) {
        ("keyring", _) => "in the keyring".to_owned(),
        (_, None) => "in auth.json, which only you can read".to_owned(),
        (_, Some(why)) => format!("in auth.json, which only you can read; no keyring: {why}"),
    };
    out.line(format!("{} {id} is stored {place}", out.paint(Style::Good, "✓")));
    // A service beside the models has no call to try.
    if services::find(id).is_none() {
        out.line(format!("`petasos provider test --provider {id}` tries it"));
    }
}

/// A provider that takes keys, and the name under which its accounts sign in.
const KEYED: &str = "xai";
const SIGNED: &str = "xai-oauth";

/// Says what a login will be asked for, before anybody is.
fn tell_scopes(provider: &str, out: Out) {
    let flow = oauth::DeviceFlow::of(provider);
    let asks = flow.as_ref().map(oauth::DeviceFlow::asks).unwrap_or_default();
    if asks.is_empty() {
        return;
    }
    out.line(format!("{provider} will be asked to let this program:"));
    for (scope, why) in asks {
        match why {
            Some(why) => out.line(format!("  {why} ({scope})")),
            None => out.line(format!("  {scope}")),
        }
    }
}

/// Shows a code to type on another device and waits for it.
async fn device(
    provider: &str,
    net: &petasos_net::client::Net,
    out: Out,
) -> Result<Login, LoginError> {
    tell_scopes(provider, out);
    let flow = oauth::open(provider, net).await?;
    let code = oauth::start(&flow, net).await?;
    out.line(format!("Open {} and enter the code {}", code.verification_url, code.user_code));
    out.line("Waiting until that is done (Ctrl-C cancels) …");
    oauth::finish(&flow, code, net).await
}

fn logout(session: &mut Session, provider: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let vault = Vault::of(host.settings());
    let view = vault.view(host.settings());
    let id = view.table.find(provider).map_or(provider, |known| known.id.as_str());
    let mut forgotten = host.wait(vault.log_out(id))?.map_err(report)?;
    if id == KEYED {
        forgotten |= host.wait(vault.log_out(SIGNED))?.map_err(report)?;
    }
    let left = outside(host.settings(), view.table.find(id));
    if out.is_json() {
        out.value(&json!({ "provider": id, "forgotten": forgotten, "still_set": left }));
        return Ok(ExitCode::SUCCESS);
    }
    if forgotten {
        out.line(format!("removed the credentials of {id}"));
    } else {
        out.line(format!("nothing was stored for {id}"));
    }
    for line in left {
        out.line(out.paint(Style::Warn, &line));
    }
    Ok(ExitCode::SUCCESS)
}

/// Keys of a provider that are not ours to remove: where each comes from, and how it goes.
fn outside(settings: &Settings, provider: Option<&Provider>) -> Vec<String> {
    let names = provider.map(|known| known.key_env.as_slice()).unwrap_or_default();
    let set = names.iter().filter_map(|name| Some((name, settings.variable(name)?)));
    set.map(|(name, variable)| match &variable.source {
        Source::DotEnv { file, variable } => {
            format!("{variable} is still used: remove its line from {}", file.display())
        }
        _ => format!(
            "{name} is still used, from the environment: `unset {name}`, and remove it where your \
             shell sets it"
        ),
    })
    .collect()
}

fn remove(session: &mut Session, provider: &str, key: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let vault = Vault::of(host.settings());
    let view = vault.view(host.settings());
    let id = view.table.find(provider).map_or(provider, |known| known.id.as_str());
    if !host.wait(vault.remove_key(id, key))?.map_err(report)? {
        return Err(Report::new(format!("`{id}` has no key `{key}`"))
            .code("auth")
            .hint(format!("`petasos auth status {id}` shows the ids of its keys")));
    }
    let left = vault.view(host.settings()).store.pool(id).len();
    if out.is_json() {
        out.value(&json!({ "provider": id, "removed": key, "left": left }));
    } else {
        out.line(format!("the key {key} of {id} is removed; {left} left"));
    }
    Ok(ExitCode::SUCCESS)
}

fn reset(session: &mut Session, provider: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let vault = Vault::of(host.settings());
    let view = vault.view(host.settings());
    let id = view.table.find(provider).map_or(provider, |known| known.id.as_str());
    let woken = host.wait(vault.reset(id))?.map_err(report)?;
    if out.is_json() {
        out.value(&json!({ "provider": id, "woken": woken }));
    } else {
        out.line(format!("{woken} keys of {id} can be used again"));
    }
    Ok(ExitCode::SUCCESS)
}

fn status(session: &mut Session, provider: Option<&str>) -> Result<ExitCode, Report> {
    let out = session.out;
    let settings = session.host.get()?.settings();
    let view = Vault::of(settings).view(settings);
    let mut lines = credential::keep::status(settings, &view);
    if let Some(name) = provider {
        let id = view.table.find(name).map_or(name, |known| known.id.as_str());
        lines.retain(|line| line.provider == id);
    }
    if out.is_json() {
        out.value(&json!({ "credentials": lines, "problems": view.problems }));
        return Ok(ExitCode::SUCCESS);
    }
    if lines.is_empty() {
        let own = ["model.api_key", "model.key_env"].iter().find(|key| settings.get(key).is_some());
        if let Some(key) = own {
            out.line(format!("no stored credential; `{key}` in config.yaml is used"));
        } else {
            out.line("no stored credential");
            out.line(
                "hint: set a key such as OPENROUTER_API_KEY in .env, or `petasos auth login \
                 PROVIDER`",
            );
        }
    }
    for line in lines {
        let secret = line.secret.unwrap_or_default();
        let until = line.until.map(|until| format!(" until {until}")).unwrap_or_default();
        let problem = line.problem.map(|why| format!(": {why}")).unwrap_or_default();
        out.line(format!(
            "{:20} {:14} {secret} from {}{until}{problem}",
            line.provider, line.state, line.source
        ));
    }
    for problem in &view.problems {
        out.line(out.paint(Style::Warn, problem));
    }
    Ok(ExitCode::SUCCESS)
}

/// A key that somebody types; the terminal does not show it.
fn asked(out: Out, provider: &str) -> Result<String, Report> {
    let key = prompt::unseen(out, &format!("Key of {provider} (it is not shown; Enter stops):"))?;
    if key.is_empty() { Err(Report::new("no key was given").code("auth")) } else { Ok(key) }
}

/// One line from standard input.
fn line(what: &str) -> Result<String, Report> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_line(&mut text);
    read.map_err(|error| Report::usage(format!("standard input: {error}")))?;
    let text = text.trim().to_owned();
    if text.is_empty() {
        let how = if std::io::stdin().is_terminal() { "type it" } else { "pipe it in" };
        return Err(Report::usage(format!("{what} is missing on standard input")).hint(how));
    }
    Ok(text)
}

fn refused(error: &LoginError, provider: &str) -> Report {
    let report = Report::new(error.to_string()).code("login");
    match error {
        LoginError::NoLogin { .. } => {
            report.hint(format!("`petasos auth login {provider} --key-stdin` stores a key"))
        }
        _ => report,
    }
}

fn report(error: impl std::fmt::Display) -> Report {
    Report::new(error.to_string()).code("auth")
}
