//! `/history`: the messages of this conversation.

use petasos_contract::message::Message;

use crate::chat::Chat;
use crate::chat::quoted;
use crate::command::{Next, Slash};
use crate::line::{Line, Style};
use crate::view::page;

pub(super) static SLASH: Slash = Slash {
    name: "history",
    aliases: &[],
    usage: "[how many]",
    about: "Show the conversation so far",
    run: |chat, words| Box::pin(std::future::ready(run(chat, words))),
};

fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let most =
        if words.is_empty() { 20 } else { words.parse().map_err(|_| "how many? /history 20")? };
    let columns = chat.screen.canvas().columns;
    let canvas = chat.screen.canvas();
    let agent = chat.begun()?;
    let rows = agent.transcript().rows();
    let mut lines = Vec::new();
    for row in rows.iter().skip(rows.len().saturating_sub(most)) {
        match &row.stored.message {
            Message::User { content } => lines.extend(quoted(&content.text(), columns)),
            Message::Assistant(said) => {
                lines.extend(page(said.text(), canvas));
                for call in &said.tool_calls {
                    let text = format!("  ⚙ {} {}", call.name, call.arguments);
                    lines.push(Line::of(Style::FAINT, &text).cut(columns));
                }
            }
            Message::Tool(_) => continue,
        }
        lines.push(Line::new());
    }
    chat.put(&lines);
    Ok(Next::Done)
}
