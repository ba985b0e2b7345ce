//! Letting a plugin run, and keeping it from running.

use std::process::ExitCode;

use petasos_config::{edit, home};
use petasos_plugins::discover::discover;

use crate::command::Session;
use crate::report::Report;

/// Names it under `plugins.enabled`; says what it will see.
pub(super) fn enable(session: &mut Session, name: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let file = home::places(session.host.inputs())?.config;
    let discovered = discover(session.host.get()?.settings());
    let known = discovered
        .found
        .iter()
        .find(|found| found.manifest.key == name || found.manifest.name == name);
    let key = known.map_or(name, |found| found.manifest.key.as_str());
    edit::append_to_list(&file, "plugins.enabled", key)?;
    edit::remove_from_list(&file, "plugins.disabled", key)?;
    out.line(format!("{key} runs from the next start on"));
    match known {
        Some(found) if !found.manifest.requires_env.is_empty() => {
            let names = found.manifest.requires_env.join(", ");
            out.remark(format!("it will see these variables: {names}"));
        }
        Some(_) => {}
        None => out.remark(format!("no folder has `{key}` yet; an installed package may")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes it out of `plugins.enabled`.
pub(super) fn disable(session: &mut Session, name: &str) -> Result<ExitCode, Report> {
    let file = home::places(session.host.inputs())?.config;
    edit::remove_from_list(&file, "plugins.enabled", name)?;
    edit::append_to_list(&file, "plugins.disabled", name)?;
    session.out.line(format!("{name} does not run any more"));
    Ok(ExitCode::SUCCESS)
}
