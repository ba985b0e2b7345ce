//! What is remembered, for whom, and when it is forgotten.

use std::time::Duration;

use petasos_contract::Settings;
use petasos_contract::context::Surface;

use super::*;

fn cx(session: &str) -> CallContext {
    let settings = Arc::new(Settings::from_values(serde_json::Map::new()));
    CallContext::new(settings, Surface::Embedded, SessionId::new(session))
}

#[test]
fn pages_are_known_per_session_until_it_is_forgotten() {
    let memory = FileMemory::default();
    let (one, two) = (cx("one"), cx("two"));
    let page = (Path::new("/f"), 1, 500);
    assert_eq!(memory.page(&one, page, "text"), Seen::New);
    assert_eq!(memory.page(&one, page, "text"), Seen::Unchanged(1));
    assert_eq!(memory.page(&two, page, "text"), Seen::New);
    assert_eq!(memory.page(&one, page, "other"), Seen::New);
    assert_eq!(memory.page(&one, (Path::new("/f"), 2, 500), "other"), Seen::New);
    memory.forget(&one.session);
    assert_eq!(memory.page(&one, page, "other"), Seen::New);
    let script = CallContext { principal: Principal::Code, ..one };
    assert_eq!(memory.page(&script, page, "other"), Seen::New);
}

#[test]
fn a_change_by_somebody_else_is_noticed_by_content() {
    let memory = FileMemory::default();
    let (one, two, path) = (cx("one"), cx("two"), Path::new("/f"));
    let (old, new) = (Fingerprint::of(b"old"), Fingerprint::of(b"new"));
    assert_eq!(memory.stale(&one, path, || old), None);
    memory.saw(&one, path, Fingerprint { modified_ns: 7, ..old });
    assert_eq!(memory.stale(&one, path, || old), None);
    assert_eq!(memory.stale(&one, path, || new), Some(Stale::Somebody));
    memory.wrote(&two, path, new);
    assert_eq!(memory.stale(&one, path, || new), Some(Stale::OtherAgent));
    assert_eq!(memory.stale(&two, path, || new), None);
}

#[test]
fn runs_are_counted_and_sessions_are_bounded() {
    let memory = FileMemory::default();
    let one = cx("one");
    assert_eq!([1, 1, 2, 1].map(|call| memory.repeated(&one, call)), [1, 2, 1, 1]);
    memory.progressed(&one);
    assert_eq!(memory.repeated(&one, 1), 1);
    for other in 0..SESSIONS_MAX {
        memory.repeated(&cx(&other.to_string()), 1);
    }
    assert_eq!(memory.records.lock().len(), SESSIONS_MAX);
    assert_eq!(memory.repeated(&one, 1), 1);
}

#[test]
fn files_are_held_one_change_at_a_time() {
    let memory = FileMemory::default();
    let paths = [PathBuf::from("/a"), PathBuf::from("/b")];
    let soon = || Instant::now() + Duration::from_millis(5);
    let held = memory.lock(&paths, soon()).unwrap();
    assert!(memory.lock(&paths[..1], soon()).is_none());
    assert!(memory.lock(&[PathBuf::from("/c")], soon()).is_some());
    drop(held);
    assert!(memory.lock(&paths, soon()).is_some());
}
