//! `/status`: conversation, model, tools, modes.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "status",
    aliases: &["session", "info"],
    usage: "",
    about: "Show the state of the chat",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, _words: &str) -> Result<Next, String> {
    let head = chat.head().await?;
    let (id, title, count) = match &head {
        Some(head) => {
            (head.id.as_str(), head.title.as_deref().unwrap_or("(no title)"), head.messages)
        }
        None => ("(begins with your first message)", "", 0),
    };
    let settings = &chat.choice.settings;
    let named = |chosen: &Option<String>, key: &str| {
        let configured = settings.text(key).map(str::to_owned);
        chosen.clone().or(configured).unwrap_or_else(|| "(not set)".to_owned())
    };
    let model = named(&chat.choice.model, "model.default");
    let provider = named(&chat.choice.provider, "model.provider");
    let toolsets =
        chat.choice.selection.enabled.as_ref().map_or("(default)".to_owned(), |it| it.join(", "));
    let works = if chat.working.is_some() { "yes" } else { "no" };
    let asks = if chat.backstage.unasked() { "off (yolo)" } else { "on" };
    let text = format!(
        "| | |\n|---|---|\n| conversation | {id} {title} |\n| messages | {count} |\n\
         | model | {model} from {provider} |\n| toolsets | {toolsets} |\n| workspace | {} |\n\
         | works now | {works} |\n| waiting messages | {} |\n| typing while it works | {} |\n\
         | asking for approval | {asks} |\n",
        settings.workspace().display(),
        chat.queue.len(),
        chat.busy.name(),
    );
    chat.tell(&text);
    Ok(Next::Done)
}
