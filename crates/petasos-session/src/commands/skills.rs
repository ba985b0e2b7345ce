//! `/skills`: what there is to call, what waits for a person, and skills of others.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "skills",
    aliases: &[],
    usage: "[part of a name | search WORDS | inspect FROM | install FROM | update NAME | uninstall NAME | verify | pending | diff ID | approve ID | reject ID]",
    about: "List the skills that `/NAME` calls; get skills of others; decide changes that wait",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cg",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let skills = live.engine().ports.skills.clone();
    let skills = skills.ok_or("this program has no skills")?;
    let cx = live.call_context();
    if let Some(decided) = skills.decide(words, &cx).await {
        return decided.map(CommandOutcome::markdown);
    }
    let words = if words == "list" { "" } else { words };
    let all = skills.callable(&cx).await;
    let matching = all.iter().filter(|skill| skill.name.contains(words));
    let lines: Vec<String> =
        matching.map(|skill| format!("- **{}** {}", skill.name, skill.about)).collect();
    let none = || "No such skill: `petasos skills check` tells why one is not offered".to_owned();
    Ok(CommandOutcome::markdown(if lines.is_empty() { none() } else { lines.join("\n") }))
}
