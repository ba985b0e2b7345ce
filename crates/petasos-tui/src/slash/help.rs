//! `/help`: the commands, and the keys.

use petasos_session::CommandInfo;

use crate::chat::{Chat, Doing};
use crate::command::Slash;
use crate::command::listed;

pub(super) static SLASH: Slash =
    Slash { name: "help", aliases: &["commands", "?"], usage: "", about: "Show the commands", run };

#[expect(clippy::unnecessary_wraps, reason = "every command has one shape")]
fn run(chat: &mut Chat, _words: &str) -> Result<Option<Doing>, String> {
    let commands = listed(chat.session.service().commands());
    let lines: Vec<String> = commands.iter().map(CommandInfo::line).collect();
    chat.markdown(&format!("{}\n\n{KEYS}", lines.join("\n")));
    Ok(None)
}

const KEYS: &str = "Enter sends; Alt-Enter, Ctrl-J or a backslash at the end go on in the next \
    line.\nTab completes commands and paths; ↑ on an empty line brings back a message that waits; \
    Ctrl-R searches earlier messages; Ctrl-G opens your editor; Ctrl-V attaches the picture in the \
    clipboard.\nCtrl-O shows whole what was folded since your last message.\n!COMMAND runs a command; the model \
    reads its output with your next message.\nEsc or Ctrl-C stops the agent; Ctrl-C twice at an \
    empty prompt leaves; Ctrl-Z stops the program until `fg`.\n";
