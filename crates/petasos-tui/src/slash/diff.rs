//! `/diff`: every line of the edits since the last message.

use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "diff",
    aliases: &[],
    usage: "",
    about: "Show all changes to files since your last message",
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "every command has one shape")]
fn run(chat: &mut Chat, _words: &str) -> Result<Option<Doing>, String> {
    let lines = chat.view.whole_diffs(chat.screen.canvas());
    if lines.is_empty() {
        chat.note("No files were edited since your last message");
    } else {
        chat.put(lines);
    }
    Ok(None)
}
