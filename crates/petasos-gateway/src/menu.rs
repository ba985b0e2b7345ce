//! The commands that a platform shows beside the field in which people write: those of chats first,
//! then those of sessions, then skills, as many as fit.

use crate::commands;
use crate::gateway::Shared;

/// A line of a menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuItem {
    /// The command, without a slash.
    pub name: String,
    /// What it does.
    pub about: String,
}

/// What a platform takes in a menu.
#[derive(Debug, Clone, Copy)]
pub struct MenuLimits {
    /// So many lines.
    pub items: usize,
    /// A name of so many characters: small letters, digits, underscores.
    pub name: usize,
    /// So many characters about it.
    pub about: usize,
}

impl Shared {
    /// The menu as a platform takes it.
    pub(crate) async fn menu(&self, limits: MenuLimits) -> Vec<MenuItem> {
        let item = |(name, about): (String, String)| MenuItem { name, about };
        let mut all: Vec<MenuItem> = commands::own().map(item).collect();
        let built = self.sessions.commands().into_iter().map(|it| (it.name, it.about)).map(item);
        all.extend(built.filter(|it| !commands::is_for_terminals(&it.name)));
        all.extend(self.sessions.callable_skills().await.into_iter().map(item));
        fitted(all, limits)
    }
}

/// What a platform takes of a menu: each name once, and nothing that it would refuse the whole for.
fn fitted(all: Vec<MenuItem>, limits: MenuLimits) -> Vec<MenuItem> {
    let mut taken: Vec<MenuItem> = Vec::new();
    for item in all {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let short = !item.name.is_empty() && item.name.len() <= limits.name;
        let known = taken.iter().any(|it| it.name == item.name);
        if !short || known || !item.name.chars().all(fits) || item.about.trim().is_empty() {
            continue;
        }
        let line = item.about.lines().next().unwrap_or_default();
        let about = line.chars().take(limits.about).collect();
        taken.push(MenuItem { about, ..item });
        if taken.len() == limits.items {
            break;
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s62_a_menu_keeps_to_the_limits_with_three_hundred_skills() {
        let item = |name: String| MenuItem { name, about: "x".repeat(400) };
        let mut all = vec![item("stop".to_owned()), item("stop".to_owned())];
        all.extend(["reload-mcp", "Upper", "", "naïve"].map(|name| item(name.to_owned())));
        all.extend((0..300).map(|at| item(format!("skill_{at}"))));
        let menu = fitted(all, MenuLimits { items: 100, name: 32, about: 256 });
        assert_eq!((menu.len(), menu[0].name.as_str()), (100, "stop"));
        assert_eq!(menu[1].name, "skill_0", "what the platform refuses is left out");
        assert!(menu.iter().all(|it| it.about.chars().count() == 256));
    }
}
