//! Whether this very process was started by a command of another program of ours.
//!
//! A command hangs below its sitter whatever it does with sessions, groups and variables: sitters
//! and keepers adopt what loses its parent, and their names cannot be changed from below. The
//! control group of a tree is the second sign, for process namespaces that hide what is above.

use std::path::Path;

use crate::{childenv, keeper};

/// How keepers and sitters are called.
const NAMES: [&str; 2] = ["(petasos-keep)", "(petasos-sit)"];
/// Deeper than any tree that a person starts; a loop in what is read ends here.
const ANCESTORS_MAX: usize = 512;

/// Makes this process private, once its surroundings were read: nothing of the same user can look
/// at its memory or descriptors, and the secrets among the variables and words that it began with
/// are gone from where the system shows them. Must run before there is a second thread.
pub fn make_private() {
    keeper::hide();
    keeper::forget_values(|name, value| {
        let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
        petasos_redact::is_secret_name(&name)
            || childenv::is_provider_secret(&name)
            || childenv::carries_login(&value)
    });
    keeper::forget_words(|before, word| {
        secret_part(&String::from_utf8_lossy(before), &String::from_utf8_lossy(word))
    });
}

/// Where the secret of a word on the command line begins: behind a telling name and `=`, or at its
/// start when the option before it tells.
fn secret_part(before: &str, word: &str) -> Option<usize> {
    let option = before.strip_prefix("--").filter(|name| !name.contains('='));
    if option.is_some_and(petasos_redact::is_secret_name) && !word.starts_with('-') {
        return Some(0);
    }
    let named = word.split_once('=').filter(|(name, value)| {
        petasos_redact::is_secret_name(name) || childenv::carries_login(value)
    });
    let behind = named.map(|(name, _)| name.len() + 1);
    behind.or_else(|| childenv::carries_login(word).then_some(0))
}

/// Whether a supervisor of ours is above this process.
pub fn is_supervised() -> bool {
    let proc = Path::new("/proc");
    has_supervisor(proc, std::process::id()) || in_group_of_ours(proc)
}

fn has_supervisor(proc: &Path, process: u32) -> bool {
    let mut process = process;
    for _ in 0..ANCESTORS_MAX {
        let Some((name, parent)) = stat(proc, process) else { return false };
        if NAMES.contains(&name.as_str()) {
            return true;
        }
        if parent == 0 {
            return false;
        }
        process = parent;
    }
    false
}

/// The name in brackets, and the parent: the second field behind it.
pub(crate) fn stat(proc: &Path, process: u32) -> Option<(String, u32)> {
    let bytes = std::fs::read(proc.join(process.to_string()).join("stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, tail) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let parent = tail.split_whitespace().nth(1)?.parse().ok()?;
    Some((format!("({name})"), parent))
}

/// A group that a keeper made lies in a folder `petasos-<process>-<number>`.
fn in_group_of_ours(proc: &Path) -> bool {
    let Ok(groups) = std::fs::read_to_string(proc.join("self/cgroup")) else { return false };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_folder = |name: &str| {
        let parts = name.strip_prefix("petasos-").and_then(|rest| rest.split_once('-'));
        parts.is_some_and(|(process, again)| number(process) && number(again))
    };
    let own = groups.lines().filter_map(|line| line.strip_prefix("0::"));
    own.flat_map(|path| path.split('/')).any(is_folder)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test's own file needs no atomic writer")]
mod tests {
    use super::*;

    #[test]
    fn words_that_tell_a_secret_are_cut_where_it_begins() {
        for (before, word, from) in [
            ("--set", "tts.elevenlabs.api_key=abc", Some(23)),
            ("--set", "model.default=x", None),
            ("--api-key", "abc", Some(0)),
            ("--api-key=abc", "run", None),
            ("x", "--token=abc", Some(8)),
            ("--base-url", "https://me:pw@example.org", Some(0)),
            ("--token", "--json", None),
        ] {
            assert_eq!(secret_part(before, word), from, "{before} {word}");
        }
    }

    fn process(proc: &Path, number: u32, name: &str, parent: u32) {
        let folder = proc.join(number.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("{number} ({name}) S {parent} 1 1 0 -1");
        std::fs::write(folder.join("stat"), text).unwrap();
    }

    #[test]
    fn a_supervisor_is_found_however_far_above_and_a_lookalike_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path();
        process(proc, 1, "init", 0);
        process(proc, 5, "petasos", 1);
        process(proc, 7, "petasos-keep", 5);
        process(proc, 8, "petasos-sit", 7);
        process(proc, 9, "a (b) c", 8);
        process(proc, 10, "petasos", 9);
        process(proc, 20, "petasos-tests", 1);
        process(proc, 21, "petasos", 20);
        // One whose parent is gone.
        process(proc, 31, "sh", 30);
        assert!(has_supervisor(proc, 10));
        for outside in [5, 21, 31, 99] {
            assert!(!has_supervisor(proc, outside), "{outside}");
        }
    }

    #[test]
    fn a_group_of_ours_is_a_sign_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("self")).unwrap();
        for (text, ours) in [
            ("0::/user.slice/petasos-12-0/77\n", true),
            ("0::/user.slice/petasos-12.scope\n", false),
            ("1:name=systemd:/petasos-1-1\n0::/\n", false),
        ] {
            std::fs::write(folder.path().join("self/cgroup"), text).unwrap();
            assert_eq!(in_group_of_ours(folder.path()), ours, "{text}");
        }
    }
}
