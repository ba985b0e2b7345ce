//! `/undo`: hides your last message and everything after it; the log keeps it.

use petasos_agent::Agent;
use petasos_contract::message::Message;
use petasos_contract::store::Amend;

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "undo",
    aliases: &["rewind"],
    usage: "",
    about: "Take back the last exchange",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, _words: &str) -> Result<Next, String> {
    let taken = take_back(chat).await?;
    chat.remark(&format!("taken back: {}", taken.lines().next().unwrap_or_default()));
    chat.remark("files are not changed by this; /rollback does that");
    Ok(Next::Done)
}

/// Hides the last message of the person and everything behind it; gives the message.
pub(super) async fn take_back(chat: &mut Chat) -> Result<String, String> {
    let agent = chat.begun()?;
    let session = agent.session().clone();
    let rows = agent.transcript().rows();
    let last = rows.iter().rev().find_map(|row| match &row.stored.message {
        Message::User { content } if row.stored.note.is_none() => Some((row.seq, content.text())),
        _ => None,
    });
    let (seq, text) = last.ok_or("there is nothing to take back")?;
    let hidden = chat.engine.store.amend(&session, Amend::Rewind(seq)).await;
    hidden.map_err(|error| error.to_string())?;
    let (engine, choice) = (std::sync::Arc::clone(&chat.engine), chat.choice.clone());
    let resumed = Agent::resume(engine, choice, &session).await;
    let (agent, _) = resumed.map_err(|error| error.to_string())?;
    chat.agent = Some(agent);
    Ok(text)
}
