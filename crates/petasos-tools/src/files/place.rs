//! How a path is shown, and what the user database says about homes.

use std::path::{Path, PathBuf};

/// The home in a line of the user database.
pub(crate) fn home_in(users: &str, name: &str) -> Option<PathBuf> {
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split(':').nth(5).filter(|home| home.starts_with('/')).map(PathBuf::from)
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
    use petasos_contract::path::resolve;

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
