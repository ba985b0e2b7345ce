//! No tracked file knows the machine it was written on.
//!
//! What is looked for is where this checkout itself lies, so the rule needs no list of paths and
//! a checkout elsewhere is judged by its own. Temporary and shared folders prove nothing: tests
//! speak of them for good reasons.

use std::path::Path;

use crate::finding::Finding;
use crate::house::House;

const SHARED: &[&str] =
    &["/", "/tmp", "/var/tmp", "/home", "/root", "/opt", "/srv", "/mnt", "/src"];

/// Looks for the checkout's own place in every text file.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let Some(place) = place(&house.root) else { return Vec::new() };
    let sources = house.sources.iter().map(|source| (&source.path, &source.text));
    let manifests = house.manifests.iter().map(|one| (&one.path, &one.text));
    let texts = house.texts.iter().map(|(path, text)| (path, text));
    let mut found = Vec::new();
    for (path, text) in sources.chain(manifests).chain(texts) {
        for (number, line) in text.lines().enumerate() {
            if mentions(line, &place) {
                found.push(Finding {
                    path: path.clone(),
                    line: number + 1,
                    check: "machine",
                    what: format!("`{place}` is a path of this machine"),
                    cure: "say it relative to the checkout, or make it an argument".to_owned(),
                });
            }
        }
    }
    found
}

/// Whether `place` stands in `line` as a path of its own and not as the tail of a longer one.
fn mentions(line: &str, place: &str) -> bool {
    let is_path = |letter: char| letter.is_alphanumeric() || "_-./~".contains(letter);
    let mut found = line.match_indices(place);
    found.any(|(at, _)| !line.get(..at).is_some_and(|before| before.ends_with(is_path)))
}

/// The folder around the checkout with a closing slash, or nothing when it is a shared one.
fn place(root: &Path) -> Option<String> {
    let around = root.parent()?;
    let shared = SHARED.iter().any(|one| around == Path::new(one)) || around.starts_with("/tmp");
    (!shared).then(|| format!("{}/", around.display()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{mentions, place};

    #[test]
    fn only_a_private_place_is_looked_for() {
        let place = |root: &str| place(Path::new(root));
        assert_eq!(place("/builds/team/petasos"), Some("/builds/team/".to_owned()));
        assert_eq!(place("/home/petasos"), None);
        assert_eq!(place("/tmp/a/petasos"), None);
        assert_eq!(place("/petasos"), None);
    }

    #[test]
    fn the_tail_of_a_longer_path_is_another_path() {
        assert!(mentions("see /builds/log", "/builds/"));
        assert!(mentions("\"/builds/log\"", "/builds/"));
        assert!(!mentions("~/profiles/builds/log", "/builds/"));
        assert!(!mentions("./builds/log", "/builds/"));
    }
}
