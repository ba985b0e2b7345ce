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
    let mut text = "| command | what it does |\n|---|---|\n".to_owned();
    for slash in SLASHES {
        let aliases: String = slash.aliases.iter().map(|name| format!(" /{name}")).collect();
        let usage = slash.usage.replace('|', "\\|");
        text.push_str(&format!("| /{} {usage} | {}{} |\n", slash.name, slash.about, named(&aliases)));
    }
    for extra in &chat.extras {
        text.push_str(&format!("| /{} | {} |\n", extra.name(), extra.about()));
    }
    text.push_str(KEYS);
    chat.tell(&text);
    Ok(Next::Done)
}

const KEYS: &str = "\nEnter sends; Alt-Enter, Ctrl-J or a backslash at the end go on in the next line. \
    Tab completes commands and paths. Ctrl-C stops the agent; twice at an empty prompt it leaves.";

fn named(aliases: &str) -> String {
    if aliases.is_empty() { String::new() } else { format!(" (also{aliases})") }
}
