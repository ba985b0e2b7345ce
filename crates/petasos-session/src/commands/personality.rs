//! `/personality`: how the agent speaks.

use petasos_agent::personality;

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "personality",
    aliases: &[],
    usage: "[name|none]",
    about: "Choose a personality, or list them",
    class: CommandClass::User,
    mid_run: MidRun::Busy,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let begun = live.quiet()?.is_some();
    let settings = &live.choice.settings;
    if words.is_empty() {
        let entry = |(name, about): (String, String)| {
            format!("- `{name}` {}\n", about.lines().next().unwrap_or_default())
        };
        let mut text: String = personality::all(settings).into_iter().map(entry).collect();
        text.push_str("\n`/personality NAME` chooses one, `none` goes back.");
        return Ok(CommandOutcome::markdown(text));
    }
    let chosen =
        match words {
            "none" | "default" => None,
            name => Some(personality::named(name, settings).ok_or_else(|| {
                format!("no personality is named `{name}`: /personality lists them")
            })?),
        };
    if begun {
        // The prompt of a conversation stays the same bytes; this is added once, behind it.
        let note = chosen.as_deref().unwrap_or("Speak again as you did at the beginning.");
        live.context.push(format!("[From now on: {note}]"));
    }
    live.choice.addition = chosen;
    Ok(CommandOutcome::note(format!("personality: {words}, from your next message on")))
}
