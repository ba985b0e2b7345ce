//! Which path a caller means, and how a path is shown.
//!
//! The path that policy judges and the path that is opened are the same value, so `..` is folded
//! as text here and never by the file system later.

use std::path::{Component, Path, PathBuf};

/// The absolute path that a caller means: `~` is the user's home, `~name` that of another user,
/// the rest starts at `base`. `home_of` tells the home of a user; the nameless one is ours.
pub(crate) fn resolve(
    path: &str,
    base: &Path,
    home_of: impl Fn(&str) -> Option<PathBuf>,
) -> PathBuf {
    let meant = match path.strip_prefix('~') {
        Some(rest) => {
            let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let home = home_of(name).filter(|home| is_known(home) && is_name(name));
            home.map_or_else(|| base.join(path), |home| home.join(rest.trim_start_matches('/')))
        }
        None => base.join(path),
    };
    folded(&meant)
}

/// Nothing, or what a system takes for a user's name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    name.chars().all(is_plain) && !name.starts_with(['-', '.'])
}

/// The home in a line of the user database.
pub(crate) fn home_in(users: &str, name: &str) -> Option<PathBuf> {
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split(':').nth(5).filter(|home| home.starts_with('/')).map(PathBuf::from)
}

fn is_known(home: &Path) -> bool {
    !home.as_os_str().is_empty()
}

/// The path without `.` and `..`.
pub(crate) fn folded(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                folded.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => folded.push(part),
        }
    }
    folded
}

/// How a path is told to the model: from where relative paths start when it is inside, else in full.
pub(crate) fn shown(path: &Path, base: &Path) -> String {
    match path.strip_prefix(base) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_starts_at_the_base_or_the_home_and_is_folded() {
        for (given, meant) in [
            ("a/b.txt", "/w/a/b.txt"),
            (".", "/w"),
            ("./a/../b", "/w/b"),
            ("../../..", "/"),
            ("/etc/hosts", "/etc/hosts"),
            ("~", "/home/me"),
            ("~/x", "/home/me/x"),
            ("~//x", "/home/me/x"),
            ("~other", "/w/~other"),
            ("~root/x", "/root/x"),
            ("~root", "/root"),
            ("~ro;ot", "/w/~ro;ot"),
            ("a~", "/w/a~"),
        ] {
            let resolved = resolve(given, Path::new("/w"), |name| match name {
                "" => Some("/home/me".into()),
                other => home_in("root:x:0:0::/root:/bin/sh\n", other),
            });
            assert_eq!(resolved, Path::new(meant), "{given}");
        }
        assert_eq!(shown(Path::new("/w/a/b"), Path::new("/w")), "a/b");
        assert_eq!(shown(Path::new("/w"), Path::new("/w")), ".");
        assert_eq!(shown(Path::new("/x"), Path::new("/w")), "/x");
    }
}
