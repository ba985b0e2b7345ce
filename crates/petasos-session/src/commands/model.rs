//! `/model`: who answers, and somebody else from now on.

use std::time::Duration;

use petasos_contract::Settings;
use petasos_store::Amend;
use serde_json::Value;

use crate::command::{CommandClass, CommandOutcome, MidRun, Page, SlashCommand};
use crate::live::LiveSession;
use crate::offers::OfferKind;
use crate::services::{ModelChoice, Topic};

/// A choice waits no longer for the provider's list.
const LISTED_WITHIN: Duration = Duration::from_secs(3);

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "model",
    aliases: &[],
    usage: "[name] [--provider P] [--session|--once|--global]",
    about: "Show or change the model",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let Asked { wanted, reach } = Asked::read(words)?;
    let reach = reach.unwrap_or_else(|| usual_reach(&wanted, &live.choice.settings));
    if wanted == ModelChoice::default() {
        let text = live.services().describe(Topic::Provider, "", &live.choice).await?;
        let usage = "/model NAME [--provider P] changes it; /models lists what the provider offers";
        return Ok(CommandOutcome::markdown(text).and_note(usage));
    }
    if reach == Reach::Once {
        live.quiet()?;
    }
    let who = live.services().resolve(&wanted).await?;
    let before = live.once.take_if(|_| reach == Reach::Once).unwrap_or_else(|| live.choice.clone());
    if wanted.model.is_some() {
        live.choice.model.clone_from(&wanted.model);
    }
    if wanted.provider.is_some() {
        live.choice.provider.clone_from(&wanted.provider);
    }
    live.switch();
    if reach == Reach::Once {
        live.once = Some(before);
    }
    live.remember_choice().await?;
    let mut pages = Vec::new();
    if live.is_busy() || live.agent.is_some() {
        let (model, provider) = (live.choice.model.clone(), live.choice.provider.clone());
        let change = Amend::Model { model, provider };
        let amended = live.engine().store.amend(live.id(), change).await;
        amended.map_err(|error| error.to_string())?;
        let when = if live.is_busy() { " from the next request on;" } else { "" };
        let note = format!("switching models{when} resets the provider's prompt cache");
        pages.push(Page::Note(note));
    }
    let reach = match reach {
        Reach::Session => "for this conversation".to_owned(),
        Reach::Once => "for the next turn".to_owned(),
        Reach::Global => live.services().save_model(&wanted)?,
    };
    pages.push(Page::Markdown(format!("{who} ({reach})")));
    if let Some(model) = &wanted.model {
        pages.extend(unlisted(live, model).await.map(Page::Note));
    }
    Ok(CommandOutcome { pages, ..CommandOutcome::default() })
}

/// How far a choice without a flag reaches: a model alone may be meant for good, a provider is not.
fn usual_reach(wanted: &ModelChoice, settings: &Settings) -> Reach {
    let persists = settings.get("model.persist_switch_by_default") == Some(&Value::Bool(true));
    if persists && wanted.model.is_some() { Reach::Global } else { Reach::Session }
}

/// A word about a model that its provider does not list; it may have it all the same.
async fn unlisted(live: &mut LiveSession, model: &str) -> Option<String> {
    let offers = tokio::time::timeout(LISTED_WITHIN, live.offers(OfferKind::Models)).await.ok()?;
    let names: Vec<String> = offers.ok()?.into_iter().map(|offer| offer.label).collect();
    if names.is_empty() || names.iter().any(|name| name == model) {
        return None;
    }
    let near = names.iter().map(|name| (strsim::osa_distance(name, model), name)).min();
    let near = near.filter(|(distance, _)| *distance <= model.len() / 2);
    let hint = near.map(|(_, name)| format!("; did you mean `{name}`?")).unwrap_or_default();
    Some(format!("⚠ the provider does not list `{model}`{hint}"))
}

/// How far a choice reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Session,
    Once,
    Global,
}

#[derive(Debug, PartialEq, Eq)]
struct Asked {
    wanted: ModelChoice,
    /// What was said about it, if anything.
    reach: Option<Reach>,
}

impl Asked {
    /// Reads the words; dashes that a phone made long are dashes.
    fn read(words: &str) -> Result<Self, String> {
        let words = words.replace(['—', '–'], "--");
        let mut asked = Self { wanted: ModelChoice::default(), reach: None };
        let mut words = words.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "--provider" => {
                    let provider = words.next().ok_or("--provider needs a name")?;
                    asked.wanted.provider = Some(provider.to_owned());
                }
                "--session" => asked.reach = Some(Reach::Session),
                "--once" => asked.reach = Some(Reach::Once),
                "--global" => asked.reach = Some(Reach::Global),
                flag if flag.starts_with("--") => return Err(format!("there is no `{flag}` here")),
                model => asked.wanted.model = Some(model.to_owned()),
            }
        }
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_without_a_flag_is_kept_where_the_settings_say_so() {
        let kept = serde_json::json!({"model": {"persist_switch_by_default": true}});
        let kept = Settings::from_values(kept.as_object().cloned().unwrap());
        let plain = Settings::from_values(serde_json::Map::new());
        let model = Asked::read("m").unwrap().wanted;
        let provider = Asked::read("--provider p").unwrap().wanted;
        assert_eq!(usual_reach(&model, &kept), Reach::Global);
        assert_eq!(usual_reach(&model, &plain), Reach::Session);
        assert_eq!(usual_reach(&provider, &kept), Reach::Session);
    }

    #[test]
    fn flags_are_read_in_any_order() {
        let wanted = |model: Option<&str>, provider: Option<&str>| ModelChoice {
            model: model.map(str::to_owned),
            provider: provider.map(str::to_owned),
        };
        let read = |words| Asked::read(words).map(|it| (it.wanted, it.reach));
        assert_eq!(read("a/b —once"), Ok((wanted(Some("a/b"), None), Some(Reach::Once))));
        assert_eq!(
            read("--provider p m --global"),
            Ok((wanted(Some("m"), Some("p")), Some(Reach::Global)))
        );
        assert!(read("m --forever").is_err() && read("--provider").is_err());
    }
}
