//! `/version`: which program this is.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "version",
    aliases: &[],
    usage: "",
    about: "Show the version",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(Ok(run(live, words)))),
};

fn run(_live: &mut LiveSession, _words: &str) -> CommandOutcome {
    CommandOutcome::markdown(concat!("petasos ", env!("CARGO_PKG_VERSION")))
}
