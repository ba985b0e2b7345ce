//! Platforms that call us: what is not signed is not read, nothing is answered before it is stored,
//! and answers that come too late for the platform are told and not repeated.

use std::time::Duration;

use petasos_agent::{Act, Scripted};
use petasos_gateway::PLATFORMS;
use petasos_store::{DeliveryState, InboxState, InboxStore as _, OutboxStore as _};
use serde_json::json;

use crate::double::{free_port, hit};
use crate::doubles::whatsapp_cloud::Cloud;
use crate::doubles::{sms, whatsapp_cloud};
use crate::suite::{arrives, begin, bounded};
use crate::telegram::BotApi;
use crate::world::{Config, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t7_unsigned_and_wrongly_signed_deliveries_are_not_read() {
    bounded(async {
        let side = whatsapp_cloud::new().await;
        let (_home, world) = begin(&side).await;
        let port = side.vendor.port;
        let body = Cloud::event(&Cloud::text("wamid.x", "let me in", crate::double::now()));
        let tries = [
            "POST /whatsapp/webhook HTTP/1.1".to_owned(),
            "POST /whatsapp/webhook HTTP/1.1\r\nX-Hub-Signature-256: sha256=".to_owned(),
            format!("POST /whatsapp/webhook HTTP/1.1\r\nX-Hub-Signature-256: sha256={}", "0".repeat(64)),
            Cloud::head(b"something else"),
        ];
        for head in tries {
            let answered = tokio::task::block_in_place(|| hit(port, &head, &body)).unwrap();
            assert_eq!(answered.0, 401, "{head}");
        }
        // Meta's first call proves itself with a token, and gets its challenge back.
        let ask = |token: &str| {
            let head = format!(
                "GET /whatsapp/webhook?hub.mode=subscribe&hub.verify_token={token}&hub.challenge=42 HTTP/1.1"
            );
            tokio::task::block_in_place(|| hit(port, &head, b"")).unwrap()
        };
        assert_eq!(ask("verify-me"), (200, "42".to_owned()));
        assert_eq!(ask("guess").0, 403);
        assert!(world.store.depths().await.unwrap().is_empty(), "no row of a stranger");
        let side = sms::new().await;
        let (_home, world) = begin(&side).await;
        let (form, signed) = sms::form(1, "let me in");
        let port = side.vendor.port;
        for bad in ["", "AAAA", &signed.to_lowercase()] {
            let answered =
                tokio::task::block_in_place(|| hit(port, &sms::head(bad), form.as_bytes()));
            assert_eq!(answered.unwrap().0, 401);
        }
        assert!(world.store.depths().await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t6_a_replayed_delivery_is_taken_and_answered_once() {
    bounded(async {
        let side = whatsapp_cloud::new().await;
        let (_home, world) = begin(&side).await;
        let port = side.vendor.port;
        let body = Cloud::event(&Cloud::text("wamid.replayed", "once", crate::double::now()));
        for _ in 0..5 {
            let answered = tokio::task::block_in_place(|| hit(port, &Cloud::head(&body), &body));
            assert_eq!(answered.unwrap().0, 200, "the vendor is told that it has arrived");
        }
        crate::world::holds("an answer", async || {
            let done = [InboxState::Answered, InboxState::Delivered];
            let depths = world.store.depths().await.unwrap();
            depths.iter().any(|it| done.contains(&it.0))
        })
        .await;
        let status = world.gateway.status().await.unwrap();
        assert_eq!((status.counts["accepted"], status.counts["turns"]), (1, 1));
        assert_eq!(status.counts["repeated"], 4);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s97_an_answer_after_the_window_is_told_and_not_repeated() {
    bounded(async {
        let side = whatsapp_cloud::new().await;
        let def = PLATFORMS.iter().copied().find(|def| def.name == "whatsapp_cloud").unwrap();
        let values = json!({
            "platforms": { "whatsapp_cloud": { "base_url": side.url } },
            "gateway": { "stale_policy": "run" },
        });
        let mut variables = crate::suite::Side::variables(&side);
        variables.push(("LOOPBACK_ALLOWED_USERS", "una".to_owned()));
        let config = Config {
            values: Box::leak(values.to_string().into_boxed_str()),
            variables,
            platforms: vec![def],
            ..Config::default()
        };
        let model = Scripted::default().otherwise(|prompt, _| {
            let said = prompt.messages.iter().rev().find_map(|message| match message {
                petasos_contract::message::Message::User { content } => Some(content.text()),
                _ => None,
            });
            Act::Say(format!("heard: {}", said.unwrap_or_default()))
        });
        let world = World::with(model, config).await;
        // Somebody wrote long ago, by the vendor's clock; the owner's home hears of it.
        world.una("h", "/sethome").await;
        world.texts("c-una", 1).await;
        let old = crate::double::now() - 25 * 3600;
        side.vendor.bring(1, &Cloud::text("wamid.old", "hello", old));
        let told = world.until("a word at home", |sent| {
            sent.iter().any(|it| it.text.contains("was not delivered"))
        });
        let told = told.await;
        assert!(told.iter().any(|it| it.text.contains("1440 minutes")), "{told:?}");
        // The vendor's own word for it counts as well.
        *side.vendor.refuse.lock() = Some(131_047);
        side.vendor.bring(2, &Cloud::text("wamid.new", "and now", crate::double::now()));
        world
            .until("a second word at home", |sent| {
                sent.iter().filter(|it| it.text.contains("was not delivered")).count() == 2
            })
            .await;
        let dead = world.store.deliveries(&[DeliveryState::Dead], 10).await.unwrap();
        assert_eq!(dead.len(), 2, "{dead:#?}");
        side.vendor.bring(3, &Cloud::text("wamid.3", "once more", crate::double::now()));
        arrives(&side, "a new message opens it", |it| it.text.contains("heard: once more")).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s85_telegrams_webhook_wants_its_secret() {
    let api = BotApi::new().await;
    let def = PLATFORMS.iter().copied().find(|def| def.name == "telegram").unwrap();
    let port = free_port();
    let values = json!({ "telegram": { "base_url": api.url } }).to_string();
    let config = |secret: &str| Config {
        values: Box::leak(values.clone().into_boxed_str()),
        variables: vec![
            ("TELEGRAM_BOT_TOKEN", crate::telegram::TOKEN.to_owned()),
            ("TELEGRAM_ALLOWED_USERS", "7".to_owned()),
            ("TELEGRAM_WEBHOOK_URL", "https://example.org/tg".to_owned()),
            ("TELEGRAM_WEBHOOK_PORT", port.to_string()),
            ("TELEGRAM_WEBHOOK_SECRET", secret.to_owned()),
        ],
        platforms: vec![def],
        ..Config::default()
    };
    for bad in ["", "with a blank", &"x".repeat(257)] {
        let settings = crate::world::settings(std::path::Path::new("/nowhere"), &config(bad));
        let net = std::sync::Arc::new(petasos_net::Net::default());
        let opening = petasos_gateway::platform::Opening { settings: &settings, net: &net };
        assert!((def.open)(&opening).is_err(), "{bad}");
    }
    let model = Scripted::default().otherwise(|_, _| Act::say("hello back"));
    let world = World::with(model, config("s3cret_-")).await;
    let told = api.until_called("setWebhook").await;
    assert_eq!(told["secret_token"], "s3cret_-");
    assert_eq!(told["drop_pending_updates"], false);
    let update = json!({ "update_id": 5, "message": {
        "message_id": 1, "date": crate::double::now(), "text": "hello",
        "from": { "id": 7, "is_bot": false, "first_name": "Una" }, "chat": { "id": 7, "type": "private" },
    } })
    .to_string();
    let ask = |secret: &str| {
        let head = match secret {
            "" => "POST /tg HTTP/1.1".to_owned(),
            secret => format!("POST /tg HTTP/1.1\r\nX-Telegram-Bot-Api-Secret-Token: {secret}"),
        };
        tokio::task::block_in_place(|| {
            for _ in 0..3000 {
                match hit(port, &head, update.as_bytes()) {
                    Some((status, _)) => return status,
                    None => std::thread::sleep(Duration::from_millis(20)),
                }
            }
            unreachable!("nobody listens at {port}")
        })
    };
    assert_eq!((ask(""), ask("wrong"), ask("s3cret_")), (401, 401, 401));
    assert!(world.store.depths().await.unwrap().is_empty());
    assert_eq!(ask("s3cret_-"), 200);
    assert_eq!(ask("s3cret_-"), 200, "delivered again");
    api.until("an answer", |sent| !sent.is_empty()).await;
    let depths = world.store.depths().await.unwrap();
    assert_eq!(depths.iter().map(|(_, count)| count).sum::<u64>(), 1, "one row");
    assert_eq!(api.sent().len(), 1);
    assert!(depths.iter().all(|(state, _)| *state != InboxState::Failed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s29_a_full_inbox_answers_503_and_nothing_is_lost() {
    bounded(async {
        let side = sms::new().await;
        let def = PLATFORMS.iter().copied().find(|def| def.name == "sms").unwrap();
        let values = json!({
            "platforms": { "sms": { "base_url": side.url } }, "gateway": { "inbox_limit": 1 },
            "display": { "busy_input_mode": "queue" },
        });
        let config = Config {
            values: Box::leak(values.to_string().into_boxed_str()),
            variables: crate::suite::Side::variables(&side),
            platforms: vec![def],
            ..Config::default()
        };
        let model =
            Scripted::new([Act::After(Duration::from_secs(1), Box::new(Act::say("first")))])
                .otherwise(|_, _| Act::say("second"));
        let world = World::with(model, config).await;
        let (port, mut seen) = (side.vendor.port, Vec::new());
        for id in 1..=2 {
            let (form, signed) = sms::form(id, "hello");
            loop {
                let answered =
                    tokio::task::block_in_place(|| hit(port, &sms::head(&signed), form.as_bytes()));
                match answered {
                    Some((200, _)) => break,
                    Some((status, _)) => seen.push(status),
                    None => {}
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        assert!(seen.contains(&503) && seen.iter().all(|it| *it == 503), "{seen:?}");
        arrives(&side, "both answers", |it| it.text == "second").await;
        assert_eq!(world.store.depths().await.unwrap().iter().map(|it| it.1).sum::<u64>(), 2);
    })
    .await;
}
