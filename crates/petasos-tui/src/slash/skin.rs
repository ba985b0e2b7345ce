//! `/skin`: other colours.

use crate::chat::{Chat, Doing};
use crate::command::Slash;
use crate::skin::Skin;

pub(super) static SLASH: Slash = Slash {
    name: "skin",
    aliases: &["theme"],
    usage: "[default|dark|light|mono]",
    about: "Change the colours of the screen",
    run,
};

fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    let look = chat.screen.look();
    if !words.is_empty() {
        if !look.is_styled() {
            return Err("this terminal shows no colours (NO_COLOR, TERM=dumb, or a screen reader)"
                .to_owned());
        }
        let skin = Skin::named(words);
        chat.paint(skin.ok_or_else(|| format!("`{words}` is none of {}", SLASH.usage))?);
    }
    let name = chat.screen.look().skin.name();
    chat.note(&format!("Colours: {name}. `petasos config set display.skin {name}` keeps them."));
    Ok(None)
}
