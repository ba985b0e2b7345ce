//! `/resume`: another conversation.

use petasos_store::Filter;

use crate::command::{AfterCommand, CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "resume",
    aliases: &["continue"],
    usage: "[id, title or beginning]",
    about: "Resume another conversation",
    class: CommandClass::User,
    mid_run: MidRun::Busy,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    live.quiet()?;
    let scope = live.scope().await.map_err(|error| error.to_string())?;
    let store = &live.engine().store;
    let handle = if words.is_empty() {
        let filter = Filter { scope: scope.clone(), ..Filter::default() };
        let heads = store.list(&filter).await.map_err(|error| error.to_string())?;
        let other = heads.into_iter().find(|head| head.session() != *live.id());
        other.map(|head| head.id).ok_or("there is no other conversation")?
    } else {
        words.to_owned()
    };
    let head = store.find(&handle, &scope).await.map_err(|error| error.to_string())?;
    Ok(CommandOutcome::default().then(AfterCommand::Switch(head.session())))
}
