//! Where a reply goes: the words of a job become deliveries.

use std::sync::Arc;

use petasos_contract::delivery::{Deliveries, Destination, TargetError};
use petasos_contract::{Address, Settings};
use petasos_store::{DeliveryClass, Lane, NewDelivery, delivery_prefix};

use crate::host::CronHost;
use crate::job::JobBody;

/// Where the words of a job lead, and why some lead nowhere.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    /// The places, each once.
    pub places: Vec<Destination>,
    /// What could not be found.
    pub trouble: Vec<String>,
}

/// The targets of a job as they are now; `all` is whatever is there when it fires.
pub async fn resolve(body: &JobBody, host: &Arc<dyn CronHost>) -> Targets {
    let mut found = Targets::default();
    let words = body.deliver.split(',').map(str::trim);
    let words: Vec<&str> = words.filter(|word| !word.is_empty() && *word != "local").collect();
    if words.is_empty() {
        return found;
    }
    let Some(deliveries) = host.deliveries() else {
        found.trouble.push("no chat platform can be reached from this program".to_owned());
        return found;
    };
    let settings = host.settings();
    for word in words {
        match one(word, body, &*deliveries, &settings).await {
            Ok(places) => {
                for place in places {
                    let known = |it: &Destination| {
                        it.account == place.account && it.to_string() == place.to_string()
                    };
                    if !found.places.iter().any(known) {
                        found.places.push(place);
                    }
                }
            }
            Err(error) => found.trouble.push(error.to_string()),
        }
    }
    found
}

async fn one(
    word: &str,
    body: &JobBody,
    deliveries: &dyn Deliveries,
    settings: &Settings,
) -> Result<Vec<Destination>, TargetError> {
    let homes = async || -> Result<Vec<Destination>, TargetError> {
        let all = deliveries.destinations().await?;
        Ok(all
            .into_iter()
            .filter(|place| place.home)
            .map(|place| in_thread(place, settings))
            .collect())
    };
    match (word, &body.origin) {
        ("all", _) => homes().await,
        ("origin", None) => {
            let first = homes().await?.into_iter().next();
            first.map(|home| vec![home]).ok_or_else(|| TargetError::NotFound {
                target: "origin".to_owned(),
                hint: "the job was made in no chat, and no platform has a home".to_owned(),
                candidates: Vec::new(),
            })
        }
        (word, origin) => {
            let nowhere = Address::chat("cron", "none");
            let origin = origin.as_ref().unwrap_or(&nowhere);
            let place = deliveries.resolve(word, origin).await?;
            // A platform alone is its home.
            let home = !word.contains(':') && word != "origin";
            Ok(vec![if home { in_thread(place, settings) } else { place }])
        }
    }
}

/// A home in the thread that is for schedules, where one is set.
fn in_thread(place: Destination, settings: &Settings) -> Destination {
    if place.platform != "telegram" {
        return place;
    }
    let thread = settings.variable("TELEGRAM_CRON_THREAD_ID");
    let thread = thread.map(|it| it.value.expose().trim().to_owned());
    Destination { thread: thread.filter(|it| !it.is_empty()).or(place.thread.clone()), ..place }
}

/// What whoever makes a job should know about where its replies go: told now, not at night.
pub(crate) async fn told(body: &JobBody, host: &Arc<dyn CronHost>) -> Vec<String> {
    let targets = resolve(body, host).await;
    let mut told = targets.trouble;
    for place in &targets.places {
        if let Some(why) = &place.unreachable {
            told.push(format!("nothing arrives at {place} now: {why}"));
        }
    }
    if targets.places.is_empty() {
        told.push("replies are only saved; `petasos cron logs` shows them".to_owned());
    }
    told
}

/// The deliveries of a text to these places, for the store to plan.
pub(crate) fn deliveries(occurrence: &str, places: &[Destination], text: &str) -> Vec<NewDelivery> {
    let plan = |(number, place): (usize, &Destination)| NewDelivery {
        lane: Lane {
            platform: place.platform.clone(),
            account: place.account.clone(),
            chat: place.chat.clone(),
            thread: place.thread.clone(),
        },
        class: DeliveryClass::Final,
        token: format!("{}{number}", delivery_prefix(occurrence)),
        body: text.to_owned(),
        media: Vec::new(),
        buttons: Vec::new(),
        reply_to: None,
        inbox: None,
    };
    places.iter().enumerate().map(plan).collect()
}
