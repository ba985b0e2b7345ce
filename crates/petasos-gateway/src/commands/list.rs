//! Which commands chats have, and the page that says so.

use petasos_session::CommandInfo;

use crate::access::{Class, is_open_command, may_run};
use crate::gateway::Shared;
use crate::options::PlatformOptions;

/// A command that only a chat has.
struct ChatCommand {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
}

const fn row(name: &'static str, usage: &'static str, about: &'static str) -> ChatCommand {
    ChatCommand { name, usage, about }
}

/// Those of chats alone, and those that mean something else there.
const CHAT_COMMANDS: &[ChatCommand] = &[
    row("whoami", "", "who you are here, and which rule lets you in"),
    row("new", "[now]", "begin a new conversation"),
    row("stop", "[all]", "stop the turn; `all` stops everything of this home"),
    row("busy", "[interrupt|queue|steer|collect]", "what a message does while I work"),
    row("approve", "[n] [all] [session|always]", "allow what waits"),
    row("deny", "[n] [why]", "refuse what waits"),
    row("answer", "n text", "answer a question by its number"),
    row("sethome", "", "make this chat the home of its platform"),
    row("platform", "[pause|resume NAME]", "the accounts and how they are; let one rest or go on"),
    row("pair", "list|approve CODE|revoke USER", "let people in; in a direct chat with the owner"),
    row("restart", "", "restart the gateway"),
    row("reload", "", "read the settings again; changed accounts connect anew"),
    row("update", "", "restart when a newer program is in place"),
    row("footer", "[on|off|status]", "facts below answers in this chat"),
    row("verbose", "[off|new|all|verbose]", "how much of tool calls this chat is shown"),
    row("voice", "[on|off|all]", "say answers aloud in this chat: to voice messages, or all"),
    row("topic", "[on|off|ID|help]", "which conversation a topic of Telegram goes on with"),
];

/// Commands of the session that make no sense in a chat.
pub(super) const AT_A_TERMINAL: &[&str] = &[
    "clear",
    "copy",
    "paste",
    "image",
    "history",
    "save",
    "quit",
    "exit",
    "skin",
    "statusbar",
    "editor",
    "config",
];

/// The commands of chats, and what each does.
pub(crate) fn own() -> impl Iterator<Item = (String, String)> {
    CHAT_COMMANDS.iter().map(|own| (own.name.to_owned(), own.about.to_owned()))
}

/// Whether a command is one of chats.
pub(super) fn is_own(name: &str) -> bool {
    CHAT_COMMANDS.iter().any(|own| own.name == name)
}

/// The commands of chats, for whoever describes them.
pub fn chat_commands() -> Vec<CommandInfo> {
    let described = |own: &ChatCommand| CommandInfo {
        name: own.name.to_owned(),
        aliases: Vec::new(),
        usage: own.usage.to_owned(),
        about: own.about.to_owned(),
    };
    CHAT_COMMANDS.iter().map(described).collect()
}

/// Whether a command makes no sense in a chat.
pub(crate) fn is_for_terminals(name: &str) -> bool {
    AT_A_TERMINAL.contains(&name)
}

impl Shared {
    /// What somebody of this class may run, a page of it.
    pub(super) fn help(&self, class: Class, options: &PlatformOptions, words: &str) -> String {
        const PAGE: usize = 20;
        let mut lines = Vec::new();
        for own in CHAT_COMMANDS {
            if may_run(class, own.name, options) {
                let space = if own.usage.is_empty() { "" } else { " " };
                lines.push(format!("- `/{}{space}{}` {}", own.name, own.usage, own.about));
            }
        }
        for info in self.sessions.commands() {
            let hidden = is_own(&info.name) || is_for_terminals(&info.name) || info.name == "help";
            if !hidden && (is_open_command(&info.name) || may_run(class, &info.name, options)) {
                lines.push(info.line());
            }
        }
        let pages = lines.len().div_ceil(PAGE).max(1);
        let page = words.parse().unwrap_or(1).clamp(1, pages);
        let shown: Vec<String> = lines.into_iter().skip((page - 1) * PAGE).take(PAGE).collect();
        let more = if page < pages {
            format!("\n\n`/commands {}` shows more.", page + 1)
        } else {
            String::new()
        };
        format!("**Commands** ({page} of {pages})\n{}{more}", shown.join("\n"))
    }
}
