//! `/stop`: ends what runs.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "stop",
    aliases: &["interrupt"],
    usage: "",
    about: "Stop what runs",
    class: CommandClass::Everybody,
    mid_run: MidRun::Ends,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, _words: &str) -> Result<CommandOutcome, String> {
    if !live.shared.interrupt() {
        return Err("nothing runs; background jobs are listed by /jobs".to_owned());
    }
    Ok(CommandOutcome::default())
}
