//! Ten thousand calls at once while the registry changes under them and definitions are built.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use petasos_contract::ToolOutput;
use petasos_contract::call::{Status, ToolCall};
use petasos_contract::wait::Owned;
use serde_json::json;

use crate::availability::Checks;
use crate::definitions::{Catalogue, Wanted};
use crate::probe::{Scripted, World, check_context, echo, entry, settings};
use crate::registry::{Intent, Origin, Registry};

const CALLS: usize = 10_000;

/// Registers, refreshes and removes tools until told to stop; how often it did.
fn churn(registry: &Arc<Registry>, stop: &Arc<AtomicBool>) -> Owned<usize> {
    let (registry, stop) = (Arc::clone(registry), Arc::clone(stop));
    Owned::start(async move {
        let server = Origin::mcp("storm");
        let mut rounds = 0;
        while !stop.load(Ordering::Relaxed) {
            let list = |names: &[&str]| {
                names.iter().map(|name| entry(name, "mcp-storm", echo())).collect::<Vec<_>>()
            };
            registry.refresh(list(&["mcp__storm__a", "mcp__storm__b"]), &server);
            registry.register_toolset_alias("storm", "mcp-storm");
            let extra = entry("extra", "file", echo());
            registry.register(extra, &Origin::core(), Intent::Add).unwrap();
            registry.refresh(list(&["mcp__storm__b"]), &server);
            registry.deregister("extra", &Origin::core()).unwrap();
            registry.deregister_all(&server);
            rounds += 1;
            tokio::task::yield_now().await;
        }
        rounds
    })
}

/// Builds definitions until told to stop, and looks whether each list is of one piece.
fn define(registry: &Arc<Registry>, stop: &Arc<AtomicBool>) -> Owned<usize> {
    let (registry, stop) = (Arc::clone(registry), Arc::clone(stop));
    Owned::start(async move {
        let catalogue = Catalogue::new(registry, Arc::new(Checks::default()));
        let cx = check_context(&settings(&json!({})), "storm");
        let (mut built, mut newest) = (0, 0);
        while !stop.load(Ordering::Relaxed) {
            let definitions = catalogue.define(&Wanted::default(), &cx).await;
            assert!(definitions.generation >= newest, "generations never go back");
            newest = definitions.generation;
            assert!(definitions.tools.is_sorted_by(|a, b| a.name < b.name), "sorted and unique");
            for definition in &definitions.tools {
                assert_eq!(definition.function["name"], definition.name.as_str());
                assert!(definition.function["parameters"]["properties"].is_object());
            }
            // Both of one refresh, or the one of the other, or none: never something between.
            let has = |name: &str| definitions.tools.iter().any(|d| d.name == *name);
            assert!(!has("mcp__storm__a") || has("mcp__storm__b"));
            assert!(has("steady"));
            built += 1;
            tokio::task::yield_now().await;
        }
        built
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_storm_of_calls_loses_nothing() {
    let runs = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&runs);
    let steady = Scripted::new(move |args, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            tokio::task::yield_now().await;
            Ok(ToolOutput::json(&json!({ "n": args.get("n") })))
        }
    });
    let world = World::with(vec![entry("steady", "file", Arc::new(steady))]);
    let stop = Arc::new(AtomicBool::new(false));
    let (churner, definer) = (churn(&world.registry, &stop), define(&world.registry, &stop));
    let names = ["steady", "steady", "mcp__storm__a", "mcp_storm_b", "extra"];
    let started: Vec<_> = (0..CALLS)
        .map(|n| {
            let (dispatcher, cx) = (world.dispatcher(), world.cx());
            let name = names[n % names.len()];
            let arguments = json!({ "n": n }).to_string();
            let call = ToolCall::new(format!("id-{n}"), name, arguments);
            (n, name, Owned::start(async move { dispatcher.dispatch(call, &cx).await }))
        })
        .collect();
    let collect = async {
        let mut ids = HashSet::new();
        for (n, name, task) in started {
            let result = task.join().await.unwrap();
            assert_eq!(result.id.as_str(), format!("id-{n}"));
            assert!(ids.insert(result.id.clone()), "no result comes twice");
            match (name, result.status) {
                ("steady", status) => {
                    assert_eq!(status, Status::Ok);
                    assert_eq!(result.content.text(), format!("{{\"n\":{n}}}"));
                }
                // It was there, or it was not.
                (_, Status::Ok) => {}
                (_, _) => assert_eq!(result.error_type, Some("unknown_tool")),
            }
        }
        ids.len()
    };
    let answered = tokio::time::timeout(Duration::from_mins(2), collect).await.expect("a deadlock");
    stop.store(true, Ordering::Relaxed);
    assert_eq!(answered, CALLS);
    assert_eq!(runs.load(Ordering::Relaxed), 4000, "each steady call ran exactly once");
    let (rounds, built) = (churner.join().await.unwrap(), definer.join().await.unwrap());
    assert!(rounds > 0 && built > 0);
    let (pre, post) = world.recorder.counts();
    assert_eq!(pre, post);
}
