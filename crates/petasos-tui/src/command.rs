//! Commands of the screen: what they are, and how a name finds its own. All others belong to the
//! session.

use petasos_session::CommandInfo;

use crate::chat::{Chat, Doing};
use crate::slash::SLASHES;

/// One command of the screen.
#[derive(Debug)]
pub(crate) struct Slash {
    /// Without the slash.
    pub(crate) name: &'static str,
    /// Other names.
    pub(crate) aliases: &'static [&'static str],
    /// What may follow, for people.
    pub(crate) usage: &'static str,
    /// One line for `/help`.
    pub(crate) about: &'static str,
    /// Runs it; gives what must be waited for, if anything.
    pub(crate) run: fn(&mut Chat, &str) -> Result<Option<Doing>, String>,
}

/// The command of this name.
pub(crate) fn find(name: &str) -> Option<&'static Slash> {
    SLASHES.iter().copied().find(|slash| slash.name == name || slash.aliases.contains(&name))
}

/// Every command of the screen.
pub fn described() -> Vec<CommandInfo> {
    let own = SLASHES.iter().map(|slash| CommandInfo {
        name: slash.name.to_owned(),
        aliases: slash.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        usage: slash.usage.to_owned(),
        about: slash.about.to_owned(),
    });
    own.collect()
}

/// The names that no added command can have.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    SLASHES.iter().flat_map(|slash| [slash.name].into_iter().chain(slash.aliases.iter().copied()))
}

/// Every command that can be typed here: the screen's, and the session's that it does not replace.
pub(crate) fn listed(session: Vec<CommandInfo>) -> Vec<CommandInfo> {
    let own = described().into_iter();
    let others = session.into_iter().filter(|info| find(&info.name).is_none());
    let mut all: Vec<CommandInfo> = own.chain(others).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let all: Vec<&str> = built_in().collect();
        for name in &all {
            assert_eq!(all.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
    }
}
