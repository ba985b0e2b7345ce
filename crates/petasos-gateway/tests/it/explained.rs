//! `gateway explain` says what the gateway then does, for 500 configurations.

use petasos_agent::{Act, Scripted};
use petasos_gateway::platform::Arrival;
use petasos_gateway::{LoopbackServer, explain};
use petasos_store::{ChatKind, InboxStore as _, RouteStore as _};
use serde_json::json;

use crate::world::{Config, World, settings};

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn one_of(&mut self, words: &[&str]) -> String {
        let at = usize::try_from(self.roll(words.len() as u64)).unwrap();
        words[at].to_owned()
    }
}

fn config(dice: &mut Dice) -> Config {
    let flag = |dice: &mut Dice| dice.roll(6) == 0;
    let people = ["", "una", "ben", "una,ben", "ada"];
    let mut variables = vec![
        ("LOOPBACK_ALLOWED_USERS", dice.one_of(&people)),
        ("LOOPBACK_GROUP_ALLOWED_USERS", dice.one_of(&people)),
        ("LOOPBACK_GROUP_ALLOWED_CHATS", dice.one_of(&["", "", "g"])),
        ("GATEWAY_ALLOWED_USERS", dice.one_of(&["", "", "ben", "loopback:una", "*"])),
    ];
    if flag(dice) {
        variables.push(("LOOPBACK_ALLOW_ALL_USERS", "true".to_owned()));
    }
    if flag(dice) {
        variables.push(("GATEWAY_ALLOW_ALL_USERS", "true".to_owned()));
    }
    let values = json!({
        "gateway": {
            "group_sessions_per_user": dice.roll(2) == 0,
            "thread_sessions_per_user": dice.roll(2) == 0,
            "owner": if flag(dice) { json!("loopback:una") } else { json!(null) },
        },
        "platforms": { "loopback": { "extra": {
            "allow_admin_from": if dice.roll(2) == 0 { json!([]) } else { json!(["ben"]) },
            "group_allow_admin_from": if dice.roll(2) == 0 { json!([]) } else { json!(["una"]) },
        } } },
        "display": { "busy_input_mode": dice.one_of(&["interrupt", "queue", "steer", "collect"]) },
        "unauthorized_dm_behavior": "ignore",
    });
    Config {
        values: Box::leak(values.to_string().into_boxed_str()),
        variables,
        ..Config::default()
    }
}

#[tokio::test]
async fn s14_explain_says_what_the_gateway_does_in_500_configurations() {
    let model = || Scripted::default().otherwise(|_, _| Act::say("ok"));
    let mut world = World::new(model()).await;
    let mut dice = Dice(20);
    let (mut admitted, mut refused) = (0, 0);
    for round in 0..500 {
        // Nobody writes more than a hundred messages a minute to one gateway.
        if round % 50 == 0 {
            world = World::new(model()).await;
        }
        let settings = settings(world.home(), &config(&mut dice));
        world.gateway.reload(&settings).await.unwrap();
        let user = dice.one_of(&["una", "ben", "cyd"]);
        let group = dice.roll(2) == 0;
        let (chat, kind) = if group {
            ("g".to_owned(), ChatKind::Group)
        } else {
            (format!("d{round}"), ChatKind::Dm)
        };
        let place = (user.as_str(), chat.as_str(), kind);
        let said = explain(&*world.store, &settings, LoopbackServer::def(), place);
        let said = said.await.unwrap().unwrap();
        let before = world.store.depths().await.unwrap().iter().map(|it| it.1).sum::<u64>();
        let sent = world.server.sent().len();
        let arrival = Arrival {
            chat_kind: kind,
            addressed: true,
            ..Arrival::text(&chat, &user, &round.to_string(), "/whoami")
        };
        assert!(world.server.give(arrival).await);
        let after = world.store.depths().await.unwrap().iter().map(|it| it.1).sum::<u64>();
        assert_eq!(after > before, said.class.is_some(), "round {round}: {said:?}");
        let Some(class) = said.class else {
            refused += 1;
            continue;
        };
        admitted += 1;
        let answers = world.until("who they are", |all| all.len() > sent).await;
        let wanted = format!("You are `{user}` on loopback: {class}, let in by “{}”.", said.rule);
        assert_eq!(answers[sent].text, wanted, "round {round}");
        let routes = world.store.routes_of("loopback", 1000).await.unwrap();
        let key = said.key.unwrap();
        assert!(routes.iter().any(|route| route.key.to_string() == key), "round {round}: {key}");
    }
    assert!(admitted > 100 && refused > 100, "{admitted} and {refused}");
}
