//! `/profile`: which home and workspace this is.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "profile",
    aliases: &[],
    usage: "",
    about: "Show which home and workspace this is",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(Ok(run(live, words)))),
};

fn run(live: &mut LiveSession, _words: &str) -> CommandOutcome {
    let settings = &live.choice.settings;
    let (home, workspace) = (settings.home(), settings.workspace());
    // A profile is a home below the one that holds all of them.
    let within = home.parent().and_then(|parent| parent.file_name());
    let is_one = within.is_some_and(|name| name == "profiles");
    let name = home.file_name().filter(|_| is_one).map(|name| name.to_string_lossy());
    CommandOutcome::markdown(format!(
        "| | |\n|---|---|\n| profile | {} |\n| home | {} |\n| workspace | {} |\n",
        name.as_deref().unwrap_or("default"),
        home.display(),
        workspace.display(),
    ))
}
