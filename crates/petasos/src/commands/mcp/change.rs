//! `mcp add`, `mcp import` and `mcp remove`: entries of the configuration, vetted before they are
//! saved.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use petasos_config::{edit, home};
use petasos_mcp::client::{ServerSpec, oauth, vet};
use petasos_mcp::import;
use serde_json::{Map, Value, json};

use super::{spec, test};
use crate::command::Session;
use crate::guests;
use crate::report::Report;

/// How long a new server is tried: one that has to be fetched first joins later.
const TRIED_FOR: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(super) struct Add {
    /// What to call the server: letters, digits, `-` and `_`
    name: String,
    /// Address of a remote server
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// A variable of a local server, as NAME=VALUE; `${NAME}` in the value is filled in later
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A header for a remote server, as NAME=VALUE
    #[arg(long, value_name = "NAME=VALUE")]
    header: Vec<String>,
    /// Use the older SSE transport
    #[arg(long, requires = "url")]
    sse: bool,
    /// The server wants an OAuth sign-in
    #[arg(long, requires = "url")]
    oauth: bool,
    /// Do not try the server after saving it
    #[arg(long)]
    no_test: bool,
    /// The program of a local server and its arguments, after `--`
    #[arg(last = true)]
    command: Vec<String>,
}

impl Add {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let entry = self.entry()?;
        save(session, &self.name, &entry)?;
        session.out.line(format!("MCP server `{}` is saved", self.name));
        if self.no_test {
            return Ok(ExitCode::SUCCESS);
        }
        let settings = petasos_config::load(session.host.inputs())?;
        let host = crate::host::Host::with_settings(std::sync::Arc::new(settings));
        let views = test::look(&host, Some(&self.name), TRIED_FOR, Some(session.out))?;
        for view in &views {
            test::show(session.out, view);
        }
        if views.iter().any(|view| !view.state.offers()) {
            let name = &self.name;
            session.out.remark(format!(
                "It stays in the configuration: `petasos mcp test {name}` tries it again, `petasos \
                 mcp remove {name}` takes it out."
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn entry(&self) -> Result<Map<String, Value>, Report> {
        let mut entry = Map::new();
        match (&self.url, self.command.split_first()) {
            (Some(url), _) => {
                entry.insert("url".to_owned(), json!(url));
            }
            (None, Some((program, args))) => {
                entry.insert("command".to_owned(), json!(program));
                entry.insert("args".to_owned(), json!(args));
            }
            (None, None) => {
                return Err(Report::usage("neither `--url` nor a program is given").hint(
                    "petasos mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
                ));
            }
        }
        if self.sse {
            entry.insert("transport".to_owned(), json!("sse"));
        }
        if self.oauth {
            entry.insert("auth".to_owned(), json!("oauth"));
        }
        for (key, given) in [("env", &self.env), ("headers", &self.header)] {
            if !given.is_empty() {
                entry.insert(key.to_owned(), Value::Object(pairs(given)?));
            }
        }
        Ok(entry)
    }
}

fn pairs(given: &[String]) -> Result<Map<String, Value>, Report> {
    let split = |pair: &String| {
        let parts = pair.split_once('=').map(|(name, value)| (name.to_owned(), json!(value)));
        parts.ok_or_else(|| Report::usage(format!("`{pair}` is not NAME=VALUE")))
    };
    given.iter().map(split).collect()
}

/// Vets an entry and writes it; nothing is written when it is refused.
fn save(session: &mut Session, name: &str, entry: &Map<String, Value>) -> Result<(), Report> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || !name.chars().all(fits) {
        return Err(Report::usage(format!("`{name}` is no name for a server"))
            .hint("letters, digits, `-` and `_`"));
    }
    let settings = session.host.get()?.settings();
    let read = ServerSpec::read(name, &Value::Object(entry.clone()), settings);
    let read = read.map_err(|error| Report::new(error.to_string()).code("config"))?;
    vet(&read.launch).map_err(|why| {
        Report::new(format!("MCP server `{name}` is refused: {why}")).code("mcp_refused")
    })?;
    let file = home::places(session.host.inputs())?.config;
    edit::set(&file, &format!("mcp_servers.{name}"), &Value::Object(entry.clone()))?;
    Ok(())
}

/// Clients whose files are known.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
}

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The client whose usual file is read
    #[arg(value_enum, required_unless_present = "file")]
    client: Option<Client>,
    /// Read this file instead
    #[arg(long)]
    file: Option<PathBuf>,
    /// Only show what would be imported
    #[arg(long)]
    dry_run: bool,
}

impl Import {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let file = self.path(session)?;
        let text = std::fs::read_to_string(&file)
            .map_err(|error| Report::new(format!("{}: {error}", file.display())).code("io"))?;
        let taken = import::read(&text);
        let taken = taken.map_err(|error| {
            Report::new(format!("{}: {error}", file.display())).code("mcp_import")
        })?;
        let mut rows = Vec::new();
        for server in taken {
            let known = session.host.get()?.settings().get("mcp_servers");
            let known = known.is_some_and(|servers| servers.get(&server.name).is_some());
            let fate = if known {
                "skipped: a server of that name exists".to_owned()
            } else if self.dry_run {
                "would be imported".to_owned()
            } else {
                match save(session, &server.name, &server.entry) {
                    Ok(()) => "imported".to_owned(),
                    Err(report) => format!("skipped: {report}"),
                }
            };
            if !out.is_json() {
                out.line(format!("{}: {fate}", server.name));
                server.notes.iter().for_each(|note| out.line(format!("  {note}")));
            }
            rows.push(json!({ "name": server.name, "outcome": fate, "notes": server.notes }));
        }
        if out.is_json() {
            out.value(&rows);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn path(&self, session: &mut Session) -> Result<PathBuf, Report> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        let settings = session.host.get()?.settings();
        let (home, here) = (settings.user_home(), settings.workspace());
        let places = match self.client {
            Some(Client::ClaudeDesktop) => vec![
                home.join(".config/Claude/claude_desktop_config.json"),
                home.join("Library/Application Support/Claude/claude_desktop_config.json"),
            ],
            Some(Client::ClaudeCode) => vec![here.join(".mcp.json"), home.join(".claude.json")],
            Some(Client::Cursor) => {
                vec![here.join(".cursor/mcp.json"), home.join(".cursor/mcp.json")]
            }
            Some(Client::Vscode) | None => vec![
                here.join(".vscode/mcp.json"),
                home.join(".config/Code/User/mcp.json"),
                home.join("Library/Application Support/Code/User/mcp.json"),
            ],
        };
        let looked: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        places.into_iter().find(|place| place.is_file()).ok_or_else(|| {
            Report::new(format!("there is none of {}", looked.join(", ")))
                .code("not_found")
                .hint("`--file` names another place")
        })
    }
}

#[derive(Debug, Args)]
pub(super) struct Remove {
    /// The server
    name: String,
}

impl Remove {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let file = home::places(session.host.inputs())?.config;
        let host = session.host.get()?;
        let spec = spec(host, &self.name);
        if let Ok(spec) = &spec {
            oauth::kept(spec, &guests::around(host, None)).forget()?;
        }
        if !edit::unset(&file, &format!("mcp_servers.{}", self.name))? {
            spec?;
        }
        out.line(format!("MCP server `{}` is removed", self.name));
        Ok(ExitCode::SUCCESS)
    }
}
