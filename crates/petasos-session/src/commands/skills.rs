//! `/skills`: what there is to call.

use crate::command::{CommandOutcome, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "skills",
    aliases: &[],
    usage: "[part of a name | pending | diff ID | approve ID | reject ID]",
    about: "List the skills that `/NAME` calls; decide changes of skills that wait",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let skills = live.engine().ports.skills.clone();
    let skills = skills.ok_or("this program has no skills")?;
    let cx = live.call_context();
    if let Some(decided) = skills.decide(words, &cx).await {
        return decided.map(CommandOutcome::markdown);
    }
    let all = skills.callable(&cx).await;
    let matching = all.iter().filter(|skill| skill.name.contains(words));
    let lines: Vec<String> =
        matching.map(|skill| format!("- **{}** {}", skill.name, skill.about)).collect();
    let none = || "No such skill: `petasos skills check` tells why one is not offered".to_owned();
    Ok(CommandOutcome::markdown(if lines.is_empty() { none() } else { lines.join("\n") }))
}
