//! Which board is meant, and as whom somebody sits at it: the same answer for tools, commands and
//! delegated work.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::Settings;

use super::BOARD_USUAL;

/// The place of a home at the boards that all its profiles share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardPlace {
    /// The home that all profiles share.
    pub root: PathBuf,
    /// The profile that acts.
    pub profile: String,
}

impl BoardPlace {
    /// Of a home.
    pub fn of(home: &Path) -> Self {
        let own = home.file_name().and_then(|name| name.to_str());
        let profiles = home.parent().filter(|parent| parent.ends_with("profiles"));
        match (profiles.and_then(Path::parent), own) {
            (Some(root), Some(profile)) => {
                Self { root: root.to_owned(), profile: profile.to_owned() }
            }
            _ => Self { root: home.to_owned(), profile: "default".to_owned() },
        }
    }

    /// The board that is meant when none is named: the one of the surroundings, the one that
    /// somebody chose, the usual one.
    pub fn current(&self, settings: &Settings) -> String {
        let given = settings.role("KANBAN_BOARD").map(|it| it.value.expose().to_owned());
        let chosen = || std::fs::read_to_string(self.choice()).ok();
        let board = given.or_else(chosen).map(|name| name.trim().to_owned());
        board.filter(|name| !name.is_empty()).unwrap_or_else(|| BOARD_USUAL.to_owned())
    }

    /// The file that holds the board that somebody chose.
    pub fn choice(&self) -> PathBuf {
        self.root.join("kanban").join("current")
    }
}

/// Now, as boards count time: milliseconds since 1970.
pub fn board_time() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_its_name_and_shares_the_root() {
        let writer = BoardPlace::of(Path::new("/home/ada/.petasos/profiles/writer"));
        assert_eq!(writer.profile, "writer");
        assert_eq!(writer.root, Path::new("/home/ada/.petasos"));
        let plain = BoardPlace::of(Path::new("/home/ada/.petasos"));
        assert_eq!(plain.profile, "default");
        assert_eq!(plain.root, Path::new("/home/ada/.petasos"));
    }
}
