//! Where files really are: the folders of a session, by the client's names for them and behind links,
//! and the files that nobody changes without a question.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use petasos_contract::path::resolve;

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;
/// Names of files that hold keys.
const KEY_FILES: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "authorized_keys"];
/// Folders whose content decides what runs or who gets in.
const KEY_FOLDERS: &[&str] = &[".git", ".ssh", ".gnupg", ".petasos", ".hermes", ".aws"];

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

/// The path with every link on the way followed, whether or not its end exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    let mut ahead = parts(path);
    let mut out = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            out.pop();
            continue;
        }
        out.push(&name);
        // Not a link, or nothing there: the name stands for itself.
        let Ok(target) = std::fs::read_link(&out) else { continue };
        links += 1;
        if links > LINKS_MAX {
            continue;
        }
        out.pop();
        if target.is_absolute() {
            out = PathBuf::from("/");
        }
        let mut next = parts(&target);
        next.extend(ahead);
        ahead = next;
    }
    out
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.collect()
}

/// Files that are always asked about: keys, environments, what git and the agent obey.
pub(crate) fn is_protected(path: &Path) -> bool {
    let folder = path.components().any(|part| match part {
        Component::Normal(name) => KEY_FOLDERS.iter().any(|folder| name == *folder),
        _ => false,
    });
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let ends = Path::new(name).extension().and_then(OsStr::to_str);
    folder
        || name.starts_with(".env")
        || KEY_FILES.contains(&name)
        || matches!(ends, Some("pem" | "key" | "p12" | "pfx"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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
