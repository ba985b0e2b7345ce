//! Search through the store.

use petasos_store::{NewSession, Query, SessionStore, Sort};

use super::{Place, assistant, begin, calling, new, result, user};

fn query(text: &str) -> Query {
    Query { text: text.to_owned(), ..Query::default() }
}

#[tokio::test]
async fn words_phrases_parts_and_other_scripts_are_found() {
    let place = Place::new();
    let store = place.open();
    let one = begin(&store).await;
    let rows = vec![
        user("The café lamp turns off after 300 seconds"),
        assistant("Set TIMEOUT in pre-commit v1.2 to 600"),
        user("データベースを検索してください"),
        calling(&["a"]),
        result("a", "exit 0"),
    ];
    store.append(&one, rows).await.unwrap();
    for (text, hits) in [
        ("lamp", 1),
        ("cafe", 1),
        ("\"turns off\"", 1),
        ("\"off turns\"", 0),
        ("lamp OR timeout", 2),
        ("lamp NOT seconds", 0),
        ("second*", 1),
        ("pre-commit", 1),
        ("v1.2", 1),
        ("imeou", 1),
        ("データベース", 1),
        ("検索", 1),
        ("terminal", 2),
        ("nothing like it", 0),
        ("\" ( ) * :", 0),
    ] {
        let found = store.search(&query(text)).await.unwrap();
        assert_eq!(found.len(), hits, "{text}: {found:?}");
    }
    let hit = store.search(&query("LAMP")).await.unwrap().remove(0);
    assert!(hit.snippet.contains("café >>>lamp<<< turns"), "{}", hit.snippet);
}

#[tokio::test]
async fn a_search_can_be_narrowed_and_ordered() {
    let place = Place::new();
    let store = place.open();
    let one = begin(&store).await;
    store.append(&one, vec![user("lamp one"), assistant("lamp two")]).await.unwrap();
    let fork = store.fork(&one, None, NewSession::default()).await.unwrap();
    let other = begin(&store).await;
    store.append(&other, vec![user("lamp three")]).await.unwrap();
    let hidden = store.create(new("subagent")).await.unwrap().session();
    store.append(&hidden, vec![user("lamp four")]).await.unwrap();
    let count = |query: Query| {
        let store = &store;
        async move { store.search(&query).await.unwrap().len() }
    };
    assert_eq!(count(query("lamp")).await, 5);
    assert_eq!(count(Query { all_sources: true, ..query("lamp") }).await, 6);
    assert_eq!(count(Query { roles: vec!["assistant".to_owned()], ..query("lamp") }).await, 2);
    assert_eq!(count(Query { one_per_lineage: true, ..query("lamp") }).await, 2);
    assert_eq!(count(Query { except: Some(fork.session()), ..query("lamp") }).await, 1);
    assert_eq!(count(Query { only: Some(one.clone()), ..query("lamp") }).await, 2);
    assert_eq!(count(Query { limit: 1, ..query("lamp") }).await, 1);
    let oldest = Query { sort: Sort::Oldest, ..query("lamp") };
    assert!(store.search(&oldest).await.unwrap()[0].snippet.contains("one"));
    let newest = Query { sort: Sort::Newest, ..query("lamp") };
    assert!(store.search(&newest).await.unwrap()[0].snippet.contains("three"));
}

#[tokio::test]
async fn what_is_newer_does_not_hide_what_is_wanted() {
    let place = Place::new();
    let store = place.open();
    let old = begin(&store).await;
    store.append(&old, vec![user("the lamp of old"), assistant("yes")]).await.unwrap();
    let tools = begin(&store).await;
    store.append(&tools, vec![user("begin"), calling(&["a"])]).await.unwrap();
    let busy = begin(&store).await;
    let rows = (0..900).map(|at| assistant(&format!("lamp {at}"))).collect();
    store.append(&busy, rows).await.unwrap();
    let wishes = [
        Query { only: Some(old.clone()), ..query("lamp") },
        Query { roles: vec!["user".to_owned()], ..query("lamp") },
        Query { except: Some(busy.clone()), ..query("lamp") },
    ];
    for wish in wishes {
        let found = store.search(&wish).await.unwrap();
        assert_eq!(found.len(), 1, "{wish:?}");
        assert_eq!(found[0].session.session(), old, "{wish:?}");
    }
    let each = Query { one_per_lineage: true, ..query("lamp") };
    let found = store.search(&each).await.unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    let nobody = Query { only: Some(tools), ..query("lamp") };
    assert!(store.search(&nobody).await.unwrap().is_empty());
}
