//! `/plan`: look and plan, change nothing. The door refuses what would change something; the model
//! is only told why.

use petasos_contract::context::{Phase, Surface};

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand, switched};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "plan",
    aliases: &[],
    usage: "[on|off]",
    about: "Plan only: nothing is changed until /go",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let on = switched(words, live.choice.phase == Phase::Plan)?;
    live.set_phase(if on { Phase::Plan } else { Phase::Work }).await?;
    let when = if live.is_busy() { " from the next turn on" } else { "" };
    Ok(CommandOutcome::note(if on {
        // Only a terminal has commands of one's own.
        let own = live.choice.surface == Surface::Cli;
        let own = if own { " Your own `!commands` still run." } else { "" };
        format!("Plan mode is on{when}: nothing is changed until you say /go.{own}")
    } else {
        format!("Plan mode is off{when}.")
    }))
}
