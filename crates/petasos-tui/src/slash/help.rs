//! `/help`: the commands.

use crate::chat::Chat;
use crate::command::{Next, Slash};
use crate::slash::SLASHES;

pub(super) static SLASH: Slash = Slash {
    name: "help",
    aliases: &["commands", "?"],
    usage: "",
    about: "Show the commands",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, _words: &str) -> Result<Next, String> {
    let mut text = String::new();
    for slash in SLASHES {
        let aliases: String = slash.aliases.iter().map(|name| format!(" /{name}")).collect();
        let aliases = if aliases.is_empty() { aliases } else { format!(" (also{aliases})") };
        let usage = if slash.usage.is_empty() { String::new() } else { format!(" {}", slash.usage) };
        text.push_str(&format!("- `/{}{usage}` {}{aliases}\n", slash.name, slash.about));
    }
    for extra in &chat.extras {
        text.push_str(&format!("- `/{}` {}\n", extra.name(), extra.about()));
    }
    text.push_str(KEYS);
    chat.tell(&text);
    Ok(Next::Done)
}

const KEYS: &str = "\nEnter sends; Alt-Enter, Ctrl-J or a backslash at the end go on in the next \
    line.\\\nTab completes commands and paths.\\\nCtrl-C stops the agent; at an empty prompt, twice \
    leaves.\n";
