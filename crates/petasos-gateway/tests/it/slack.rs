//! Slack's own habits: envelopes that come again, one text as two events, commands in threads.

use std::sync::Arc;
use std::time::Duration;

use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_gateway::PLATFORMS;
use petasos_store::InboxStore as _;

use crate::double::Double;
use crate::doubles;
use crate::mortal::When;
use crate::suite::{Side, arrives, begin, bounded};
use crate::world::{Config, World};

fn echo() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        Act::Say(format!("heard: {}", said.unwrap_or_default()))
    })
}

fn config(side: &Double<doubles::slack::Slack>) -> Config {
    Config {
        values: Box::leak(side.values().into_boxed_str()),
        variables: side.variables(),
        platforms: PLATFORMS.iter().copied().filter(|def| def.name == "slack").collect(),
        ..Config::default()
    }
}

#[tokio::test]
async fn s63_s87_a_retried_envelope_is_a_delivery_and_one_text_is_answered_once() {
    bounded(async {
        let side = doubles::slack::new().await;
        let (_home, world) = begin(&side).await;
        // A first delivery that says that it is a retry is no repeat.
        side.push(&side.vendor.retried(1, "<@UBOT01> hello"));
        arrives(&side, "an answer", |it| it.text.contains("hello")).await;
        // In threads Slack has no slash commands.
        side.push(&side.vendor.retried(2, "<@UBOT01> !whoami"));
        let told = arrives(&side, "a command in a thread", |it| it.text.contains("You are")).await;
        assert_eq!(told.chat, "C00001");
        side.write(3, "twice");
        side.again(1);
        arrives(&side, "the other answer", |it| it.text.contains("heard: twice")).await;
        side.write(4, "the last");
        arrives(&side, "the last answer", |it| it.text.contains("heard: the last")).await;
        let count = |text: &str| side.arrived().iter().filter(|it| it.text.contains(text)).count();
        assert_eq!((count("heard: twice"), count("hello")), (1, 1));
        let rows = world.store.depths().await.unwrap();
        assert_eq!(rows.iter().map(|(_, count)| count).sum::<u64>(), 4, "{rows:?}");
    })
    .await;
}

#[tokio::test]
async fn t1_t15_a_file_is_fetched_from_the_vendor_alone_and_for_nobody_who_may_not_write() {
    bounded(async {
        let side = doubles::slack::new().await;
        let (home, world) = begin(&side).await;
        let inside = "http://169.254.169.254/latest/meta-data";
        side.push(&side.vendor.with_file(1, inside));
        let told = arrives(&side, "a word", |it| it.text.contains("did not arrive")).await;
        assert!(told.text.contains("no host of Slack"), "{}", told.text);
        // A stranger's file is not even asked for.
        let theirs = format!("{}/files/in.txt", side.url);
        let frame = side.vendor.with_file(2, &theirs).replace("U00001", "U66666");
        side.push(&frame);
        side.write(3, "hello");
        arrives(&side, "an answer", |it| it.text.contains("heard: hello")).await;
        let kept = std::fs::read_dir(home.path().join("cache/documents")).unwrap();
        let kept: Vec<_> = kept.flatten().map(|it| it.file_name()).collect();
        assert_eq!(kept, ["out.txt"], "nothing but what the test laid there");
        assert_eq!(world.gateway.status().await.unwrap().counts["strangers"], 1);
    })
    .await;
}

#[tokio::test]
async fn s87_what_is_not_stored_in_time_is_not_confirmed_and_comes_again() {
    bounded(async {
        let side = doubles::slack::new().await;
        let home = tempfile::tempdir().unwrap();
        let stuck = Config { dies: Some(("accept", When::Before, 0)), ..config(&side) };
        let world = World::at(home.path(), Arc::default(), echo(), stuck).await;
        arrives_socket(&side).await;
        side.write(1, "hello");
        crate::world::within("the store stands still", world.mortal.died()).await;
        // Slack wants a confirmation within three seconds; it gets none.
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(side.vendor.unconfirmed(), 1, "nothing is confirmed that is not stored");
        drop(world);
        let world = World::at(home.path(), Arc::default(), echo(), config(&side)).await;
        arrives(&side, "an answer", |it| it.text.contains("heard: hello")).await;
        crate::world::holds("a confirmation", async || side.vendor.unconfirmed() == 0).await;
        let rows = world.store.depths().await.unwrap();
        assert_eq!(rows.iter().map(|(_, count)| count).sum::<u64>(), 1, "{rows:?}");
    })
    .await;
}

async fn arrives_socket(side: &Double<doubles::slack::Slack>) {
    crate::world::holds("a connection", async || side.connections() > 0).await;
}
