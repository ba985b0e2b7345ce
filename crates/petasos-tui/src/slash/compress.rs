//! `/compress`: sums up older messages; the log keeps everything.

use crate::chat::Chat;
use crate::chat::Working;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "compress",
    aliases: &["compact"],
    usage: "[what matters]",
    about: "Shorten the conversation for the model",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    chat.begun()?;
    let Some(mut agent) = chat.agent.take() else { return Ok(Next::Done) };
    let mut cx = chat.backstage.context(agent.session());
    cx.events = chat.sink();
    let working =
        Working { cancel: cx.cancel.clone(), inbox: None, session: agent.session().clone() };
    chat.view.begin("summing up");
    let focus = (!words.is_empty()).then_some(words);
    let stopped = {
        let job = Box::pin(agent.compress(focus, &cx));
        chat.work(job, working).await.map(|done| done.err().map(|why| why.to_string()))
    };
    chat.agent = Some(agent);
    match stopped.map_err(|error| error.to_string())? {
        None => Ok(Next::Done),
        Some(why) => Err(format!("not shortened: {why}; nothing was changed")),
    }
}
