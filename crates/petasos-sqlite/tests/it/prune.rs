//! What is removed is gone, and its space with it; old conversations go by themselves.

use std::time::Duration;

use petasos_contract::SessionId;
use petasos_store::{Amend, Filter, LeaseStore as _, SessionStore};

use super::{Place, begin, user};

const DAY: Duration = Duration::from_hours(24);

/// The conversation was last used so many days ago.
fn age(place: &Place, session: &SessionId, days: i64) {
    let direct = rusqlite::Connection::open(place.file()).unwrap();
    let sql = "UPDATE sessions SET updated_ms = updated_ms - ?2 * 86400000 WHERE id = ?1";
    direct.execute(sql, rusqlite::params![session.as_str(), days]).unwrap();
}

fn bytes(place: &Place) -> Vec<u8> {
    let entries = std::fs::read_dir(place.folder.path()).unwrap();
    entries.flat_map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect()
}

fn holds(place: &Place, word: &str) -> bool {
    bytes(place).windows(word.len()).any(|part| part == word.as_bytes())
}

#[tokio::test]
async fn what_is_deleted_is_nowhere_in_the_files() {
    for old_file in [false, true] {
        let place = Place::new();
        if old_file {
            drop(place.open());
            let direct = rusqlite::Connection::open(place.file()).unwrap();
            direct.execute_batch("PRAGMA auto_vacuum = NONE; VACUUM").unwrap();
        }
        let store = place.open();
        let (gone, stays) = (begin(&store).await, begin(&store).await);
        store.append(&stays, vec![user("a wombat")]).await.unwrap();
        for at in 0..300 {
            let text = format!("the zebrafish number {at} {}", "swims ".repeat(200));
            store.append(&gone, vec![user(&text)]).await.unwrap();
        }
        let full = std::fs::metadata(place.file()).unwrap().len();
        store.delete(&gone).await.unwrap();
        store.compact().await.unwrap();
        drop(store);
        assert!(!holds(&place, "zebrafish"), "old file: {old_file}");
        assert!(holds(&place, "wombat"));
        let left = std::fs::metadata(place.file()).unwrap().len();
        assert!(left * 5 < full * 3 || full < 200_000, "{full} bytes became {left}");
        let store = place.open();
        assert!(store.verify(None, |_| ()).await.unwrap().findings.is_empty());
    }
}

#[tokio::test]
async fn old_conversations_go_once_a_day_unless_they_are_in_use_or_put_away() {
    let place = Place::new();
    let store = place.open();
    let mut all = Vec::new();
    for days in [100, 95, 91, 10] {
        let id = begin(&store).await;
        store.append(&id, vec![user("hello")]).await.unwrap();
        age(&place, &id, days);
        all.push(id);
    }
    store.amend(&all[0], Amend::Archive(true)).await.unwrap();
    let other = place.open();
    let lease = other.claim(&all[1], "a turn").await.unwrap();
    let pruned = store.prune_daily(90 * DAY).await.unwrap().unwrap();
    assert_eq!(pruned.removed, [all[2].as_str()]);
    assert_eq!(pruned.busy, [all[1].as_str()]);
    other.release(&lease);
    assert_eq!(store.prune_daily(DAY).await.unwrap(), None, "once a day is enough");
    let left = Filter { archived: true, ..Filter::default() };
    assert_eq!(store.list(&left).await.unwrap().len(), 3);
}
