//! `/skills`: the skills of this home.

use petasos_agent::skills;

use crate::command::{CommandOutcome, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "skills",
    aliases: &[],
    usage: "[part of a name]",
    about: "List the skills of this home",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let folder = live.choice.settings.home().join("skills");
    let skills = skills::listed(&folder).await;
    let matching = skills.iter().filter(|skill| skill.name.contains(words));
    let lines: Vec<String> =
        matching.map(|skill| format!("- **{}** {}", skill.name, skill.about)).collect();
    let none = || format!("No such skill in `{}`", folder.display());
    Ok(CommandOutcome::markdown(if lines.is_empty() { none() } else { lines.join("\n") }))
}
