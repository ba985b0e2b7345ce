//! Which interpreter runs the trainer: the checkout's own, the configured one, or the newest found.

use std::path::{Path, PathBuf};

use petasos_contract::Settings;

const OLDEST: u32 = 11;
const NEWEST: u32 = 19;

/// An interpreter of Python 3.11 or newer, found by its name alone.
pub(super) fn find(settings: &Settings, checkout: &Path) -> Option<PathBuf> {
    let own = [".venv", "venv"].map(|folder| checkout.join(folder).join("bin/python3"));
    if let Some(own) = own.into_iter().find(|path| is_new_enough(path)) {
        return Some(own);
    }
    let search = settings.variable("PATH").map(|path| path.value.expose().to_owned());
    let search = search.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".to_owned());
    let folders = || search.split(':').filter(|folder| !folder.is_empty()).map(Path::new);
    let versions = (OLDEST..=NEWEST).rev().map(|minor| format!("python3.{minor}"));
    let names: Vec<String> = std::iter::once("python3".to_owned()).chain(versions).collect();
    let mut places = names.iter().flat_map(|name| folders().map(move |it| it.join(name)));
    places.find(|path| is_new_enough(path))
}

/// Whether the program behind the links says in its name that it is new enough.
fn is_new_enough(path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    let name = real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let minor = name.strip_prefix("python3.").and_then(|rest| rest.parse::<u32>().ok());
    real.is_file() && minor.is_some_and(|minor| minor >= OLDEST)
}
