//! `/steer`: words for the running turn.

use crate::command::{AfterCommand, CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "steer",
    aliases: &["tell"],
    usage: "<words>",
    about: "Tell the running turn something",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    if words.is_empty() {
        return Err("say what the agent should know: /steer <words>".to_owned());
    }
    match live.shared.work().and_then(|work| work.inbox) {
        Some(inbox) => {
            inbox.steer(words);
            Ok(CommandOutcome::note(format!("↪ for the agent: {words}")))
        }
        None => Ok(CommandOutcome::default().then(AfterCommand::Submit(words.to_owned()))),
    }
}
