//! `/branch`: a new conversation that begins like this one.

use petasos_store::{Lineage, NewSession};

use crate::command::{AfterCommand, CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "branch",
    aliases: &["fork"],
    usage: "[title]",
    about: "Continue in a copy of this conversation",
    class: CommandClass::User,
    mid_run: MidRun::Busy,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    live.begun()?;
    let session = live.id().clone();
    let new = NewSession {
        source: live.choice.source.clone(),
        title: (!words.is_empty()).then(|| words.to_owned()),
        parent: Some((session.clone(), Lineage::Fork)),
        ..NewSession::default()
    };
    let forked = live.engine().store.fork(&session, None, new).await;
    let head = forked.map_err(|error| error.to_string())?;
    let outcome = CommandOutcome::note(format!("this is a copy; /resume {session} goes back"));
    Ok(outcome.then(AfterCommand::Switch(head.session())))
}
