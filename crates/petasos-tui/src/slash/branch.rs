//! `/branch`: a new conversation that begins like this one.

use petasos_contract::store::{Lineage, NewSession};

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "branch",
    aliases: &["fork"],
    usage: "[title]",
    about: "Go on in a copy of this conversation",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let session = chat.begun()?.session().clone();
    let new = NewSession {
        source: chat.choice.source.clone(),
        title: (!words.is_empty()).then(|| words.to_owned()),
        parent: Some((session.clone(), Lineage::Fork)),
        ..NewSession::default()
    };
    let forked = chat.engine.store.fork(&session, None, new).await;
    let head = forked.map_err(|error| error.to_string())?;
    chat.adopt(&head.session()).await.map_err(|error| error.to_string())?;
    chat.remark(&format!("this is a copy; /resume {session} goes back"));
    Ok(Next::Done)
}
