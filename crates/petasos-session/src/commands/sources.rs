//! `/sources`: the pages that `[w1]` and its like point to.

use petasos_web::{Cited, Sources};

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "sources",
    aliases: &["citations"],
    usage: "",
    about: "List the pages that were read, by the numbers that answers cite",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, _words: &str) -> Result<CommandOutcome, String> {
    let pages = Sources::of(&live.engine().ports).ok_or("this program reads no pages")?;
    let pages = pages.list(live.id(), &live.choice.settings);
    if pages.is_empty() {
        return Ok(CommandOutcome::markdown("No page was read in this conversation.".to_owned()));
    }
    let lines: Vec<String> = pages.iter().enumerate().map(|(at, page)| line(at, page)).collect();
    Ok(CommandOutcome::markdown(lines.join("\n")))
}

/// `[w1]` and what it points to.
fn line(at: usize, page: &Cited) -> String {
    let title = page.title.as_deref().unwrap_or("a page without a title");
    let stored = page.stored.as_deref().map(|path| format!(", kept in {path}")).unwrap_or_default();
    format!("- **[w{}]** {title}: {}{stored}", at + 1, page.url)
}
