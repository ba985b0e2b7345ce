//! `/queue`: something for later.

use crate::command::{CommandOutcome, SlashCommand};
use crate::live::{Asked, LiveSession};

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "queue",
    aliases: &["next"],
    usage: "<words>",
    about: "Queue a message for when the agent is done",
    run: |live, words| Box::pin(std::future::ready(Ok(run(live, words)))),
};

fn run(live: &mut LiveSession, words: &str) -> CommandOutcome {
    if words.is_empty() {
        let waiting: Vec<String> = live.queue.iter().map(|it| format!("- {}", it.text())).collect();
        let none = "no message waits".to_owned();
        let text = if waiting.is_empty() { none } else { waiting.join("\n") };
        return CommandOutcome::markdown(text);
    }
    let queued = live.accept(Asked::Say(words.into()));
    live.queue.push_back(queued);
    CommandOutcome::note(format!("⏳ next: {words}"))
}
