//! `/help`: the commands that every surface has.

use crate::command::{CommandClass, CommandInfo, CommandOutcome, MidRun, SlashCommand, listed};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "help",
    aliases: &["commands", "?"],
    usage: "",
    about: "Show the commands",
    class: CommandClass::Everybody,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(Ok(run(live, words)))),
};

fn run(live: &mut LiveSession, _words: &str) -> CommandOutcome {
    let commands = listed(&live.parts.extras);
    let lines: Vec<String> = commands.iter().map(CommandInfo::line).collect();
    CommandOutcome::markdown(lines.join("\n"))
}
