//! `config.yaml` and `.env`: key by key where there are some here already, whole where not.
//!
//! A key that would refuse the start here (an unknown one in a section that guards something) is
//! left out and named.

use std::fs;
use std::path::Path;

use petasos_config::{ConfigError, Inputs, dotenv, edit};
use petasos_contract::settings::Source;

use super::Move;
use super::item::Item;

/// Files hold keys and addresses.
const MODE: u32 = 0o600;

/// Takes the settings and the keys.
pub(super) fn take(moved: &Move<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    match config(moved, &mut items) {
        Ok(()) => {}
        Err(error) => items.push(Item::failed("config.yaml", error)),
    }
    match variables(moved, &mut items) {
        Ok(()) => {}
        Err(error) => items.push(Item::failed(".env", error)),
    }
    items
}

/// The inputs with which a home is read that is not ours.
fn inputs(home: &Path, moved: &Move<'_>) -> Inputs {
    let environment = [("PETASOS_HOME".to_owned(), home.display().to_string())];
    Inputs {
        environment: environment.into(),
        cwd: home.to_owned(),
        user_home: moved.inputs.user_home.clone(),
        ..Inputs::default()
    }
}

fn config(moved: &Move<'_>, items: &mut Vec<Item>) -> Result<(), ConfigError> {
    let (theirs, ours) = (moved.from.join("config.yaml"), moved.home.join("config.yaml"));
    if !theirs.is_file() {
        items.push(Item::left_out("config.yaml", "there is none"));
        return Ok(());
    }
    if ours.exists() { merge(moved, &ours, items) } else { copy(moved, &theirs, &ours, items) }
}

/// The whole file with its comments, without what would refuse the start here.
fn copy(
    moved: &Move<'_>,
    theirs: &Path,
    ours: &Path,
    items: &mut Vec<Item>,
) -> Result<(), ConfigError> {
    let io = |problem| ConfigError::Io { action: "read", file: theirs.to_owned(), problem };
    // Tried in a folder of its own first: what is put in place can be started with.
    let trial = tempfile::tempdir().map_err(io)?;
    let draft = trial.path().join("config.yaml");
    petasos_fs::write(&draft, &fs::read(theirs).map_err(io)?, petasos_fs::Mode::Exactly(MODE))?;
    let problems = petasos_config::read(&inputs(trial.path(), moved))?.problems;
    for problem in &problems {
        edit::unset(&draft, &problem.key)?;
        items.push(Item::left_out(format!("config.yaml: {}", problem.key), &problem.what));
    }
    let reading = petasos_config::read(&inputs(trial.path(), moved))?;
    if let Some(problem) = reading.problems.first() {
        items.push(Item::failed("config.yaml", problem));
        return Ok(());
    }
    for notice in reading.settings.notices() {
        items.push(Item::kept(format!("config.yaml: {}", notice.key), &notice.what));
    }
    let count = reading.settings.sources().len();
    items.push(Item::taken("config.yaml", format!("{count} settings")));
    if moved.go {
        let bytes = fs::read(&draft).map_err(io)?;
        petasos_fs::write(ours, &bytes, petasos_fs::Mode::Exactly(MODE))?;
    }
    Ok(())
}

/// Keys that are not set here.
fn merge(moved: &Move<'_>, ours: &Path, items: &mut Vec<Item>) -> Result<(), ConfigError> {
    let theirs = petasos_config::read(&inputs(moved.from, moved))?;
    let own = petasos_config::read(&inputs(moved.home, moved))?.settings;
    let is_set = |key: &str| {
        let set = |layer: &petasos_contract::settings::Layered| {
            matches!(layer.source, Source::User { .. })
        };
        own.explain(key).iter().any(set)
    };
    for (key, layers) in theirs.settings.sources() {
        let in_file = layers.first().filter(|first| matches!(first.source, Source::User { .. }));
        let (Some(_), Some(value)) = (in_file, theirs.settings.get(key)) else { continue };
        let what = format!("config.yaml: {key}");
        if is_set(key) {
            if own.get(key) != Some(value) {
                items.push(Item::kept(what, "it is set here to something else"));
            }
            continue;
        }
        if moved.go
            && let Err(error) = edit::set(ours, key, value)
        {
            items.push(Item::failed(what, error));
            continue;
        }
        items.push(Item::taken(what, ""));
    }
    for problem in theirs.problems {
        items.push(Item::left_out(format!("config.yaml: {}", problem.key), problem.what));
    }
    Ok(())
}

/// Lines of `.env` whose names are not here yet. Values are not shown.
fn variables(moved: &Move<'_>, items: &mut Vec<Item>) -> Result<(), ConfigError> {
    let (theirs, ours) = (moved.from.join(".env"), moved.home.join(".env"));
    let process = |name: &str| moved.inputs.environment.get(name).map(String::as_str);
    let found = dotenv::read(&theirs, process)?;
    let own = dotenv::read(&ours, process)?;
    for (name, value) in &found.pairs {
        let what = format!(".env: {name}");
        if matches!(name.as_str(), "HERMES_HOME" | "PETASOS_HOME") {
            items.push(Item::left_out(what, "it names the other home"));
            continue;
        }
        match own.pairs.iter().rev().find(|(own, _)| own == name) {
            Some((_, known)) if known == value => {}
            Some(_) => items.push(Item::kept(what, "it is set here to something else")),
            None => {
                if moved.go {
                    dotenv::set(&ours, name, value)?;
                }
                items.push(Item::taken(what, ""));
            }
        }
    }
    for notice in found.notices {
        items.push(Item::left_out(".env", notice.what));
    }
    Ok(())
}
