//! `/trust`: a person's word for what was read from outside, in this conversation alone.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "trust",
    aliases: &[],
    usage: "NUMBER|all",
    about: "Trust words from outside, by their number in /taint",
    class: CommandClass::Admin,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let number = match words.trim() {
        "all" => None,
        number => Some(number.parse::<u32>().map_err(|_| {
            "say which: `/trust NUMBER` with a number of /taint, or `/trust all`".to_owned()
        })?),
    };
    let session = live.id().clone();
    let trusted = live.begun()?.words().trust(number);
    if trusted.is_empty() {
        return Err("there is no such source: /taint lists them".to_owned());
    }
    let names: Vec<String> = trusted.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    tracing::warn!(%session, sources = %names, "a person trusts words from outside");
    Ok(CommandOutcome::markdown(format!("Trusted in this conversation: {names}.")))
}
