//! What a slash command is, and how a typed line finds its own.
//!
//! Built-in commands are files under `slash/`; others are added through [`Extra`].

use std::pin::Pin;
use std::sync::Arc;

use petasos_contract::BoxFuture;

use crate::chat::Chat;
use crate::slash::SLASHES;

/// A command at work; the chat runs on one thread.
pub(crate) type Doing<'a> = Pin<Box<dyn Future<Output = Result<Next, String>> + 'a>>;

/// What follows from a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing.
    Done,
    /// This is said to the agent.
    Say(String),
    /// The chat ends.
    Quit,
}

/// One built-in command.
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
    /// Runs it. Whatever needs the conversation refuses while a turn runs.
    pub(crate) run: for<'a> fn(&'a mut Chat, &'a str) -> Doing<'a>,
}

/// A command that somebody adds: a plugin, an embedder.
pub trait Extra: Send + Sync {
    /// Its name without the slash, in small letters.
    fn name(&self) -> &str;

    /// One line for `/help`.
    fn about(&self) -> &str;

    /// Runs it with what was typed behind the name; the text is shown as Markdown.
    fn run<'a>(&'a self, words: &'a str) -> BoxFuture<'a, Result<String, String>>;
}

/// What a typed line means.
pub(crate) enum Meaning {
    /// A built-in command and its words.
    Built(&'static Slash, String),
    /// An added command and its words.
    Added(Arc<dyn Extra>, String),
    /// No command has that name; the nearest one, if any is near.
    Unknown(String, Option<String>),
    /// No command at all.
    Words,
}

/// Reads a line. A path such as `/etc/hosts` is no command.
pub(crate) fn meaning(line: &str, added: &[Arc<dyn Extra>]) -> Meaning {
    let Some(rest) = line.strip_prefix('/') else { return Meaning::Words };
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() || name.contains(['/', '.']) {
        return Meaning::Words;
    }
    let name = name.to_lowercase().replace('_', "-");
    let words = words.trim().to_owned();
    if let Some(slash) = find(&name) {
        return Meaning::Built(slash, words);
    }
    if let Some(extra) = added.iter().find(|extra| extra.name() == name) {
        return Meaning::Added(Arc::clone(extra), words);
    }
    let near = names(added)
        .map(|known| (strsim::jaro_winkler(&name, &known), known))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    Meaning::Unknown(name, near.map(|(_, known)| known))
}

fn find(name: &str) -> Option<&'static Slash> {
    SLASHES.iter().copied().find(|slash| slash.name == name || slash.aliases.contains(&name))
}

/// The names that no added command can have.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    SLASHES.iter().flat_map(|slash| [slash.name].into_iter().chain(slash.aliases.iter().copied()))
}

fn names(added: &[Arc<dyn Extra>]) -> impl Iterator<Item = String> {
    built_in().map(str::to_owned).chain(added.iter().map(|extra| extra.name().to_owned()))
}

/// Every command with its one line, for completion.
pub(crate) fn listed(added: &[Arc<dyn Extra>]) -> Vec<(String, String)> {
    let built = SLASHES.iter().map(|slash| (format!("/{}", slash.name), slash.about.to_owned()));
    let added = added.iter().map(|extra| (format!("/{}", extra.name()), extra.about().to_owned()));
    built.chain(added).collect()
}

/// Those that may be added: a built-in command is never replaced. Gives the names refused, too.
pub(crate) fn admitted(added: Vec<Arc<dyn Extra>>) -> (Vec<Arc<dyn Extra>>, Vec<String>) {
    let (refused, taken): (Vec<_>, Vec<_>) =
        added.into_iter().partition(|extra| find(extra.name()).is_some());
    (taken, refused.iter().map(|extra| extra.name().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plugin(&'static str);

    impl Extra for Plugin {
        fn name(&self) -> &str {
            self.0
        }

        fn about(&self) -> &'static str {
            "does something"
        }

        fn run<'a>(&'a self, words: &'a str) -> BoxFuture<'a, Result<String, String>> {
            Box::pin(async move { Ok(words.to_owned()) })
        }
    }

    fn shown(line: &str, added: &[Arc<dyn Extra>]) -> String {
        match meaning(line, added) {
            Meaning::Built(slash, words) => format!("{} [{words}]", slash.name),
            Meaning::Added(extra, words) => format!("+{} [{words}]", extra.name()),
            Meaning::Unknown(name, near) => format!("?{name} {}", near.unwrap_or_default()),
            Meaning::Words => "words".to_owned(),
        }
    }

    #[test]
    fn a_line_finds_its_command() {
        let added: Vec<Arc<dyn Extra>> = vec![Arc::new(Plugin("weather"))];
        for (line, expected) in [
            ("/help", "help []"),
            ("/Reset ", "new []"),
            ("/fork  my branch ", "branch [my branch]"),
            ("/modle x", "?modle model"),
            ("/xyzzy", "?xyzzy "),
            ("/weather Rome", "+weather [Rome]"),
            ("/etc/hosts is odd", "words"),
            ("/ x", "words"),
            ("what is /help", "words"),
        ] {
            assert_eq!(shown(line, &added), expected, "{line}");
        }
    }

    #[test]
    fn names_are_unique_and_a_built_in_command_is_never_replaced() {
        let all: Vec<String> = names(&[]).collect();
        for name in &all {
            assert_eq!(all.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
        let added: Vec<Arc<dyn Extra>> = vec![Arc::new(Plugin("help")), Arc::new(Plugin("rain"))];
        let (taken, refused) = admitted(added);
        assert_eq!((taken.len(), refused), (1, vec!["help".to_owned()]));
    }

    #[test]
    fn what_hermes_users_type_is_known() {
        for name in [
            "help",
            "model",
            "provider",
            "tools",
            "toolsets",
            "new",
            "reset",
            "clear",
            "resume",
            "sessions",
            "branch",
            "fork",
            "title",
            "compress",
            "usage",
            "steer",
            "queue",
            "stop",
            "approve",
            "deny",
            "rollback",
            "undo",
            "retry",
            "history",
            "save",
            "status",
            "verbose",
            "reasoning",
            "yolo",
            "config",
            "jobs",
            "busy",
            "footer",
            "redraw",
            "reload-mcp",
            "background",
            "personality",
            "skills",
            "memory",
            "copy",
            "quit",
            "exit",
        ] {
            assert!(find(name).is_some(), "{name}");
        }
    }
}
