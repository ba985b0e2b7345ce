//! `/bundles`: the names that stand for several skills at once.

use serde_json::Value;

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "bundles",
    aliases: &[],
    usage: "",
    about: "List the bundles of skills that `/NAME` calls",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cg",
    run: |live, words| Box::pin(std::future::ready(Ok(run(live, words)))),
};

fn run(live: &mut LiveSession, _words: &str) -> CommandOutcome {
    let settings = &live.choice.settings;
    let bundles = settings.get("bundles").and_then(Value::as_object);
    let lines: Vec<String> = bundles
        .into_iter()
        .flatten()
        .map(|(name, _)| {
            let own = settings.names(&format!("bundles.{name}"));
            let own = own.or_else(|| settings.names(&format!("bundles.{name}.skills")));
            format!("- `/{name}`: {}", own.unwrap_or_default().join(", "))
        })
        .collect();
    let none = "No bundle is configured: `bundles.NAME` lists its skills";
    CommandOutcome::markdown(if lines.is_empty() { none.to_owned() } else { lines.join("\n") })
}
