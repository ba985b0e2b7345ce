//! `/toolsets`: which bundles of tools the model gets.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;
use crate::services::Topic;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "toolsets",
    aliases: &[],
    usage: "[name,name,…|default]",
    about: "Show or choose toolsets",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    if words.is_empty() {
        let text = live.services().describe(Topic::Toolsets, "", &live.choice).await?;
        return Ok(CommandOutcome::markdown(text));
    }
    live.quiet()?;
    let names = words.split([',', ' ']).filter(|name| !name.is_empty());
    let names: Option<Vec<String>> =
        (words != "default").then(|| names.map(str::to_owned).collect());
    if let Some(why) = names.as_deref().and_then(|names| live.services().unknown_toolset(names)) {
        return Err(why);
    }
    live.choice.selection.enabled = names.clone().or_else(|| live.chosen_at_first.clone());
    live.choice.toolsets = names;
    live.remember_choice().await?;
    let selection = live.choice.selection.clone();
    let outcome = CommandOutcome::note(format!("toolsets from the next turn on: {words}"));
    let Some(agent) = live.quiet()? else { return Ok(outcome) };
    agent.choice_mut().selection = selection;
    Ok(outcome.and_note("other tools reset the provider's prompt cache"))
}
