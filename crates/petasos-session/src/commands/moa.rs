//! `/moa`: one question to several models, whose answers one of them brings together.

use crate::command::{AfterCommand, CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;
use crate::services::ModelChoice;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "moa",
    aliases: &[],
    usage: "words",
    about: "Ask several models at once, for this message (`moa` in the configuration)",
    class: CommandClass::User,
    mid_run: MidRun::Busy,
    places: "cg",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    if words.is_empty() {
        return Err("say what to ask: `/moa WORDS`".to_owned());
    }
    live.quiet()?;
    let provider = Some("moa".to_owned());
    let wanted = ModelChoice { model: None, provider: provider.clone() };
    let who = live.services().resolve(&wanted).await?;
    let before = live.once.take().unwrap_or_else(|| live.choice.clone());
    (live.choice.model, live.choice.provider) = (None, provider);
    live.switch();
    live.once = Some(before);
    let outcome = CommandOutcome::note(format!("{who} (for this message)"));
    Ok(outcome.then(AfterCommand::Submit(words.to_owned())))
}
