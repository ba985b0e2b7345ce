//! Files of the home that nobody else should read.

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use super::Finding;
use crate::report::Report;

/// What may hold keys or what was said.
const PRIVATE: [&str; 6] =
    [".env", "auth.json", "config.yaml", "petasos.db", "petasos.db-wal", "chat_history"];
const OTHERS: u32 = 0o077;

/// Makes the home, for its owner alone; whether it had to be made.
pub(super) fn make_home(home: &Path) -> Result<bool, Report> {
    if home.exists() {
        return Ok(false);
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home)?;
    Ok(true)
}

/// Names the files that others can read, or makes them private.
pub(super) fn look(home: &Path, fix: bool) -> Result<Vec<Finding>, Report> {
    let mut findings = Vec::new();
    for name in PRIVATE {
        let file = home.join(name);
        // A link leads to a file whose owner decides.
        let Ok(found) = std::fs::symlink_metadata(&file) else { continue };
        let mode = found.permissions().mode();
        if !found.is_file() || mode & OTHERS == 0 {
            continue;
        }
        if fix {
            let private = std::fs::Permissions::from_mode(mode & !OTHERS & 0o7777);
            std::fs::set_permissions(&file, private)?;
            findings.push(Finding::good("files", format!("{name} is private now")));
        } else {
            let what = format!("{name} can be read by others (mode {:04o})", mode & 0o7777);
            findings.push(Finding::note("files", what, "`petasos doctor --fix` makes it private"));
        }
    }
    Ok(findings)
}
