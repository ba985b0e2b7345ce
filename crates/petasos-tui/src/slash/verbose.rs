//! `/verbose`: more of what tools print.

use petasos_session::command::switched;

use crate::chat::{Chat, Doing};
use crate::command::Slash;
use crate::view::Detail;

pub(super) static SLASH: Slash = Slash {
    name: "verbose",
    aliases: &[],
    usage: "[on|off]",
    about: "Show more of what tools print",
    run,
};

fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    let on = switched(words, chat.view.detail == Detail::Verbose)?;
    chat.view.detail = if on { Detail::Verbose } else { Detail::Usual };
    chat.note(if on {
        "Everything that tools print is shown."
    } else {
        "Tool calls are shown as one line each."
    });
    Ok(None)
}
