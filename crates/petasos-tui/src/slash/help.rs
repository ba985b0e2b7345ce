//! `/help`: the commands.

use std::fmt::Write as _;

use crate::chat::Chat;
use crate::command::{Next, Slash};
use crate::slash::SLASHES;

pub(super) static SLASH: Slash = Slash {
    name: "help",
    aliases: &["commands", "?"],
    usage: "",
    about: "Show the commands",
    run: |chat, words| Box::pin(std::future::ready(Ok(run(chat, words)))),
};

fn run(chat: &mut Chat, _words: &str) -> Next {
    let mut text = String::new();
    for slash in SLASHES {
        let aliases = match slash.aliases {
            [] => String::new(),
            aliases => format!(" (also /{})", aliases.join(" /")),
        };
        let usage =
            if slash.usage.is_empty() { String::new() } else { format!(" {}", slash.usage) };
        writeln!(text, "- `/{}{usage}` {}{aliases}", slash.name, slash.about).unwrap_or_default();
    }
    for extra in &chat.extras {
        writeln!(text, "- `/{}` {}", extra.name(), extra.about()).unwrap_or_default();
    }
    text.push_str(KEYS);
    chat.tell(&text);
    Next::Done
}

const KEYS: &str = "\nEnter sends; Alt-Enter, Ctrl-J or a backslash at the end go on in the next \
    line.\\\nTab completes commands and paths.\\\nEsc or Ctrl-C stops the agent; Ctrl-C twice at an \
    empty prompt leaves.\n";
