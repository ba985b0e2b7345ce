//! The mixture of agents: who is asked what, who is billed, and what a missing opinion does.

use std::sync::Arc;

use petasos_contract::context::Surface;
use petasos_contract::event::EventSink;
use petasos_contract::message::Message;
use petasos_contract::model::{Model as _, Prompt, Role};
use petasos_contract::{CallContext, Settings, TurnId};
use petasos_net::client::{Net, NetOptions};
use petasos_providers::client::Client;
use petasos_providers::route::VaultRoutes;
use petasos_providers::table::Table;
use serde_json::{Value, json};

use super::scene::{Heard, told};
use super::server::{Act, Server, error, stream};
use crate::golden::weather;

/// Three servers: two advisers, and whoever answers.
struct Trio {
    servers: Vec<Server>,
    client: Client,
    cx: CallContext,
    heard: Arc<Heard>,
}

impl Trio {
    async fn new(acts: [Vec<Act>; 3], more: Value) -> Self {
        let mut servers = Vec::new();
        for acts in acts {
            servers.push(Server::start(acts).await);
        }
        let names = ["left", "right", "judge"];
        let entries: Vec<Value> = names
            .iter()
            .zip(&servers)
            .map(|(name, server)| {
                json!({"name": name, "base_url": server.url(), "api_key": format!("key-{name}-01")})
            })
            .collect();
        let slot = |name: &str| json!({"provider": format!("custom:{name}"), "model": name});
        let mut preset = json!({"reference_models": [slot("left"), slot("right")],
            "aggregator": slot("judge")});
        preset.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let values = json!({"model": {"provider": "moa"}, "custom_providers": entries,
            "moa": {"presets": {"default": preset}}});
        let settings = Arc::new(Settings::from_values(values.as_object().unwrap().clone()));
        let heard = Arc::<Heard>::default();
        let mut cx = CallContext::new(settings, Surface::Cli, "s".into());
        cx.events = EventSink::to(heard.clone());
        let net = Arc::new(Net::new(NetOptions::default()));
        let routes = Arc::new(VaultRoutes::new(net.clone()));
        let client = Client::new(routes, net, Table::built_in()).with_pace(0.001);
        Self { servers, client, cx, heard }
    }

    async fn ask(&self) -> String {
        let prompt = Prompt {
            system: "You are terse.".to_owned(),
            messages: vec![Message::user("hello")],
            tools: Arc::from([weather()]),
            ..Prompt::default()
        };
        told(&self.client.ask(&prompt, Role::Main, &self.cx).await)
    }

    fn asked(&self, at: usize) -> Vec<String> {
        self.servers[at].bodies()
    }
}

#[tokio::test]
async fn advisers_are_asked_once_a_turn_and_everybody_is_billed_by_role() {
    let answers = vec![stream("first"), stream("second"), stream("third")];
    let advice = || vec![stream("an opinion"), stream("a later one")];
    let mut trio = Trio::new([advice(), advice(), answers], json!({})).await;
    assert_eq!(trio.ask().await, "moa, custom, custom, custom, = first");
    assert_eq!(trio.ask().await, "moa, custom, = second");
    trio.cx.turn = TurnId::from("turn-1");
    assert_eq!(trio.ask().await, "moa, custom, custom, custom, = third");
    assert_eq!((trio.asked(0).len(), trio.asked(1).len()), (2, 2));
    for question in [&trio.asked(0)[0], &trio.asked(1)[0]] {
        assert!(question.contains("hello") && question.contains("You are terse."), "{question}");
        assert!(!question.contains("get_weather"), "advisers have no tools: {question}");
    }
    let judged = &trio.asked(2)[0];
    assert!(judged.contains("an opinion") && judged.contains("get_weather"), "{judged}");
    assert_eq!(trio.servers[2].keys(), ["key-judge-01"; 3]);
    let lines = trio.client.ledger().lines(&trio.cx.session);
    let billed: Vec<_> =
        lines.iter().map(|line| (line.role.unwrap(), line.usage.requests)).collect();
    let advisers = (Role::MoaReference, 2);
    assert_eq!(billed, [advisers, advisers, (Role::MoaAggregator, 3)]);
}

#[tokio::test]
async fn a_missing_opinion_is_named_and_none_at_all_ends_it() {
    let broken = || vec![error(401)];
    let trio = Trio::new([broken(), vec![stream("mine")], vec![stream("done")]], json!({})).await;
    assert!(trio.ask().await.ends_with("= done"));
    let notices = trio.heard.notices.lock().unwrap().clone();
    assert!(notices.iter().any(|text| text.contains("`left` gave no opinion")), "{notices:?}");
    let trio = Trio::new([broken(), broken(), vec![stream("done")]], json!({})).await;
    let path = trio.ask().await;
    assert!(path.ends_with("auth, gave up") || path.ends_with("auth/401, gave up"), "{path}");
    assert!(trio.asked(2).is_empty());
}

#[tokio::test]
async fn advisers_may_be_asked_in_every_round() {
    let many = |text: &str| vec![stream(text), stream(text)];
    let setup = [many("a"), many("b"), many("c")];
    let trio = Trio::new(setup, json!({"fanout": "per_iteration"})).await;
    trio.ask().await;
    trio.ask().await;
    assert_eq!(trio.asked(0).len(), 2);
}
