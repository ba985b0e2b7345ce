//! What a chat chooses for itself, and which commands there are.

use petasos_agent::{Act, Scripted};
use petasos_session::CommandClass;

use crate::telegram::{BotApi, config, echo};
use crate::world::{Config, World};

#[tokio::test]
async fn s13_footer_verbose_and_voice_are_kept_with_the_chat_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let values =
        r#"{ "model": { "default": "m-1" }, "display": { "tool_progress_command": true } }"#;
    let allowed = || Config::allowing("una").and(values);
    let say = || Scripted::default().otherwise(|_, _| Act::say("said"));
    let world = World::at(folder.path(), std::sync::Arc::default(), say(), allowed()).await;
    let lines = ["/footer on", "/verbose all", "/voice all", "/footer status", "hello"];
    for (number, line) in lines.iter().enumerate() {
        world.una(&format!("a{number}"), line).await;
        world.texts("c-una", number + 1).await;
    }
    let texts = world.texts("c-una", lines.len()).await;
    assert_eq!(texts[0], "Facts stand below answers.");
    assert_eq!(texts[2], "Every answer is said aloud, too.");
    assert!(texts[4].starts_with("said") && texts[4].contains("m-1"), "{texts:?}");
    drop(world);
    crate::world::forget_owner(folder.path());
    let world = World::at(folder.path(), std::sync::Arc::default(), say(), allowed()).await;
    for (number, line) in ["/voice", "/verbose", "again"].iter().enumerate() {
        world.una(&format!("b{number}"), line).await;
        world.texts("c-una", number + 1).await;
    }
    let texts = world.texts("c-una", 3).await;
    assert_eq!(texts[0], "Every answer is said aloud, too.");
    assert_eq!(texts[1], "Tool calls are shown: all.");
    assert!(texts[2].contains("m-1"), "{texts:?}");
}

#[tokio::test]
async fn a_topic_goes_on_with_the_conversation_of_its_chat_and_has_its_own_again() {
    let api = BotApi::new().await;
    let world = World::with(echo(), config(&api.url)).await;
    let write = |id: i64, topic: Option<i64>, text: &str| {
        let mut message = serde_json::json!({
            "message_id": id, "date": crate::double::now(), "text": text,
            "from": { "id": 7, "is_bot": false, "first_name": "Una" },
            "chat": { "id": 7, "type": "private" },
        });
        if let Some(topic) = topic {
            message["message_thread_id"] = topic.into();
            message["is_topic_message"] = true.into();
        }
        api.update(id, &serde_json::json!({ "message": message }));
    };
    let said = async |count: usize| {
        let sent = api.until("an answer", |sent| sent.len() >= count).await;
        sent[count - 1]["text"].as_str().unwrap().to_owned()
    };
    write(1, None, "hello");
    said(1).await;
    write(2, None, "/status");
    let whole = said(2).await;
    write(3, Some(5), "/topic off");
    let told = said(3).await;
    let session = told.split("<code>").nth(1).and_then(|rest| rest.split('<').next()).unwrap();
    assert!(whole.contains(session), "the topic goes on with the chat's: {told} {whole}");
    write(4, Some(5), "/topic on");
    assert!(!said(4).await.contains(session), "and then has its own");
    write(5, None, "/topic off");
    assert!(said(5).await.contains("no topic"));
    drop(world);
}

#[tokio::test]
async fn a_beginning_that_is_no_other_commands_is_the_command_and_keeps_its_class() {
    let values = r#"{ "platforms": { "loopback": { "extra": { "allow_admin_from": ["ben"], "user_allowed_commands": ["version", "cron", "queue"] } } } }"#;
    let world = World::with(echo(), Config::allowing("una,ben").and(values)).await;
    let lines = [
        ("/vers", "petasos "),
        ("/sethom", "/sethome is for administrators."),
        ("/checkpoints", "/rollback is for administrators."),
        ("/settings", "for administrators"),
        ("/cron", "no schedules"),
        ("/cron pause x", "/cron is for administrators."),
        ("/queue /yolo on", "Commands do not wait: say /yolo by itself."),
        ("/interrupt", "Nothing runs."),
    ];
    for (number, (line, expected)) in lines.iter().enumerate() {
        world.una(&format!("{number}"), line).await;
        let texts = world.texts("c-una", number + 1).await;
        assert!(texts[number].contains(expected), "{line}: {texts:?}");
    }
}

#[tokio::test]
async fn s57_everybody_is_told_what_they_may_run_a_page_at_a_time() {
    let values = r#"{ "platforms": { "loopback": { "extra": { "allow_admin_from": ["ben"] } } } }"#;
    let world = World::with(echo(), Config::allowing("una,ben").and(values)).await;
    world.una("1", "/help").await;
    let few = world.texts("c-una", 1).await[0].clone();
    for row in petasos_session::command_table() {
        let open = row.class == CommandClass::Everybody && row.places.contains('g');
        let hidden = matches!(row.name, "help" | "start");
        assert_eq!(few.contains(&format!("`/{}", row.name)), open && !hidden, "/{}", row.name);
    }
    world.server.give(petasos_gateway::platform::Arrival::text("c-ben", "ben", "2", "/help")).await;
    let first = world.texts("c-ben", 1).await[0].clone();
    assert_eq!(first.matches("\n- ").count(), 20, "{first}");
    assert!(first.contains("/commands 2"), "{first}");
    world
        .server
        .give(petasos_gateway::platform::Arrival::text("c-ben", "ben", "3", "/commands 2"))
        .await;
    let second = world.texts("c-ben", 2).await[1].clone();
    assert!(second.contains("(2 of ") && !second.contains("`/whoami"), "{second}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s62_discords_menu_is_set_once_and_a_command_of_it_is_answered() {
    crate::suite::bounded(async {
        let side = crate::doubles::discord::new().await;
        let (home, world) = crate::suite::begin(&side).await;
        crate::world::holds("a menu", async || side.menu().1 == 1).await;
        let (menu, _) = side.menu();
        let menu = menu.as_array().unwrap();
        assert!(menu.len() > 20 && menu.len() <= 100, "{menu:?}");
        for item in menu {
            let (name, about) = (item["name"].as_str().unwrap(), item["description"].as_str());
            assert!(
                name.len() <= 32 && about.is_some_and(|it| (1..=100).contains(&it.chars().count()))
            );
        }
        side.choose(1, "version", "");
        crate::suite::arrives(&side, "the version", |it| it.text.contains("petasos ")).await;
        assert_eq!(side.answers()[0]["data"]["content"], "`/version`", "heard at once");
        // The same menu is not set again, by a new connection or a new process.
        drop(world);
        crate::world::forget_owner(home.path());
        let config = Config {
            values: Box::leak(crate::suite::Side::values(&side).into_boxed_str()),
            variables: crate::suite::Side::variables(&side),
            platforms: petasos_gateway::PLATFORMS
                .iter()
                .copied()
                .filter(|def| def.name == "discord")
                .collect(),
            ..Config::default()
        };
        let world = World::at(home.path(), std::sync::Arc::default(), echo(), config).await;
        crate::suite::connects(&side, &world).await;
        side.choose(2, "whoami", "");
        crate::suite::arrives(&side, "who she is", |it| it.text.contains("1001")).await;
        assert_eq!(side.menu().1, 1);
    })
    .await;
}
