//! `/yolo`: runs without asking for approval.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand, switched};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "yolo",
    aliases: &[],
    usage: "[on|off]",
    about: "Run without asking for approval",
    class: CommandClass::Admin,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let services = live.services();
    let off = switched(words, services.approvals_off())?;
    services.set_approvals_off(off)?;
    Ok(if off {
        // What was asked for is no failure.
        CommandOutcome::note("⚠ approvals are off from the next turn on; /yolo off ends that")
    } else {
        CommandOutcome::note("approvals are asked again, from the next turn on")
    })
}
