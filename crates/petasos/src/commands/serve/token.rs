//! `petasos serve token`: what clients show. A token is printed once; the store keeps its digest.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use petasos_api::{ApiScope, create_token};
use petasos_store::{ApiStore as _, ApiToken, StoreError};
use serde_json::json;

use crate::command::Session;
use crate::conversation::unknown_toolset;
use crate::report::Report;

/// What a token may do when nobody says otherwise.
const USUAL: &str = "chat,runs,sessions,approvals";
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// The name of the key in `.env`.
const RESERVED: &str = "default";

#[derive(Debug, Subcommand)]
pub(super) enum Token {
    /// Create a token and print it; it cannot be shown again
    Create {
        /// Its name; sessions belong to this name
        name: String,
        /// What it may do (comma-separated): chat, runs, sessions, jobs, approvals, metrics, admin
        #[arg(long, value_name = "SCOPES", default_value = USUAL)]
        scopes: String,
        /// Limit its conversations to these toolsets (comma-separated)
        #[arg(long, value_name = "TOOLSETS")]
        toolsets: Option<String>,
        /// Let it expire after this many days
        #[arg(long, value_name = "DAYS")]
        days: Option<u32>,
    },
    /// List the tokens (not the secrets themselves)
    List,
    /// Revoke a token
    Revoke {
        /// What it is called
        name: String,
    },
}

impl Token {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        match self {
            Self::Create { name, scopes, toolsets, days } => {
                let token = wanted(session, name, scopes, (toolsets.as_deref(), *days))?;
                create(session, token)
            }
            Self::List => list(session),
            Self::Revoke { name } => revoke(session, name),
        }
    }
}

fn names(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

fn wanted(
    session: &mut Session,
    name: &str,
    scopes: &str,
    (toolsets, days): (Option<&str>, Option<u32>),
) -> Result<ApiToken, Report> {
    let odd = |sign: char| !sign.is_ascii_alphanumeric() && !"-_.@".contains(sign);
    if name.is_empty() || name.len() > 64 || name.contains(odd) || name == RESERVED {
        return Err(Report::usage(format!("`{name}` cannot be the name of a token"))
            .hint("up to 64 letters, digits and -_.@; `default` is API_SERVER_KEY"));
    }
    let scopes = names(scopes);
    if let Some(strange) = scopes.iter().find(|word| ApiScope::named(word).is_none()) {
        let known: Vec<&str> = ApiScope::ALL.iter().map(|scope| scope.as_str()).collect();
        return Err(Report::usage(format!("`{strange}` is no scope"))
            .hint(format!("there are {}", known.join(", "))));
    }
    let toolsets = toolsets.map(names);
    let host = session.host.get()?;
    if let Some(toolsets) = &toolsets {
        let tools = host.catalogue().registry().snapshot();
        let unknown = petasos_runtime::toolsets::unknown(toolsets, host.settings(), &tools);
        if let Some(strange) = unknown.first() {
            return Err(unknown_toolset(strange));
        }
    }
    let now = now_ms();
    let expires_ms = days.map(|days| now + i64::from(days) * DAY_MS);
    let (name, created_ms) = (name.to_owned(), now);
    Ok(ApiToken { name, scopes, toolsets, created_ms, expires_ms, used_ms: None })
}

fn create(session: &mut Session, token: ApiToken) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let store = host.store()?;
    let name = token.name.clone();
    let made = host.wait(create_token(&*store, token))?.map_err(|error| failed(&error))?;
    let made = made.ok_or_else(|| {
        Report::new(format!("there is a token `{name}` already"))
            .code("exists")
            .hint(format!("`petasos serve token revoke {name}` takes it back"))
    })?;
    if out.is_json() {
        out.value(&json!({ "token": made.secret.expose(), "about": made.token }));
    } else {
        out.line(made.secret.expose());
        out.remark("keep it: it is not stored and cannot be shown again");
    }
    Ok(ExitCode::SUCCESS)
}

fn list(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let store = host.store()?;
    let tokens = host.wait(store.tokens())?.map_err(|error| failed(&error))?;
    if out.is_json() {
        out.value(&json!({ "tokens": tokens }));
        return Ok(ExitCode::SUCCESS);
    }
    if tokens.is_empty() {
        out.line("No tokens. `petasos serve token create NAME` creates one.");
    }
    for token in tokens {
        let used =
            token.used_ms.map_or_else(|| "never used".to_owned(), |at| format!("used {}", day(at)));
        let ends =
            token.expires_ms.map_or_else(String::new, |at| format!(", good until {}", day(at)));
        let only = token.toolsets.map_or_else(String::new, |it| format!(", only {}", it.join(",")));
        out.line(format!("{:<20} {}; {used}{ends}{only}", token.name, token.scopes.join(",")));
    }
    Ok(ExitCode::SUCCESS)
}

fn day(at_ms: i64) -> String {
    let (date, time) = petasos_sqlite::utc(at_ms);
    format!("{date} {time}")
}

fn revoke(session: &mut Session, name: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let store = host.store()?;
    if !host.wait(store.revoke_token(name))?.map_err(|error| failed(&error))? {
        return Err(Report::new(format!("there is no token `{name}`"))
            .code("not_found")
            .hint("`petasos serve token list` shows them"));
    }
    out.line(format!("{name} is refused from now on."));
    Ok(ExitCode::SUCCESS)
}

fn failed(error: &StoreError) -> Report {
    Report::new(error.to_string()).code("store")
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
