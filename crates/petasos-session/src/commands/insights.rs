//! `/insights`: what the conversations of the last days used, of those that are seen from here.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_store::{Filter, SessionHead};

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "insights",
    aliases: &[],
    usage: "[days]",
    about: "Show what the conversations of the last 30 days used",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

/// So many conversations are looked at.
const LOOKED_AT: usize = 10_000;
const DAYS: i64 = 30;
const DAY_MS: i64 = 86_400_000;

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let days = match words {
        "" => DAYS,
        said => {
            let days = said.parse().ok().filter(|days| (1..=3660).contains(days));
            days.ok_or_else(|| format!("`{said}` is no number of days"))?
        }
    };
    let scope = live.scope().await.map_err(|error| error.to_string())?;
    let filter = Filter {
        scope,
        all_sources: true,
        archived: true,
        limit: LOOKED_AT,
        offset: 0,
        source: None,
    };
    let heads = live.engine().store.list(&filter).await.map_err(|error| error.to_string())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let since = i64::try_from(now).unwrap_or(i64::MAX) - days * DAY_MS;
    let recent: Vec<&SessionHead> = heads.iter().filter(|head| head.updated_ms >= since).collect();
    Ok(CommandOutcome::markdown(told(&recent, days)))
}

fn told(heads: &[&SessionHead], days: i64) -> String {
    let mut models: BTreeMap<&str, (usize, u64, u64, f64)> = BTreeMap::new();
    for head in heads {
        let sum = models.entry(head.model.as_deref().unwrap_or("(not set)")).or_default();
        sum.0 += 1;
        sum.1 += head.usage.prompt();
        sum.2 += head.usage.output;
        sum.3 += head.cost_usd;
    }
    let messages: u64 = heads.iter().map(|head| head.messages).sum();
    let mut text = format!(
        "**The last {days} days**: {} conversations, {messages} messages\n\n\
         | model | conversations | input tokens | output tokens | known cost |\n|---|---|---|---|---|\n",
        heads.len()
    );
    for (model, (count, input, output, usd)) in models {
        text = format!("{text}| {model} | {count} | {input} | {output} | ${usd:.4} |\n");
    }
    text
}
