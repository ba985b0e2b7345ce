//! `/vim`: the keys of vi in the line that is typed.

use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "vim",
    aliases: &["vi"],
    usage: "[on|off]",
    about: "Edit your messages with the keys of vi",
    run,
};

fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    let on = match words {
        "" => !chat.is_vi(),
        "on" => true,
        "off" => false,
        _ => return Err("/vim [on|off]".to_owned()),
    };
    chat.set_vi(on);
    let state = if on { "on: Esc for commands, i to type" } else { "off" };
    chat.note(&format!("vi keys {state}. `petasos config set display.vi_mode {on}` keeps this."));
    Ok(None)
}
