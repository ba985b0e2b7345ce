//! Where a path really leads: links and `..` are followed on this machine.
//!
//! Looks at links only; no file is opened and nothing needs to exist.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;

/// An absolute path with every link on the way followed, whether or not its end exists.
pub fn real(path: &Path) -> PathBuf {
    follow(path, true)
}

/// The same for something that is removed: a link at the end goes, not what it points to.
pub fn real_parent(path: &Path) -> PathBuf {
    follow(path, false)
}

fn follow(path: &Path, last_too: bool) -> PathBuf {
    let mut ahead = parts(path);
    let mut out = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            out.pop();
            continue;
        }
        out.push(&name);
        if ahead.is_empty() && !last_too {
            break;
        }
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
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
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
        assert_eq!(real(&top.join("door/x")), top.join("a/b/x"));
        // Text would say `x`; the file system says otherwise.
        assert_eq!(real(&top.join("door/../x")), top.join("a/x"));
        assert_eq!(real(&top.join("dangling")), top.join("a/b/not-yet"));
        assert_eq!(real(&top.join("loop")), top.join("loop"));
        assert_eq!(real_parent(&top.join("door")), top.join("door"));
    }
}
