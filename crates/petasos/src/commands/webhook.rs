//! `petasos webhook`: the routes of webhooks, and what a payload would lead to.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::{ArgMatches, Args, Subcommand};
use petasos_api::WebhookOptions;
use serde_json::{Value, json};

use crate::command::{Command, Session, parse};
use crate::http::subscriptions;
use crate::out::Style;
use crate::report::Report;

pub(super) static COMMAND: Command =
    Command::of_actions::<Action>("webhook", "List, add and test incoming webhooks", run).examples(
        &[
            ("petasos webhook list", "the routes"),
            ("petasos webhook subscribe builds --prompt \"explain {payload}\"", "add one"),
            ("petasos webhook test builds --payload event.json", "what a payload would do"),
        ],
    );

#[derive(Debug, Subcommand)]
enum Action {
    /// List the routes
    List,
    /// Add a route; prints its secret once
    #[command(alias = "add")]
    Subscribe(Subscribe),
    /// Remove an added route
    #[command(alias = "unsubscribe")]
    Remove {
        /// The route
        route: String,
    },
    /// Show what a payload would do, without running it
    Test {
        /// The route
        route: String,
        /// A file with the payload (default: standard input)
        #[arg(long, value_name = "FILE")]
        payload: Option<PathBuf>,
        /// The event's name, as the sender sends it
        #[arg(long)]
        event: Option<String>,
    },
}

#[derive(Debug, Args)]
struct Subscribe {
    /// Its name: letters, digits, - and _
    route: String,
    /// The prompt: a template such as "Look at {issue.title}"
    #[arg(long)]
    prompt: Option<String>,
    /// Only these events (comma-separated)
    #[arg(long, value_delimiter = ',')]
    events: Vec<String>,
    /// Skills that each turn begins with (comma-separated)
    #[arg(long, value_delimiter = ',')]
    skills: Vec<String>,
    /// Where the answer goes: log, PLATFORM[:CHAT[:THREAD]], webhook:NAME, github_comment
    #[arg(long)]
    deliver: Option<String>,
    /// More about where: KEY=TEMPLATE, such as chat_id={chat} or repo={repository.full_name}
    #[arg(long, value_name = "KEY=TEMPLATE")]
    deliver_extra: Vec<String>,
    /// Deliver the text of the template itself, without a turn
    #[arg(long)]
    deliver_only: bool,
    /// A file in the home's `scripts` folder that filters each payload first
    #[arg(long)]
    script: Option<String>,
    /// What it is for
    #[arg(long)]
    description: Option<String>,
}

impl Subscribe {
    fn entry(&self, secret: &str) -> Result<Value, Report> {
        let mut entry = json!({ "secret": secret });
        let mut put = |key: &str, value: Value| {
            if !value.is_null() && value != json!([]) && value != json!(false) {
                entry[key] = value;
            }
        };
        put("prompt", json!(self.prompt));
        put("events", json!(self.events));
        put("skills", json!(self.skills));
        put("deliver", json!(self.deliver));
        put("deliver_only", json!(self.deliver_only));
        put("script", json!(self.script));
        put("description", json!(self.description));
        for pair in &self.deliver_extra {
            let (key, value) = pair.split_once('=').ok_or_else(|| {
                Report::new(format!("`{pair}` is not KEY=TEMPLATE")).code("usage")
            })?;
            entry["deliver_extra"][key] = json!(value);
        }
        Ok(entry)
    }
}

/// A secret that nobody guesses.
fn secret() -> Result<String, Report> {
    let mut bits = [0_u8; 32];
    getrandom::fill(&mut bits).map_err(|error| Report::new(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bits))
}

fn subscribe(
    asked: &Subscribe,
    session: &mut Session,
    options: &WebhookOptions,
) -> Result<ExitCode, Report> {
    let out = session.out;
    let settings = session.host.get()?.settings();
    if options.routes.contains_key(&asked.route) {
        return Err(Report::new(format!("`{}` is a route of the settings", asked.route))
            .code("taken")
            .hint("choose another name, or edit the settings"));
    }
    let secret = secret()?;
    let entry = asked.entry(&secret)?;
    options
        .subscribed(&asked.route, &entry)
        .map_err(|error| Report::new(error.to_string()).code("usage"))?;
    let name = asked.route.clone();
    let kept = subscriptions::change(settings, |routes| {
        !routes.contains_key(&name) && routes.insert(name, entry).is_none()
    });
    if !kept.map_err(|why| Report::new(why).code("files"))? {
        return Err(Report::new(format!("`{}` is subscribed already", asked.route)).code("taken"));
    }
    let url = format!("http://{}/webhooks/{}", options.address, asked.route);
    if out.is_json() {
        out.value(&json!({ "route": asked.route, "url": url, "secret": secret }));
        return Ok(ExitCode::SUCCESS);
    }
    out.line(format!("url:    {url}\nsecret: {secret}"));
    out.remark("the secret is shown once; deliveries are signed with it");
    Ok(ExitCode::SUCCESS)
}

fn remove(route: &str, session: &mut Session) -> Result<ExitCode, Report> {
    let settings = session.host.get()?.settings();
    let gone = subscriptions::change(settings, |routes| routes.remove(route).is_some());
    if !gone.map_err(|why| Report::new(why).code("files"))? {
        return Err(Report::new(format!("`{route}` was not subscribed"))
            .code("not_found")
            .hint("routes of the settings are removed there"));
    }
    session.out.line(format!("{route} is removed."));
    Ok(ExitCode::SUCCESS)
}

fn list(
    session: &mut Session,
    options: &WebhookOptions,
    enabled: bool,
) -> Result<ExitCode, Report> {
    let out = session.out;
    let subscribed = subscriptions::read(session.host.get()?.settings());
    let names: Vec<&str> = options.routes.keys().map(String::as_str).collect();
    let more: Vec<&str> =
        subscribed.keys().map(String::as_str).filter(|name| !names.contains(name)).collect();
    if out.is_json() {
        let address = options.address.to_string();
        out.value(&json!({
            "enabled": enabled, "address": address, "routes": names, "subscribed": more,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let word = if enabled { "on" } else { "off (WEBHOOK_ENABLED=true turns them on)" };
    out.line(format!("Webhooks are {word}: http://{}/webhooks/ROUTE", options.address));
    for name in names {
        out.line(format!("  {name}"));
    }
    for name in more {
        out.line(format!("  {name} (subscribed)"));
    }
    Ok(ExitCode::SUCCESS)
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let action: Action = parse(matches)?;
    let out = session.out;
    let settings = session.host.get()?.settings();
    let enabled = WebhookOptions::read(settings, true).is_ok_and(|options| options.is_some());
    let options = WebhookOptions::configured(settings, true)
        .map_err(|error| Report::new(error.to_string()).code("settings"))?;
    let subscribed = subscriptions::read(settings);
    match action {
        Action::List => list(session, &options, enabled),
        Action::Subscribe(asked) => subscribe(&asked, session, &options),
        Action::Remove { route } => remove(&route, session),
        Action::Test { route, payload, event } => {
            let added = subscribed.get(&route).filter(|_| !options.routes.contains_key(&route));
            let added = added.map(|entry| options.subscribed(&route, entry)).transpose();
            let added = added.map_err(|error| Report::new(error.to_string()).code("settings"))?;
            let found = options.routes.get(&route).or(added.as_ref()).ok_or_else(|| {
                Report::new(format!("no route is named `{route}`"))
                    .code("not_found")
                    .hint("`petasos webhook list` shows them")
            })?;
            let payload = read(payload.as_deref())?;
            let told = found.rehearse(&payload, event.as_deref());
            if out.is_json() {
                out.value(&json!({
                    "prompt": told.prompt, "missing": told.missing, "session": told.session,
                    "ignored": told.ignored, "toolsets": told.toolsets, "deliver": told.deliver,
                    "script": found.script(), "trouble": told.trouble,
                }));
                return Ok(ExitCode::SUCCESS);
            }
            if let Some(why) = &told.ignored {
                out.line(format!("{} {why}", out.paint(Style::Warn, "ignored:")));
            }
            if !told.missing.is_empty() {
                let missing = told.missing.join(", ");
                out.line(format!("{} {missing}", out.paint(Style::Warn, "not in the payload:")));
            }
            if let Some(trouble) = &told.trouble {
                out.line(format!("{} {trouble}", out.paint(Style::Warn, "not delivered:")));
            }
            if let Some(script) = found.script() {
                out.line(format!(
                    "{} {script} would see it first",
                    out.paint(Style::Faint, "script:")
                ));
            }
            let usual = || "those of webhooks".to_owned();
            let toolsets = told.toolsets.map_or_else(usual, |names| names.join(", "));
            out.line(format!(
                "session:  {}\ntoolsets: {toolsets}\ndeliver:  {}\n\n{}",
                told.session, told.deliver, told.prompt
            ));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn read(file: Option<&Path>) -> Result<Value, Report> {
    let text = match file {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| Report::new(format!("`{}`: {error}", file.display())))?,
        None => std::io::read_to_string(std::io::stdin())?,
    };
    serde_json::from_str(&text)
        .map_err(|error| Report::new(format!("the payload is no JSON: {error}")).code("usage"))
}
