//! Where a path really leads: links and `..` followed on this machine, folded as text elsewhere.
//!
//! Looks at links only; no file is opened and nothing needs to exist.

use std::path::{Path, PathBuf};

/// An absolute path without `.` and `..`, as text alone can tell.
pub(crate) fn folded(path: &Path, cwd: &Path, home: &Path) -> PathBuf {
    petasos_contract::path::folded(&absolute(path, cwd, home))
}

/// The path with every link on the way followed, whether or not its end exists.
pub(crate) fn real(path: &Path, cwd: &Path, home: &Path) -> PathBuf {
    petasos_fs::real(&absolute(path, cwd, home))
}

/// The same for something that is removed: a link at the end goes, not what it points to.
pub(crate) fn real_parent(path: &Path, cwd: &Path, home: &Path) -> PathBuf {
    petasos_fs::real_parent(&absolute(path, cwd, home))
}

fn absolute(path: &Path, cwd: &Path, home: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => cwd.join(path),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_even_to_what_does_not_exist() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        symlink(top.join("a/b"), top.join("door")).unwrap();
        symlink("a/b/not-yet", top.join("dangling")).unwrap();
        symlink("loop", top.join("loop")).unwrap();
        let real = |path: &str| real(Path::new(path), &top, Path::new("/home/ada"));
        assert_eq!(real("door/x"), top.join("a/b/x"));
        // Text would say `x`; the file system says otherwise.
        assert_eq!(real("door/../x"), top.join("a/x"));
        assert_eq!(real("dangling"), top.join("a/b/not-yet"));
        assert_eq!(real("loop"), top.join("loop"));
        assert_eq!(real("~/k"), Path::new("/home/ada/k"));
        assert_eq!(real_parent(Path::new("door"), &top, Path::new("/")), top.join("door"));
        assert_eq!(folded(Path::new("door/../x"), &top, Path::new("/")), top.join("x"));
    }
}
