//! `petasos plugins`: which there are, which of them run, what they bring and how they are.

mod change;
mod install;

use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_plugins::discover::{Decision, discover};
use petasos_plugins::plugin::{Log, State};
use serde_json::{Value, json};

use crate::command::{Command, Session, actions, parse};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "plugins",
    about: "List, install, enable and test plugins",
    examples: &[
        ("petasos plugins list", "the plugins, and whether they run"),
        ("petasos plugins install ./my-plugin", "copy one from a folder"),
        ("petasos plugins test my-plugin", "start it and show what it brings"),
    ],
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// List plugins and whether they run
    List,
    /// Copy a plugin from a folder, or clone it from a git address
    Install(install::Install),
    /// Let a plugin run
    Enable {
        /// Its name
        name: String,
    },
    /// Keep a plugin from running
    Disable {
        /// Its name
        name: String,
    },
    /// Start a plugin and show what it brings
    Test {
        /// Its name (default: all that run)
        name: Option<String>,
    },
    /// Show a plugin's log
    Logs {
        /// Its name
        name: String,
        /// How many lines
        #[arg(long, short = 'n', default_value_t = 50)]
        lines: usize,
    },
    /// Run a command that a plugin adds to the program
    #[command(disable_help_flag = true)]
    Run {
        /// The command
        #[arg(allow_hyphen_values = true)]
        command: String,
        /// Its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::List => list(session),
        Action::Install(install) => install.run(session),
        Action::Enable { name } => change::enable(session, &name),
        Action::Disable { name } => change::disable(session, &name),
        Action::Test { name } => test(session, name.as_deref()),
        Action::Logs { name, lines } => logs(session, &name, lines),
        Action::Run { command, .. } if matches!(command.as_str(), "-h" | "--help") => {
            session.out.line("Run a command that a plugin adds to the program\n");
            session.out.line("Usage: petasos plugins run <COMMAND> [ARGUMENTS]...\n");
            session.out.line("`petasos plugins test` shows which commands there are.");
            Ok(ExitCode::SUCCESS)
        }
        Action::Run { command, arguments } => run_command(session, &command, &arguments),
    }
}

fn list(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let discovered = discover(host.settings());
    let plugins = host.plugins();
    let troubles = plugins.map(|plugins| plugins.troubles()).unwrap_or_default();
    let trouble = |key: &str| plugins.and_then(|plugins| plugins.get(key))?.trouble();
    if out.is_json() {
        let errors: Vec<String> = discovered.errors.iter().map(ToString::to_string).collect();
        out.value(&json!({
            "plugins": discovered.found, "errors": errors, "missing": discovered.missing,
            "troubles": troubles,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    if discovered.found.is_empty() {
        out.line("no plugin is installed; `petasos plugins install FOLDER` adds one");
    }
    for found in &discovered.found {
        let trouble = trouble(&found.manifest.key);
        let (state, why) = match (&found.decision, &trouble) {
            (Decision::Runs(_), Some(trouble)) => ("broken", trouble),
            (Decision::Runs(why), None) => ("on", why),
            (Decision::Rests(why), _) => ("off", why),
        };
        let manifest = &found.manifest;
        let (key, version, about) = (&manifest.key, &manifest.version, &manifest.description);
        out.line(format!("{key:<20} {version:<8} {state:<6} {about}"));
        out.line(format!("{:<36} {why}", ""));
        manifest.warnings.iter().for_each(|warning| out.remark(format!("{key}: {warning}")));
    }
    discovered.errors.iter().for_each(|error| out.remark(error.to_string()));
    for name in &discovered.missing {
        out.remark(format!("`{name}` is enabled and no folder has it; perhaps a package does"));
    }
    Ok(ExitCode::SUCCESS)
}

fn test(session: &mut Session, name: Option<&str>) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let plugins = host.extensions().plugins();
    if let Some(plugins) = plugins {
        host.wait(plugins.settle())?;
    }
    let running = plugins.map(|plugins| plugins.running()).unwrap_or_default();
    let fits = |key: &str, own: &str| name.is_none_or(|name| name == key || name == own);
    let mut failed = 0;
    let mut rows = Vec::new();
    for plugin in running {
        let manifest = plugin.manifest();
        if !fits(&manifest.key, &manifest.name) {
            continue;
        }
        let (state, registered) = (plugin.state(), plugin.registered());
        failed += usize::from(state != State::Ready);
        rows.push(json!({ "plugin": manifest.key, "state": state, "registered": registered }));
    }
    if rows.is_empty() {
        let what =
            name.map_or("no plugin runs".to_owned(), |name| format!("`{name}` does not run"));
        return Err(Report::new(what).code("not_found").hint("`petasos plugins list` says why"));
    }
    if out.is_json() {
        out.value(&json!({ "plugins": rows }));
    } else {
        for row in &rows {
            show(out, row);
        }
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn show(out: crate::out::Out, row: &Value) {
    let state = row.pointer("/state/state").and_then(Value::as_str).unwrap_or_default();
    let reason = row.pointer("/state/reason").and_then(Value::as_str).unwrap_or_default();
    let key = row.get("plugin").and_then(Value::as_str).unwrap_or_default();
    out.line(format!("{key}: {state} {reason}"));
    let Some(registered) = row.get("registered").and_then(Value::as_object) else { return };
    for (kind, values) in registered {
        let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
        let name = |value: &Value| {
            let name = value.as_str().or_else(|| value.get("name")?.as_str());
            name.unwrap_or_default().to_owned()
        };
        if !values.is_empty() {
            let names: Vec<String> = values.iter().map(name).collect();
            out.line(format!("  {kind}: {}", names.join(", ")));
        }
    }
}

fn logs(session: &mut Session, name: &str, lines: usize) -> Result<ExitCode, Report> {
    let host = session.host.get()?;
    let log = Log::of(name, host.settings());
    let text = std::fs::read_to_string(log.path()).map_err(|error| {
        Report::new(format!("`{}`: {error}", log.path().display())).code("not_found")
    })?;
    let all: Vec<&str> = text.lines().collect();
    let from = all.len().saturating_sub(lines);
    all.iter().skip(from).for_each(|line| session.out.line(line));
    Ok(ExitCode::SUCCESS)
}

fn run_command(
    session: &mut Session,
    command: &str,
    arguments: &[String],
) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let unknown = || {
        Report::new(format!("no plugin has a command `{command}`"))
            .code("not_found")
            .hint("`petasos plugins test` shows what plugins bring")
    };
    let plugins = host.extensions().plugins().ok_or_else(unknown)?;
    let cx = host.call_context(Surface::Cli, SessionId::new("plugins-run"));
    let ran = host.wait(plugins.run_cli(command, arguments, &cx))?;
    let (output, code) = ran.ok_or_else(unknown)?.map_err(|why| Report::new(why).code("plugin"))?;
    out.text(&output);
    Ok(ExitCode::from(code))
}
