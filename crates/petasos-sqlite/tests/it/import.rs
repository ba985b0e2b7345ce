//! Taking over another agent's database.

use petasos_store::{Filter, SessionScope, SessionStore};

use super::{Place, texts};

const OLD: &str = "
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, model TEXT, system_prompt TEXT,
  parent_session_id TEXT, started_at REAL, end_reason TEXT, title TEXT, input_tokens INTEGER);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT,
  content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL,
  active INTEGER);
INSERT INTO sessions VALUES ('20250101_000000_abcdef', 'cli', 'm', 'be kind', NULL, 1735689600.5,
  NULL, 'Lamp', 42);
INSERT INTO messages(session_id, role, content, timestamp, active) VALUES
  ('20250101_000000_abcdef', 'user', 'hello', 1735689601, 1),
  ('20250101_000000_abcdef', 'user', 'undone', 1735689602, 0),
  ('20250101_000000_abcdef', 'system', 'odd', 1735689602, 1);
INSERT INTO messages(session_id, role, tool_calls, timestamp, active) VALUES
  ('20250101_000000_abcdef', 'assistant',
   '[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"todo\",\"arguments\":\"{}\"}}]',
   1735689603, 1);
";

#[tokio::test]
async fn an_old_database_is_taken_over_and_made_whole() {
    let place = Place::new();
    let old = place.folder.path().join("state.db");
    rusqlite::Connection::open(&old).unwrap().execute_batch(OLD).unwrap();
    let before = std::fs::read(&old).unwrap();
    let store = place.open();
    let would = store.preview_import(&old).await.unwrap();
    assert_eq!((would.sessions, would.messages), (1, 4));
    assert!(store.list(&Filter::default()).await.unwrap().is_empty(), "a look changes nothing");
    let done = store.import_hermes(&old, |_| ()).await.unwrap();
    assert_eq!((done.sessions, done.messages, done.repairs.len()), (1, 3, 2), "{done:?}");
    let head = store.find("Lamp", &SessionScope::Local).await.unwrap();
    assert_eq!((head.started_ms, head.usage.input), (1_735_689_600_500, 42));
    let told = texts(&store, &head.session()).await;
    assert_eq!(told[..2], ["user: hello", "calls: a"]);
    assert!(told[2].starts_with("a: [Result unavailable"));
    assert_eq!(store.load(&head.session()).await.unwrap().system_prompt.unwrap(), "be kind");
    let again = store.import_hermes(&old, |_| ()).await.unwrap();
    assert_eq!((again.sessions, again.skipped.len()), (0, 1));
    assert_eq!(std::fs::read(&old).unwrap(), before, "the old file is only read");
}

#[tokio::test]
async fn an_import_tells_how_far_it_is_and_lets_others_write() {
    let place = Place::new();
    let old = place.folder.path().join("state.db");
    let direct = rusqlite::Connection::open(&old).unwrap();
    direct.execute_batch(OLD).unwrap();
    for at in 0..40 {
        let id = format!("s{at}");
        let sql = "INSERT INTO sessions(id, source, started_at) VALUES (?1, 'cli', 1735689600)";
        direct.execute(sql, [&id]).unwrap();
        let sql = "INSERT INTO messages(session_id, role, content, timestamp) VALUES (?1, 'user', \
                   ?2, 1735689601)";
        for _ in 0..10 {
            direct.execute(sql, [&id, &"words ".repeat(100)]).unwrap();
        }
    }
    let (ours, theirs) = (place.open(), place.open());
    let session = super::begin(&theirs).await;
    let steps = std::cell::Cell::new(0);
    let import = ours.import_hermes(&old, |progress| {
        assert_eq!(progress.total, 41);
        steps.set(steps.get() + 1);
    });
    let write = async {
        for at in 0..20 {
            theirs.append(&session, vec![super::user(&at.to_string())]).await.unwrap();
        }
    };
    let (done, ()) = tokio::join!(import, write);
    let done = done.unwrap();
    assert_eq!((done.sessions, done.stopped), (41, None));
    assert_eq!(steps.get(), 41);
    assert_eq!(texts(&theirs, &session).await.len(), 20);
}
