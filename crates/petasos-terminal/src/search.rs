//! Where a program that was named without a path is found.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The program in a search path. Folders relative to wherever we are do not count: a workspace
/// must not choose what runs.
pub(crate) fn program(name: &str, path: &str) -> Option<PathBuf> {
    let executable = |place: &PathBuf| {
        place
            .metadata()
            .is_ok_and(|known| known.is_file() && known.permissions().mode() & 0o111 != 0)
    };
    let folders = path.split(':').map(Path::new).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(executable)
}
