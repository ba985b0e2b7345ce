//! Heads: finding, naming, forking, deleting, counting, exporting.

use petasos_contract::model::Role;
use petasos_contract::reply::{Cost, Served, Usage};
use petasos_sqlite::Format;
use petasos_store::{
    Amend, Filter, Lineage, NewSession, Query, SessionScope, SessionStore, Spent, StoreError,
};

use super::{Place, assistant, begin, calling, new, result, texts, user};

#[tokio::test]
async fn a_session_is_found_by_what_people_remember() {
    let place = Place::new();
    let store = place.open();
    let named = |id: &str, title: &str| NewSession {
        id: Some(id.into()),
        title: Some(title.to_owned()),
        ..new("cli")
    };
    store.create(named("20260101_000000_aaaaaa", "Lamp")).await.unwrap();
    store.create(named("20260102_000000_bbbbbb", "100% sure_thing")).await.unwrap();
    for (handle, expected) in [
        ("20260101_000000_aaaaaa", "20260101_000000_aaaaaa"),
        ("20260102", "20260102_000000_bbbbbb"),
        ("Lamp", "20260101_000000_aaaaaa"),
        ("lamp", "20260101_000000_aaaaaa"),
        ("100% sure_thing", "20260102_000000_bbbbbb"),
    ] {
        assert_eq!(
            store.find(handle, &SessionScope::Local).await.unwrap().id,
            expected,
            "{handle}"
        );
    }
    assert!(matches!(
        store.find("2026", &SessionScope::Local).await,
        Err(StoreError::Ambiguous { .. })
    ));
    assert!(matches!(
        store.find("%", &SessionScope::Local).await,
        Err(StoreError::NotFound { .. })
    ));
    let first = store.find("Lamp", &SessionScope::Local).await.unwrap().session();
    store.append(&first, vec![user("again")]).await.unwrap();
    assert_eq!(store.find("latest", &SessionScope::Local).await.unwrap().id, first.as_str());
}

#[tokio::test]
async fn titles_are_unique() {
    let place = Place::new();
    let store = place.open();
    let (one, other) = (begin(&store).await, begin(&store).await);
    store.amend(&one, Amend::Title(Some("Lamp".to_owned()))).await.unwrap();
    let taken = store.amend(&other, Amend::Title(Some("Lamp".to_owned()))).await;
    assert!(matches!(taken, Err(StoreError::TitleTaken { .. })));
    store.amend(&other, Amend::SuggestTitle("Lamp".to_owned())).await.unwrap();
    assert_eq!(
        store.find(other.as_str(), &SessionScope::Local).await.unwrap().title.unwrap(),
        "Lamp #2"
    );
    store.amend(&other, Amend::SuggestTitle("Sofa".to_owned())).await.unwrap();
    assert_eq!(
        store.find(other.as_str(), &SessionScope::Local).await.unwrap().title.unwrap(),
        "Lamp #2"
    );
}

#[tokio::test]
async fn a_fork_goes_its_own_way() {
    let place = Place::new();
    let store = place.open();
    let one = begin(&store).await;
    let seqs = store.append(&one, vec![user("1"), assistant("2"), user("3")]).await.unwrap();
    let fork = store.fork(&one, Some(seqs[1]), NewSession::default()).await.unwrap();
    assert_eq!((fork.lineage, fork.root.as_str()), (Some(Lineage::Fork), one.as_str()));
    store.append(&fork.session(), vec![user("other")]).await.unwrap();
    assert_eq!(texts(&store, &fork.session()).await, ["user: 1", "assistant: 2", "user: other"]);
    assert_eq!(texts(&store, &one).await, ["user: 1", "assistant: 2", "user: 3"]);
}

#[tokio::test]
async fn a_deleted_session_is_not_found_by_search() {
    let place = Place::new();
    let store = place.open();
    let one = begin(&store).await;
    store.append(&one, vec![user("a zebra")]).await.unwrap();
    let query = Query { text: "zebra".to_owned(), ..Query::default() };
    assert_eq!(store.search(&query).await.unwrap().len(), 1);
    store.delete(&one).await.unwrap();
    assert!(store.search(&query).await.unwrap().is_empty());
    assert!(store.load(&one).await.is_err());
    assert!(store.verify(None, |_| ()).await.unwrap().findings.is_empty());
}

#[tokio::test]
async fn lists_show_what_people_had() {
    let place = Place::new();
    let store = place.open();
    let one = begin(&store).await;
    store.append(&one, vec![user("  hello\n there ")]).await.unwrap();
    store.create(new("subagent")).await.unwrap();
    let away = begin(&store).await;
    store.amend(&away, Amend::Archive(true)).await.unwrap();
    let usual = store.list(&Filter::default()).await.unwrap();
    assert_eq!(usual.len(), 1);
    assert_eq!((usual[0].preview.as_str(), usual[0].messages), ("hello there", 1));
    let all = Filter { all_sources: true, archived: true, ..Filter::default() };
    assert_eq!(store.list(&all).await.unwrap().len(), 3);
}

#[tokio::test]
async fn what_was_used_adds_up() {
    let place = Place::new();
    let store = place.open();
    let one = begin(&store).await;
    for _ in 0..2 {
        let usage = Usage { input: 10, output: 5, requests: 1, ..Usage::default() };
        let served =
            Served { provider: "p".to_owned(), model: "m".to_owned(), ..Served::default() };
        let cost = Cost::Actual { usd: 0.25 };
        let spent = Spent { role: Role::Main, served, usage, cost };
        store.amend(&one, Amend::Spent(Box::new(spent))).await.unwrap();
    }
    let head = store.find(one.as_str(), &SessionScope::Local).await.unwrap();
    assert_eq!((head.usage.input, head.usage.requests), (20, 2));
    assert!((head.cost_usd - 0.5).abs() < 1e-9);
}

#[tokio::test]
async fn an_export_is_masked_and_readable() {
    let place = Place::new();
    let store = place.open();
    let one = begin(&store).await;
    let rows = vec![user("my key is KEY"), calling(&["a"]), result("a", "```\nKEY\n```")];
    store.append(&one, rows).await.unwrap();
    let mask = |text: &str| text.replace("KEY", "***");
    let lines = store.export(&one, Format::Jsonl, mask).await.unwrap();
    let values: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((values.len(), values[0]["type"].as_str()), (4, Some("session")));
    assert_eq!(values[1]["content"], "my key is ***");
    let page = store.export(&one, Format::Markdown, mask).await.unwrap();
    assert!(page.contains("## User") && page.contains("````\n```\n***"), "{page}");
    assert!(!page.contains("KEY") && !lines.contains("KEY"));
}
