//! `/copy`: the last reply, to the clipboard of the terminal; works over ssh.

use petasos_contract::message::Message;

use crate::chat::Done;
use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "copy",
    aliases: &[],
    usage: "",
    about: "Copy the last reply, where the terminal allows it",
    run,
};

/// A reply is looked for among so many messages.
const RECENT: usize = 100;

#[expect(clippy::unnecessary_wraps, reason = "every command has one shape")]
fn run(chat: &mut Chat, _words: &str) -> Result<Option<Doing>, String> {
    let session = chat.session.clone();
    Ok(Some(Box::pin(async move {
        let recent = session.recent(RECENT).await;
        let reply = recent.map_err(|error| error.to_string()).and_then(|messages| {
            let last = messages.into_iter().rev().find_map(|row| match row.message {
                Message::Assistant(reply) if !reply.text().is_empty() => {
                    Some(reply.text().to_owned())
                }
                _ => None,
            });
            last.ok_or_else(|| "nothing has been said yet".to_owned())
        });
        Done::Copy(reply)
    })))
}
