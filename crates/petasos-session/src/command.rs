//! What a slash command is, how a typed line finds its own, and what comes of it.
//!
//! Commands return data: pages to show, and what follows. So every surface has all of them, and shows
//! them its own way. Built-in ones are files under `commands/`; others are added through [`Extra`].

use std::sync::Arc;

use petasos_contract::ports::Skills;
use petasos_contract::{BoxFuture, CallContext, SessionId};

use crate::commands::COMMANDS;
use crate::live::LiveSession;

/// A command at work.
pub(crate) type Running<'a> = BoxFuture<'a, Result<CommandOutcome, String>>;

/// One built-in command.
#[derive(Debug)]
pub(crate) struct SlashCommand {
    /// Without the slash.
    pub(crate) name: &'static str,
    /// Other names.
    pub(crate) aliases: &'static [&'static str],
    /// What may follow, for people.
    pub(crate) usage: &'static str,
    /// One line for `/help`.
    pub(crate) about: &'static str,
    /// Who may run it in a chat.
    pub(crate) class: CommandClass,
    /// What it does while a turn runs.
    pub(crate) mid_run: MidRun,
    /// Where it works: `c` the chat at a terminal, `g` chat platforms, `e` editors.
    pub(crate) places: &'static str,
    /// Runs it. Whatever needs the agent refuses while a turn runs.
    pub(crate) run: for<'a> fn(&'a mut LiveSession, &'a str) -> Running<'a>,
}

/// Who may run a command in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandClass {
    /// Everybody who may write.
    Everybody,
    /// Those whom a list of commands lets, and administrators.
    User,
    /// Administrators.
    Admin,
    /// The owner.
    Owner,
}

/// What a command does while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MidRun {
    /// It is done at once; a choice counts from the next request or turn on.
    Now,
    /// It ends the turn.
    Ends,
    /// It says that the agent works.
    Busy,
}

/// Something to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// Text in Markdown.
    Markdown(String),
    /// A remark of less importance.
    Note(String),
    /// Something that went wrong, or needs care.
    Warning(String),
}

impl Page {
    /// Its text.
    pub fn text(&self) -> &str {
        match self {
            Self::Markdown(text) | Self::Note(text) | Self::Warning(text) => text,
        }
    }
}

/// What comes of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandOutcome {
    /// What to show, to whoever typed it.
    pub pages: Vec<Page>,
    /// What follows.
    pub then: AfterCommand,
    /// What the model reads before what is said to it.
    pub context: Vec<String>,
}

/// What follows from a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AfterCommand {
    /// Nothing.
    #[default]
    Nothing,
    /// This is said to the agent; the session has taken it already.
    Submit(String),
    /// The surface goes to a new session.
    New,
    /// The surface goes to this session.
    Switch(SessionId),
}

impl CommandOutcome {
    /// A page of Markdown.
    pub(crate) fn markdown(text: impl Into<String>) -> Self {
        Self { pages: vec![Page::Markdown(text.into())], ..Self::default() }
    }

    /// A remark.
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self { pages: vec![Page::Note(text.into())], ..Self::default() }
    }

    /// Something that went wrong.
    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Self { pages: vec![Page::Warning(text.into())], ..Self::default() }
    }

    /// And a remark below.
    #[must_use]
    pub(crate) fn and_note(mut self, text: impl Into<String>) -> Self {
        self.pages.push(Page::Note(text.into()));
        self
    }

    /// And what follows.
    #[must_use]
    pub(crate) fn then(mut self, then: AfterCommand) -> Self {
        self.then = then;
        self
    }
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

/// A command as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandInfo {
    /// Without the slash.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// What may follow.
    pub usage: String,
    /// One line.
    pub about: String,
}

impl CommandInfo {
    /// A line of `/help`.
    pub fn line(&self) -> String {
        let space = if self.usage.is_empty() { "" } else { " " };
        let aliases = if self.aliases.is_empty() {
            String::new()
        } else {
            format!(" (also /{})", self.aliases.join(" /"))
        };
        format!("- `/{}{space}{}` {}{aliases}", self.name, self.usage, self.about)
    }
}

/// The name and the words of a line that is a command. A path such as `/etc/hosts` is none.
pub fn split(line: &str) -> Option<(String, &str)> {
    let rest = line.trim().strip_prefix('/')?;
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() || name.contains(['/', '.']) {
        return None;
    }
    Some((name.to_lowercase().replace('_', "-"), words.trim()))
}

/// The name among these that is nearest to a wrong one, if any is near.
pub fn nearest(name: &str, known: impl IntoIterator<Item = String>) -> Option<String> {
    let near = known.into_iter().map(|known| (strsim::jaro_winkler(name, &known), known));
    let near = near.filter(|(likeness, _)| *likeness > 0.75);
    near.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, known)| known)
}

/// Runs the command of a line; what goes wrong is a page, too.
pub(crate) async fn run(live: &mut LiveSession, typed: &str) -> CommandOutcome {
    let Some((name, words)) = split(typed) else {
        return CommandOutcome::warning("that is no command: /help lists them");
    };
    let extra = live.parts.extras.iter().find(|extra| extra.name() == name).cloned();
    let done = match (find(&name), extra) {
        (Some(command), _) => (command.run)(live, words).await,
        (None, Some(extra)) => extra.run(words).await.map(CommandOutcome::markdown),
        (None, None) => match skill(live, &name, words).await {
            Err(why) => match begun(&name, &live.parts.extras) {
                Some(whole) => {
                    let typed = format!("/{whole} {words}");
                    return Box::pin(run(live, &typed)).await;
                }
                None => Err(why),
            },
            known => known,
        },
    };
    done.unwrap_or_else(CommandOutcome::warning)
}

/// A skill that is called by its name: what was typed becomes the person's turn.
async fn skill(live: &mut LiveSession, name: &str, words: &str) -> Result<CommandOutcome, String> {
    let cx = live.call_context();
    let skills = live.engine().ports.skills.clone();
    let Some(skills) = skills else { return Err(unknown(name, names(&live.parts.extras))) };
    match meant(skills.as_ref(), name, &cx).await {
        Ok(meant) => {
            let called = skills.call(&meant, words, &cx).await?;
            let then = AfterCommand::Submit(called.words);
            Ok(CommandOutcome { then, context: vec![called.context], ..CommandOutcome::default() })
        }
        Err(known) => Err(unknown(name, names(&live.parts.extras).chain(known))),
    }
}

/// The skill that a command's name means. `/skill:NAME` always means one; otherwise a skill must
/// have the name. Gives the names of all skills when none has it.
pub(crate) async fn meant(
    skills: &dyn Skills,
    name: &str,
    cx: &CallContext,
) -> Result<String, Vec<String>> {
    let all = skills.callable(cx).await;
    let typed = name.strip_prefix("skill:");
    let plain = |name: &str| name.to_lowercase().replace('_', "-");
    let found = all.iter().find(|skill| plain(&skill.name) == typed.unwrap_or(name));
    match (found, typed) {
        (Some(skill), _) => Ok(skill.name.clone()),
        // The library says why it has none.
        (None, Some(typed)) => Ok(typed.to_owned()),
        (None, None) => Err(all.into_iter().map(|skill| skill.name).collect()),
    }
}

/// What to say about a name that no command has.
pub fn unknown(name: &str, known: impl IntoIterator<Item = String>) -> String {
    match nearest(name, known) {
        Some(near) => format!("there is no /{name}: did you mean /{near}?"),
        None => format!("there is no /{name}: /help lists the commands"),
    }
}

fn find(name: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().copied().find(|one| one.name == name || one.aliases.contains(&name))
}

/// The command that a name means by itself or as another name of it; any other name as it is.
pub fn proper(name: &str) -> &str {
    find(name).map_or(name, |command| command.name)
}

/// The one command that begins so, with three letters or more.
fn begun(name: &str, extras: &[Arc<dyn Extra>]) -> Option<String> {
    only(name, names(extras).map(|known| proper(&known).to_owned()))
}

/// The one of these that begins so, with three letters or more.
pub fn only(beginning: &str, known: impl IntoIterator<Item = String>) -> Option<String> {
    const LETTERS: usize = 3;
    let mut found: Vec<String> = known.into_iter().filter(|it| it.starts_with(beginning)).collect();
    found.sort_unstable();
    found.dedup();
    let is_long = beginning.chars().count() >= LETTERS;
    found.pop().filter(|one| is_long && found.is_empty() && one != beginning)
}

/// Whether a command of ours or an added one has the name.
pub(crate) fn is_known(name: &str, extras: &[Arc<dyn Extra>]) -> bool {
    find(name).is_some() || extras.iter().any(|extra| extra.name() == name)
}

/// The names that no added command can have.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().flat_map(|one| [one.name].into_iter().chain(one.aliases.iter().copied()))
}

fn names(extras: &[Arc<dyn Extra>]) -> impl Iterator<Item = String> {
    built_in().map(str::to_owned).chain(extras.iter().map(|extra| extra.name().to_owned()))
}

/// Every built-in command of sessions.
pub fn described() -> Vec<CommandInfo> {
    listed(&[])
}

/// Every command.
pub(crate) fn listed(extras: &[Arc<dyn Extra>]) -> Vec<CommandInfo> {
    let built = COMMANDS.iter().map(|one| CommandInfo {
        name: one.name.to_owned(),
        aliases: one.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        usage: one.usage.to_owned(),
        about: one.about.to_owned(),
    });
    let added = extras.iter().map(|extra| CommandInfo {
        name: extra.name().to_owned(),
        aliases: Vec::new(),
        usage: String::new(),
        about: extra.about().to_owned(),
    });
    built.chain(added).collect()
}

/// Those that may be added: a built-in command is never replaced. Gives the names refused, too.
pub(crate) fn admitted(extras: Vec<Arc<dyn Extra>>) -> (Vec<Arc<dyn Extra>>, Vec<String>) {
    let (refused, taken): (Vec<_>, Vec<_>) =
        extras.into_iter().partition(|extra| find(extra.name()).is_some());
    (taken, refused.iter().map(|extra| extra.name().to_owned()).collect())
}

/// On, off, or the other one.
pub fn switched(words: &str, now: bool) -> Result<bool, String> {
    match words {
        "" | "toggle" => Ok(!now),
        "on" | "show" | "yes" => Ok(true),
        "off" | "hide" | "no" => Ok(false),
        other => Err(format!("`{other}` is neither on nor off")),
    }
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

    #[test]
    fn a_line_is_a_command_or_a_message() {
        for (line, expected) in [
            ("/help", Some(("help", ""))),
            ("/Reload_MCP now ", Some(("reload-mcp", "now"))),
            ("/fork  my branch ", Some(("fork", "my branch"))),
            ("/etc/hosts is odd", None),
            ("/ x", None),
            ("what is /help", None),
        ] {
            let found = split(line);
            let found = found.as_ref().map(|(name, words)| (name.as_str(), *words));
            assert_eq!(found, expected, "{line}");
        }
        let known = || ["status", "start", "stop"].map(str::to_owned);
        assert_eq!(only("stat", known()), Some("status".to_owned()));
        assert_eq!((only("sta", known()), only("st", known())), (None, None), "not plain enough");
        assert!(unknown("modle", names(&[])).contains("did you mean /model?"));
        assert!(unknown("xyzzy", names(&[])).contains("/help"));
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
}
