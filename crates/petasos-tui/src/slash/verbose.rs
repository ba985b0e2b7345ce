//! `/verbose`: all output of tools, and who answered.

use crate::chat::Chat;
use crate::command::{Next, Slash};
use crate::view::Detail;

pub(super) static SLASH: Slash = Slash {
    name: "verbose",
    aliases: &[],
    usage: "[on|off]",
    about: "Show more of what tools print",
    run: |chat, words| Box::pin(std::future::ready(run(chat, words))),
};

fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let on = switched(words, chat.view.detail == Detail::Verbose)?;
    chat.view.detail = if on { Detail::Verbose } else { Detail::Usual };
    chat.remark(if on { "everything that tools print is shown" } else { "one line a call" });
    Ok(Next::Done)
}

/// On, off, or the other one.
pub(super) fn switched(words: &str, now: bool) -> Result<bool, String> {
    match words {
        "" | "toggle" => Ok(!now),
        "on" | "show" | "yes" => Ok(true),
        "off" | "hide" | "no" => Ok(false),
        other => Err(format!("`{other}` is neither on nor off")),
    }
}
