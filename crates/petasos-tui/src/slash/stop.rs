//! `/stop`: the same as Ctrl-C while the agent works.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "stop",
    aliases: &["interrupt"],
    usage: "",
    about: "Stop what runs",
    run: |chat, words| Box::pin(std::future::ready(run(chat, words))),
};

fn run(chat: &mut Chat, _words: &str) -> Result<Next, String> {
    if chat.working.is_none() {
        return Err("nothing runs; background jobs are listed by /jobs".to_owned());
    }
    chat.stop();
    Ok(Next::Done)
}
