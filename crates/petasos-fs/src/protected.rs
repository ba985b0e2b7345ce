//! Names of files that decide more than they look: keys, environments, what git and the agent obey.

use std::path::Path;

/// Files that hold keys, or say whose are let in.
const FILES: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "authorized_keys",
];
/// Folders whose content decides what runs or who gets in.
const FOLDERS: &[&str] = &[".git", ".ssh", ".gnupg", ".petasos", ".hermes", ".aws"];
const ENDINGS: &[&str] = &["pem", "key", "p12", "pfx"];

/// Whether nobody changes this file without a question, by its name and its folders.
pub fn is_protected(path: &Path) -> bool {
    let lower = |part: Option<&std::ffi::OsStr>| {
        part.unwrap_or_default().to_string_lossy().to_ascii_lowercase()
    };
    let (name, ending) = (lower(path.file_name()), lower(path.extension()));
    path.components().any(|part| FOLDERS.iter().any(|folder| part.as_os_str() == *folder))
        || name.starts_with(".env")
        || FILES.contains(&name.as_str())
        || ENDINGS.contains(&ending.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_environments_and_what_git_and_the_agent_obey_are_protected() {
        let is = |path: &str| is_protected(Path::new(path));
        for path in ["/w/.env", ".env.local", "/h/.ssh/x", "a/.git/config", "/w/TLS.PEM", "id_rsa"]
        {
            assert!(is(path), "{path}");
        }
        for path in ["/w/id_map.rs", "/w/keys.rs", "/w/environment", "/w/.github/x.yml", "/w/git"] {
            assert!(!is(path), "{path}");
        }
    }
}
