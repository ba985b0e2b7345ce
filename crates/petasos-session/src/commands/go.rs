//! `/go`: ends plan mode, and the plan is carried out.

use petasos_contract::context::Phase;

use crate::command::{AfterCommand, CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "go",
    aliases: &[],
    usage: "[words]",
    about: "End plan mode and carry out the plan",
    class: CommandClass::User,
    mid_run: MidRun::Busy,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

const GO: &str = "Go ahead: carry out the plan.";

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    live.quiet()?;
    if live.choice.phase != Phase::Plan {
        return Err("plan mode is not on; /plan turns it on".to_owned());
    }
    live.set_phase(Phase::Work).await?;
    let said = if words.is_empty() { GO.to_owned() } else { format!("{GO} {words}") };
    let outcome = CommandOutcome::note("Plan mode is off.");
    Ok(outcome.then(AfterCommand::Submit(said)))
}
