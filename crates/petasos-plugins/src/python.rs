//! The host for plugins that are Python packages with `register(ctx)`. It is part of this program
//! and needs nothing but a `python3`.

use std::path::Path;

use petasos_contract::Settings;
use serde_json::Value;

use crate::discover::entry;

/// The host's own text.
const HOST: &str = include_str!("python/host.py");
/// A virtual environment that a plugin brings along.
const OWN: &str = ".venv/bin/python";

/// How the host of a plugin is started: with the interpreter that its entry names, the one of a
/// virtual environment in its folder, the one that all plugins share, or `python3`.
pub(crate) fn argv(settings: &Settings, key: &str, folder: &Path) -> Vec<String> {
    let named = entry(settings, key, "python").and_then(Value::as_str).map(str::to_owned);
    let own = folder.join(OWN);
    let own = (!folder.as_os_str().is_empty() && own.is_file()).then(|| own.display().to_string());
    let interpreter = named.or(own).map(|path| expanded(&path, settings));
    started(interpreter.unwrap_or_else(|| shared(settings)))
}

/// How the installed packages are asked for.
pub(crate) fn packages_argv(settings: &Settings) -> Vec<String> {
    let mut argv = started(shared(settings));
    argv.push("--packages".to_owned());
    argv
}

fn started(interpreter: String) -> Vec<String> {
    let rest = ["-X", "utf8", "-c", HOST].map(str::to_owned);
    std::iter::once(interpreter).chain(rest).collect()
}

/// The interpreter of plugins that name none.
fn shared(settings: &Settings) -> String {
    let named = settings.text("plugins.python").filter(|path| !path.is_empty());
    expanded(named.unwrap_or("python3"), settings)
}

fn expanded(path: &str, settings: &Settings) -> String {
    match path.strip_prefix("~/") {
        Some(rest) => settings.user_home().join(rest).display().to_string(),
        None => path.to_owned(),
    }
}
