//! `/version`: which program this is.

use crate::command::{CommandOutcome, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "version",
    aliases: &[],
    usage: "",
    about: "Show the version",
    run: |live, words| Box::pin(std::future::ready(Ok(run(live, words)))),
};

fn run(_live: &mut LiveSession, _words: &str) -> CommandOutcome {
    CommandOutcome::markdown(concat!("petasos ", env!("CARGO_PKG_VERSION")))
}
