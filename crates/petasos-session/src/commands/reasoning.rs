//! `/reasoning`: how hard the model thinks.

use petasos_contract::model::Effort;

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "reasoning",
    aliases: &["think"],
    usage: "[default|off|minimal|low|medium|high|xhigh|max]",
    about: "How hard the model should think",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    if words.is_empty() {
        let level = live
            .choice
            .effort()
            .map_or("up to the provider".to_owned(), |effort| format!("{effort:?}").to_lowercase());
        return Ok(CommandOutcome::note(format!("reasoning effort: {level}")));
    }
    live.choice.effort = match words {
        "default" => None,
        level => {
            let effort = serde_json::from_value::<Effort>(serde_json::Value::from(level));
            Some(effort.map_err(|_| format!("`{level}` is no level: {}", COMMAND.usage))?)
        }
    };
    live.switch();
    Ok(CommandOutcome::note(format!("reasoning effort: {words}")))
}
