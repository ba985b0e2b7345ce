//! `petasos config`: where the configuration is, what holds and why, and changing one value.

use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_config::explain::{self, Checkup, Explanation};
use petasos_config::{ConfigError, edit, home, keys};
use petasos_contract::Settings;
use petasos_terminal::TerminalSettings;
use serde::Serialize;
use serde_json::{Value, json};

use crate::command::{Command, Session, actions, parse};
use crate::out::{Out, Style};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "config",
    about: "Show and change the configuration",
    examples: &[
        ("petasos config set terminal.timeout 90", "change one value"),
        ("petasos config unset terminal.timeout", "back to what holds without it"),
        ("petasos config explain", "list every key"),
        ("petasos config explain terminal.timeout", "where a value comes from"),
        ("petasos config check", "find mistakes"),
    ],
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// Print where the configuration is read from
    Path,
    /// Print the value in force for a key
    Get {
        /// A dotted key such as `terminal.timeout`, or a section
        key: String,
    },
    /// Set one key in config.yaml; comments and layout stay
    Set {
        /// A dotted key such as `terminal.timeout`
        key: String,
        /// The value, as it would stand in the file
        value: String,
    },
    /// Remove one key from config.yaml; comments and layout stay
    Unset {
        /// A dotted key such as `terminal.timeout`, or a section
        key: String,
    },
    /// Show where a value comes from, and what it overrides; without a key, list them all
    Explain {
        /// A dotted key, or the name of a variable
        key: Option<String>,
    },
    /// List everything that is wrong with the configuration
    Check,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    match parse(matches)? {
        Action::Path => path(session),
        Action::Get { key } => get(session, &key),
        Action::Set { key, value } => set(session, &key, &value),
        Action::Unset { key } => unset(session, &key),
        Action::Explain { key: None } => Ok(list(out)),
        Action::Explain { key: Some(key) } => explained(session, &key),
        Action::Check => {
            let checkup = explain::check(session.host.inputs());
            if out.is_json() {
                out.value(&checkup);
            } else {
                print_checkup(out, &checkup);
            }
            Ok(if checkup.usable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// Every key and what it does; the configuration need not be readable for it.
fn list(out: Out) -> ExitCode {
    // Names that the user chooses, as the reference writes them.
    let named = |key: &keys::Key| key.path.replace('*', "<name>").replace("@task", "<task>");
    if out.is_json() {
        let rows = keys::all().map(|key| {
            let (default, reserved) = (key.default_value(), key.no_effect());
            json!({ "key": named(key), "doc": key.doc, "default": default, "reserved": reserved })
        });
        out.value(&json!({ "keys": rows.collect::<Vec<_>>() }));
    } else {
        for key in keys::all() {
            let note = key.no_effect().map(|note| out.paint(Style::Warn, &format!(" ({note})")));
            let note = note.unwrap_or_default();
            out.line(format!("{}  {}{note}", out.paint(Style::Bold, &named(key)), key.doc));
        }
    }
    ExitCode::SUCCESS
}

fn explained(session: &mut Session, key: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let settings = session.host.get()?.settings();
    let mut explanation = explain::explain(settings, key);
    if !explanation.known {
        let near = explanation.nearest.take();
        let like = || ending_like(key, key.len() / 4).map(str::to_owned);
        explanation.nearest = ending_like(key, 0).map(str::to_owned).or(near).or_else(like);
    }
    let unattended = unattended(settings, key)?;
    if out.is_json() {
        out.value(&Explained { explanation: &explanation, unattended });
    } else {
        print_explanation(out, &explanation);
        if let Some(level) = unattended {
            out.line(format!("  → \"{level}\"  where nobody can be asked"));
        }
    }
    Ok(if explanation.known { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The key whose last name is this word, but for so many letters: people remember `timeout` and
/// not its section.
fn ending_like(word: &str, letters: usize) -> Option<&'static str> {
    let plain = keys::all().filter(|row| !row.is_pattern());
    let ends = plain.filter_map(|row| Some((row.path.rsplit('.').next()?, row.path)));
    let near = ends.map(|(last, path)| (strsim::osa_distance(word, last), path));
    let near = near.filter(|(distance, _)| *distance <= letters);
    near.min_by_key(|(distance, _)| *distance).map(|(_, path)| path)
}

/// An explanation, and what holds in a run without a person where that is something else.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    explanation: &'a Explanation,
    #[serde(skip_serializing_if = "Option::is_none")]
    unattended: Option<&'static str>,
}

/// The sandbox of a run without a person, from the code that chooses it.
fn unattended(settings: &Settings, key: &str) -> Result<Option<&'static str>, Report> {
    if key != "terminal.sandbox" {
        return Ok(None);
    }
    let terminal = TerminalSettings::of(settings)
        .map_err(|error| Report::new(error.to_string()).code("terminal"))?;
    let level = terminal.sandbox_for(settings, false);
    Ok((level != terminal.sandbox_for(settings, true)).then(|| level.as_str()))
}

fn path(session: &Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let places = explain::paths(session.host.inputs())?;
    if out.is_json() {
        out.value(&json!({ "paths": places }));
        return Ok(ExitCode::SUCCESS);
    }
    for place in places {
        let missing = if place.exists { "" } else { "  (not there)" };
        let missing = out.paint(Style::Faint, missing);
        out.line(format!("{:18} {}{missing}", place.name, place.path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn get(session: &mut Session, key: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let settings = session.host.get()?.settings();
    let Some(answer) = explain::get(settings, key) else {
        let known = explain::explain(settings, key).known;
        let report = Report::new(format!("`{key}` has no value")).code("no_value");
        return Err(if known {
            report.hint(format!("`petasos config set {key} VALUE` gives it one"))
        } else {
            report.hint(format!("`petasos config explain {key}` shows the nearest known key"))
        });
    };
    if out.is_json() {
        out.value(&answer);
    } else {
        match &answer.value {
            Value::String(text) => out.line(text),
            other => out.value(other),
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn set(session: &Session, key: &str, value: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let places = home::places(session.host.inputs())?;
    if let Some(report) = credential(key, &places.home) {
        return Err(report);
    }
    let file = places.config;
    let changed = edit::set_text(&file, key, value).map_err(unsaved)?;
    let path: Vec<String> = key.split('.').map(str::to_owned).collect();
    let reserved = keys::find(&path).and_then(keys::Key::no_effect);
    if out.is_json() {
        let said = json!({ "key": key, "file": file, "changed": changed, "reserved": reserved });
        out.value(&said);
        return Ok(ExitCode::SUCCESS);
    }
    let how = if changed { "is set" } else { "had this value already" };
    out.line(format!("{key} {how} in {}", file.display()));
    if let Some(note) = reserved {
        out.line(out.paint(Style::Warn, &note));
    }
    Ok(ExitCode::SUCCESS)
}

/// Words for what a platform takes from variables alone.
const CREDENTIALS: &[&str] = &["token", "secret", "password", "api_key", "key"];

/// A key or password of a chat platform: nothing reads it in the configuration.
fn credential(key: &str, home: &std::path::Path) -> Option<Report> {
    let names = key.strip_prefix("platforms.").unwrap_or(key);
    let (platform, rest) = names.split_once('.')?;
    let def = petasos_gateway::PLATFORMS.iter().find(|def| def.name == platform)?;
    let last = rest.rsplit('.').next().unwrap_or(rest).to_lowercase();
    let meant = CREDENTIALS.iter().any(|word| last == *word || last.ends_with(&format!("_{word}")));
    if !meant || def.variables.is_empty() {
        return None;
    }
    let variables = def.variables.join(", ");
    let file = home.join(".env");
    Some(
        Report::new(format!("`{key}` is read by nothing: {platform} takes it from a variable"))
            .code("config")
            .hint(format!("write {variables} into {} as NAME=value", file.display())),
    )
}

/// A change that was refused leaves a file behind in which nothing of it can be found.
fn unsaved(error: ConfigError) -> Report {
    match error {
        ConfigError::Key { .. } => Report::new(error.to_string()).code("config"),
        error => error.into(),
    }
}

fn unset(session: &mut Session, key: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let file = home::places(session.host.inputs())?.config;
    let changed = edit::unset(&file, key).map_err(unsaved)?;
    let place = file.display();
    // A file with other mistakes is mended key by key; until then nothing holds.
    let host = session.host.get();
    let refused = host.as_ref().err().map(ToString::to_string);
    let holds = host.ok().and_then(|host| explain::get(host.settings(), key));
    if out.is_json() {
        out.value(&json!({ "key": key, "file": file, "changed": changed, "holds": holds }));
        return Ok(ExitCode::SUCCESS);
    }
    out.line(if changed {
        format!("{key} is removed from {place}")
    } else {
        format!("{key} was not set in {place}")
    });
    match (holds, refused) {
        (Some(answer), _) => {
            let source = answer.source.map(|source| format!("  from {source}"));
            out.line(format!("now holds: {}{}", answer.value, source.unwrap_or_default()));
        }
        (None, Some(refused)) => out.remark(refused),
        (None, None) => out.line("now it has no value"),
    }
    Ok(ExitCode::SUCCESS)
}

fn print_explanation(out: Out, explanation: &Explanation) {
    out.line(out.paint(Style::Bold, &explanation.key));
    if let Some(about) = explanation.doc {
        out.line(format!("  {about}"));
    }
    if let Some(expects) = &explanation.expects {
        out.line(out.paint(Style::Faint, &format!("  expects {expects}")));
    }
    if let Some(reserved) = &explanation.reserved {
        out.line(format!("  {} {reserved}", out.paint(Style::Warn, "•")));
    }
    for candidate in &explanation.candidates {
        let source = &candidate.source;
        match &candidate.passed_over {
            None => {
                let mark = out.paint(Style::Good, "→");
                out.line(format!("  {mark} {}  from {source}", candidate.value));
            }
            Some(why) => {
                let line = format!("    {}  from {source}: {why}", candidate.value);
                out.line(out.paint(Style::Faint, &line));
            }
        }
    }
    if explanation.candidates.is_empty() {
        out.line("  no value");
    }
    for variable in &explanation.variables {
        out.line(out.paint(Style::Faint, &format!("  variable {variable}")));
    }
    match &explanation.nearest {
        Some(nearest) => {
            out.line(format!("  nothing reads this key; did you mean `{nearest}`?"));
        }
        None if !explanation.known => {
            out.line("  nothing reads this key; `petasos config explain` lists the known ones");
        }
        None => {}
    }
}

fn print_checkup(out: Out, checkup: &Checkup) {
    if let Some(error) = &checkup.error {
        out.line(format!("{} {error}", out.paint(Style::Bad, "✗")));
    }
    for problem in &checkup.problems {
        out.line(format!("{} {problem}", out.paint(Style::Bad, "✗")));
    }
    for notice in &checkup.notices {
        let mark = out.paint(Style::Warn, "•");
        out.line(format!("{mark} `{}`: {}; {}", notice.key, notice.what, notice.hint));
    }
    if checkup.usable {
        out.line(format!("{} the configuration can be used", out.paint(Style::Good, "✓")));
    }
}
