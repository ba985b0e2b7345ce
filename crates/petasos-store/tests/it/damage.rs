//! A file that is not as it should be.

use petasos_contract::store::{SessionStore, StoreError};
use petasos_store::{OpenOptions, Store};

use super::{Place, begin, texts, user};

#[tokio::test]
async fn a_changed_row_is_noticed() {
    let place = Place::new();
    let store = place.open();
    let one = begin(&store).await;
    store.append(&one, vec![user("as it was")]).await.unwrap();
    let direct = rusqlite::Connection::open(place.file()).unwrap();
    direct.execute("UPDATE messages SET content = 'something else'", []).unwrap();
    let findings = store.verify(Some(&one), |_| ()).await.unwrap().findings;
    assert!(findings[0].what.contains("is not what was written"), "{findings:?}");
}

#[tokio::test]
async fn a_newer_format_is_refused_and_not_touched() {
    let place = Place::new();
    drop(place.open());
    let direct = rusqlite::Connection::open(place.file()).unwrap();
    direct.pragma_update(None, "user_version", 99).unwrap();
    let refused = Store::open(&OpenOptions::new(place.file()));
    assert!(matches!(refused, Err(StoreError::TooNew { found: 99, .. })), "{refused:?}");
}

#[tokio::test]
async fn what_can_be_read_of_a_damaged_file_is_saved() {
    let place = Place::new();
    let store = place.open();
    let one = begin(&store).await;
    for at in 0..200 {
        store.append(&one, vec![user(&format!("message {at} {}", "x".repeat(200)))]).await.unwrap();
    }
    drop(store);
    // The last pages hold the newest part of the search index.
    let mut bytes = std::fs::read(place.file()).unwrap();
    let from = bytes.len() - 4096 * 4;
    bytes[from..].fill(0xff);
    #[expect(clippy::disallowed_methods, reason = "a test breaks its own file")]
    std::fs::write(place.file(), bytes).unwrap();
    let said = Store::salvage(&place.file()).unwrap();
    assert!(said.last().unwrap().contains("damaged-"), "{said:?}");
    let store = place.open();
    assert!(store.verify(None, |_| ()).await.unwrap().findings.is_empty());
    let saved = texts(&store, &one).await;
    assert!(saved.len() > 100, "{said:?}");
    assert!(saved[0].starts_with("user: message 0 "));
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let store = place.open();
    begin(&store).await;
    for name in ["petasos.db", "petasos.db-wal"] {
        let mode = std::fs::metadata(place.folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
