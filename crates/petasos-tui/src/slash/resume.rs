//! `/resume`: takes up a conversation again; without words, the last one.

use petasos_contract::store::Filter;

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "resume",
    aliases: &["continue"],
    usage: "[id, title or beginning]",
    about: "Go on with another conversation",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    chat.quiet()?;
    let current = chat.agent.as_ref().map(|agent| agent.session().clone());
    let handle = match words {
        "" => {
            let listed = chat.engine.store.list(&Filter::default()).await;
            let heads = listed.map_err(|error| error.to_string())?;
            let other = heads.into_iter().find(|head| Some(head.session()) != current);
            other.map(|head| head.id).ok_or("there is no other conversation")?
        }
        words => words.to_owned(),
    };
    let head = chat.engine.store.find(&handle).await.map_err(|error| error.to_string())?;
    chat.adopt(&head.session()).await.map_err(|error| error.to_string())?;
    Ok(Next::Done)
}
