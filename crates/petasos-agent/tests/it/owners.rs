//! What a model can read of other conversations: those of the same chat, and never another's.

use petasos_agent::{Act, Agent, Scripted};
use petasos_contract::address::Address;
use petasos_store::{Lineage, NewSession};
use serde_json::json;

use crate::world::{World, told};

fn owner(chat: &str, user: Option<&str>) -> Address {
    Address { user: user.map(Into::into), ..Address::chat("telegram", chat) }
}

/// Everything that a session of this owner gets to read, whatever it asks for.
async fn read_by(world: &World, owner: Option<Address>, handles: &[String]) -> String {
    let mut choice = world.choice();
    choice.new.owner = owner;
    let mut agent = Agent::begin(std::sync::Arc::clone(&world.engine), choice).await.unwrap();
    let mut calls = vec![
        ("session_search", json!({ "query": "secret" }).to_string()),
        ("session_search", json!({ "query": "ecre" }).to_string()),
        ("session_search", json!({ "query": "se" }).to_string()),
        ("session_search", json!({ "limit": 10 }).to_string()),
        ("session_search", json!({ "session_id": "latest" }).to_string()),
    ];
    for handle in handles {
        calls.push(("session_search", json!({ "session_id": handle }).to_string()));
        let around = json!({ "session_id": handle, "around_message_id": 1, "window": 20 });
        calls.push(("session_search", around.to_string()));
    }
    let calls: Vec<(&str, &str)> =
        calls.iter().map(|(name, args)| (*name, args.as_str())).collect();
    world.model.then([Act::calls("looking", &calls), Act::say("done")]);
    agent.turn("look around".into(), &world.cx()).await.unwrap();
    told(&agent).join("\n")
}

#[tokio::test]
async fn no_reader_of_a_model_sees_another_owners_conversations() {
    let world = World::new(Scripted::new([]));
    let owners = [
        ("terminal", None),
        ("ann", Some(owner("1", Some("ann")))),
        ("ben", Some(owner("1", Some("ben")))),
        ("other", Some(owner("2", None))),
    ];
    let mut handles = Vec::new();
    for (name, owner) in &owners {
        let mut choice = world.choice();
        choice.new.owner.clone_from(owner);
        choice.new.title = Some(format!("title of {name}"));
        let begun = Agent::begin(std::sync::Arc::clone(&world.engine), choice).await;
        let mut agent = begun.unwrap();
        world.model.then([Act::say("noted")]);
        let words = format!("the secret of {name} is xyz{name}");
        agent.turn(words.as_str().into(), &world.cx()).await.unwrap();
        let id = agent.session().clone();
        // What works for a conversation, or was copied from it, belongs to whom it belongs to.
        for lineage in [Lineage::Fork, Lineage::Subagent] {
            let new = NewSession {
                source: "cli".to_owned(),
                parent: Some((id.clone(), lineage)),
                ..NewSession::default()
            };
            let head = world.engine.store.fork(&id, None, new).await.unwrap();
            assert_eq!(head.owner, *owner);
            handles.push(head.id);
        }
        handles.push(format!("title of {name}"));
        handles.push(id.to_string());
    }
    for (name, owner) in &owners {
        let read = read_by(&world, owner.clone(), &handles).await;
        assert!(read.contains(&format!("xyz{name}")), "{name} finds its own: {read}");
        for (other, _) in owners.iter().filter(|(other, _)| other != name) {
            assert!(!read.contains(&format!("xyz{other}")), "{name} reads {other}'s: {read}");
        }
    }
}
