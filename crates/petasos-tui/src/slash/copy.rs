//! `/copy`: the last reply, to the clipboard of the terminal; works over ssh.

use petasos_contract::message::Message;

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "copy",
    aliases: &[],
    usage: "",
    about: "Copy the last reply, where the terminal allows it",
    run: |chat, words| Box::pin(std::future::ready(run(chat, words))),
};

fn run(chat: &mut Chat, _words: &str) -> Result<Next, String> {
    let rows = chat.begun()?.transcript().rows();
    let replies = rows.iter().rev().filter_map(|row| match &row.stored.message {
        Message::Assistant(said) if !said.text().is_empty() => Some(said.text().to_owned()),
        _ => None,
    });
    let reply = replies.into_iter().next().ok_or("there is no reply yet")?;
    let count = reply.chars().count();
    if !chat.screen.copy(&reply) {
        return Err("this terminal has no clipboard for programs; /save FILE writes a file".into());
    }
    chat.remark(&format!("{count} characters given to the clipboard of the terminal"));
    Ok(Next::Done)
}
