//! `/yolo`: nobody is asked any more, or again. What is never allowed stays so.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "yolo",
    aliases: &[],
    usage: "[on|off]",
    about: "Run without asking for approval",
    run: |chat, words| Box::pin(std::future::ready(run(chat, words))),
};

fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let off = super::verbose::switched(words, chat.backstage.unasked())?;
    chat.backstage.set_unasked(off)?;
    if off {
        chat.complain("nobody is asked for approval from the next turn on; /yolo off ends that");
    } else {
        chat.remark("you are asked for approval again, from the next turn on");
    }
    Ok(Next::Done)
}
