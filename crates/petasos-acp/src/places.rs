//! Where files really are: the folders of a session, by the client's names for them and behind links.

use std::path::{Path, PathBuf};

use petasos_contract::path::resolve;
use petasos_fs::real;

/// The folders that a client has opened for a session.
#[derive(Debug)]
pub(crate) struct Roots(Vec<Root>);

#[derive(Debug)]
struct Root {
    /// As the client calls it.
    named: PathBuf,
    real: PathBuf,
}

impl Roots {
    pub(crate) fn new(named: Vec<PathBuf>) -> Self {
        let root = |named: PathBuf| Root { real: real(&named), named };
        Self(named.into_iter().map(root).collect())
    }

    /// The folder that relative paths start at.
    pub(crate) fn first(&self) -> Option<&Path> {
        self.0.first().map(|root| root.named.as_path())
    }

    /// Whether a file is in one of them, once every link is followed.
    pub(crate) fn hold(&self, path: &Path) -> bool {
        let path = real(path);
        self.0.iter().any(|root| path.starts_with(&root.real))
    }

    /// The client's name of a file: it knows its texts by where its person opened the folder.
    pub(crate) fn named(&self, path: &Path) -> PathBuf {
        let path = real(path);
        let below = |root: &Root| path.strip_prefix(&root.real).ok().map(|it| root.named.join(it));
        self.0.iter().find_map(below).unwrap_or(path)
    }
}

/// The absolute path that a tool's caller means. Whose home `~name` is, only the tool knows: it is
/// nowhere that is known here.
pub(crate) fn meant(path: &str, base: &Path, home: &Path) -> PathBuf {
    resolve(path, base, |name| match name {
        "" => Some(home.to_owned()),
        other => Some(PathBuf::from(format!("/~{other}"))),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use petasos_fs::is_protected;

    use super::*;

    #[test]
    fn files_are_where_their_links_lead() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("real/sub")).unwrap();
        symlink("real", top.join("opened")).unwrap();
        symlink(".env", top.join("real/notes.txt")).unwrap();
        symlink("loop", top.join("real/loop")).unwrap();
        // What does not exist yet is where it would be made.
        assert_eq!(real(&top.join("opened/notes.txt")), top.join("real/.env"));
        assert!(is_protected(&real(&top.join("opened/notes.txt"))));
        assert!(real(&top.join("opened/loop")).starts_with(&top));
        let roots = Roots::new(vec![top.join("opened/sub")]);
        assert!(roots.hold(&top.join("real/sub/new.txt")) && !roots.hold(&top.join("real/x")));
        assert_eq!(roots.named(&top.join("real/sub/x")), top.join("opened/sub/x"));
        assert_eq!(roots.named(Path::new("/nowhere/x")), Path::new("/nowhere/x"));
    }

    #[test]
    fn homes_are_meant_by_their_sign() {
        let meant = |path: &str| meant(path, Path::new("/w"), Path::new("/home/ada"));
        assert_eq!(meant("~/.env"), Path::new("/home/ada/.env"));
        assert_eq!(meant("~bob/.ssh/x"), Path::new("/~bob/.ssh/x"));
        assert_eq!(meant("a/../b"), Path::new("/w/b"));
    }
}
