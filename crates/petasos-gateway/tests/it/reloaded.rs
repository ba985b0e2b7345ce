//! New settings while the gateway runs: accounts that were changed connect anew, others stay.

use std::sync::Arc;

use petasos_contract::Settings;
use petasos_gateway::{Account, AccountState};
use serde_json::json;

use crate::telegram::{BotApi, config, echo};
use crate::world::{Config, World, holds, settings};

fn account(world: &World, platform: &str) -> Option<Arc<Account>> {
    world.gateway.accounts().iter().find(|it| it.def.name == platform).cloned()
}

fn told(world: &World, config: &Config) -> Arc<Settings> {
    settings(world.home(), config)
}

async fn connected(world: &World) {
    holds("a connection", async || {
        account(world, "telegram").is_some_and(|it| it.state().0 == AccountState::Connected)
    })
    .await;
}

#[tokio::test]
async fn a_changed_account_connects_anew_and_others_stay() {
    let (old, new) = (BotApi::new().await, BotApi::new().await);
    let world = World::with(echo(), config(&old.url)).await;
    connected(&world).await;
    let before = (account(&world, "telegram").unwrap(), account(&world, "loopback").unwrap());

    // Who may write is heeded without a new connection.
    let mut more = config(&old.url);
    more.variables[1].1 = "7,8,9".to_owned();
    world.gateway.reload(&told(&world, &more)).await.unwrap();
    assert!(Arc::ptr_eq(&before.0, &account(&world, "telegram").unwrap()));
    old.message(1, 9, "am I in?");
    old.until("an answer to the new person", |sent| sent.len() == 1).await;

    // What cannot be used changes nothing.
    let mut wrong = config(&new.url);
    wrong.variables[1].1 = "Una Display Name".to_owned();
    assert!(world.gateway.reload(&told(&world, &wrong)).await.is_err());
    assert!(Arc::ptr_eq(&before.0, &account(&world, "telegram").unwrap()));

    // Another server is another connection, for this account alone.
    world.gateway.reload(&told(&world, &config(&new.url))).await.unwrap();
    connected(&world).await;
    assert!(!Arc::ptr_eq(&before.0, &account(&world, "telegram").unwrap()));
    assert!(Arc::ptr_eq(&before.1, &account(&world, "loopback").unwrap()));
    let polled = old.polled();
    new.message(2, 7, "here now");
    new.until("an answer on the new server", |sent| sent.len() == 1).await;
    assert_eq!((old.polled(), old.sent().len()), (polled, 1), "nobody reads the old one");

    // An account whose token is taken away is gone, and comes back with it.
    let mut without = config(&new.url);
    without.variables.remove(0);
    world.gateway.reload(&told(&world, &without)).await.unwrap();
    assert!(account(&world, "telegram").is_none());
    new.message(3, 7, "are you there?");
    world.gateway.reload(&told(&world, &config(&new.url))).await.unwrap();
    new.until("an answer to what waited", |sent| sent.len() == 2).await;
}

/// A poll that takes so long is another way to be connected.
fn polling(url: &str, seconds: i64) -> Config {
    let values = json!({
        "telegram": { "base_url": url, "base_file_url": url, "poll_seconds": seconds },
        "display": {
            "busy_input_mode": "queue", "busy_ack_enabled": false,
            "platforms": { "telegram": { "streaming": false } },
        },
    });
    Config { values: Box::leak(values.to_string().into_boxed_str()), ..config(url) }
}

#[tokio::test]
async fn messages_that_come_while_accounts_change_are_answered_once() {
    const ROUNDS: i64 = 12;
    let api = BotApi::new().await;
    let world = World::with(echo(), polling(&api.url, 2)).await;
    for round in 1..=ROUNDS {
        api.message(round, 7, &format!("message number {round}."));
        let next = polling(&api.url, 2 + round);
        world.gateway.reload(&told(&world, &next)).await.unwrap();
    }
    let answers = |sent: &[serde_json::Value]| -> Vec<String> {
        let texts = sent.iter().filter_map(|it| it["text"].as_str());
        texts.filter(|text| text.contains("heard")).map(str::to_owned).collect()
    };
    let expected: Vec<String> =
        (1..=ROUNDS).map(|round| format!("<b>heard</b>: message number {round}.")).collect();
    let sent = api.until("every answer", |sent| answers(sent).len() >= expected.len()).await;
    assert_eq!(answers(&sent), expected, "in order, and each once");
    holds("nothing that is left", async || {
        let status = world.gateway.status().await.unwrap();
        status.working == 0 && !status.outbox.contains_key("planned")
    })
    .await;
    assert_eq!(answers(&api.sent()).len(), expected.len());
}
