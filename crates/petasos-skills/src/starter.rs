//! Skills of our own, which come with the program. Their scripts need a folder to run in: they are
//! unpacked beside the skills of the home, below a name that says what they hold, so that programs of
//! several versions share a home.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use petasos_contract::Settings;
use petasos_fs::Mode;
use serde_json::Value;

use crate::digest::sha256;

include!(concat!(env!("OUT_DIR"), "/starter.rs"));

/// The names of the skills that come with the program.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> =
        FILES.iter().filter_map(|(path, _)| path.split('/').next()).collect();
    names.dedup();
    names
}

/// The files of one of them.
pub(crate) fn package(name: &str) -> Option<BTreeMap<String, Vec<u8>>> {
    let prefix = format!("{name}/");
    let file = |(path, text): &(&str, &str)| {
        Some((path.strip_prefix(&prefix)?.to_owned(), text.as_bytes().to_vec()))
    };
    let files: BTreeMap<_, _> = FILES.iter().filter_map(file).collect();
    (!files.is_empty()).then_some(files)
}

/// The folder that holds them; none where they are not wanted or nothing can be written.
pub(crate) fn unpacked(settings: &Settings) -> Option<PathBuf> {
    if settings.get("skills.starter") == Some(&Value::Bool(false))
        || settings.home().as_os_str().is_empty()
    {
        return None;
    }
    let folder = settings.home().join("skills/.starter").join(mark());
    if is_whole(&folder) {
        return Some(folder);
    }
    match unpack(&folder) {
        Ok(()) => Some(folder),
        Err(error) => {
            tracing::warn!(%error, "the skills that come with the program are not offered");
            None
        }
    }
}

/// What they hold, as a name. It is asked for with every turn and never changes.
fn mark() -> &'static str {
    static MARK: LazyLock<String> = LazyLock::new(|| {
        let parts = FILES.iter().flat_map(|(path, text)| [*path, "\0", *text, "\0"]);
        sha256(parts.collect::<String>().as_bytes()).chars().take(16).collect()
    });
    &MARK
}

/// Whether every file is there as it was put there: whoever changes one gets ours back.
fn is_whole(folder: &Path) -> bool {
    FILES
        .iter()
        .all(|(path, text)| fs::read(folder.join(path)).is_ok_and(|found| found == text.as_bytes()))
}

fn unpack(folder: &Path) -> io::Result<()> {
    let above = folder.parent().unwrap_or(folder);
    fs::create_dir_all(above)?;
    let draft = tempfile::Builder::new().prefix(".new-").tempdir_in(above)?;
    for (path, text) in FILES {
        let to = draft.path().join(path);
        fs::create_dir_all(to.parent().unwrap_or(above))?;
        petasos_fs::write(&to, text.as_bytes(), Mode::Exactly(0o644)).map_err(io::Error::other)?;
    }
    let draft = draft.keep();
    if fs::rename(&draft, folder).is_ok() {
        return Ok(());
    }
    // Another process was there first, or a file was changed since: whole ones are put back.
    let put = restore(folder);
    fs::remove_dir_all(&draft)?;
    put
}

fn restore(folder: &Path) -> io::Result<()> {
    for (path, text) in FILES {
        let to = folder.join(path);
        if !fs::read(&to).is_ok_and(|found| found == text.as_bytes()) {
            fs::create_dir_all(to.parent().unwrap_or(folder))?;
            petasos_fs::write(&to, text.as_bytes(), Mode::Exactly(0o644))
                .map_err(io::Error::other)?;
        }
    }
    Ok(())
}
