//! A file that is not as it should be.

use std::collections::BTreeMap;

use petasos_contract::taint::Taint;
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{
    Actor, ApiStore as _, ApiToken, BoardStore as _, ClaimAsk, JobLimits, JobState, NewJob,
    NewOccurrence, NewTask, OccurrenceState, On, ScheduleStore as _, SessionStore, StoreError,
    Trigger,
};

use super::{Place, assistant, begin, calling, result, texts, user};

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
async fn a_file_of_another_program_is_refused_in_few_words() {
    let place = Place::new();
    let direct = rusqlite::Connection::open(place.file()).unwrap();
    direct.execute_batch("CREATE TABLE sessions(id TEXT)").unwrap();
    let refused = Store::open(&OpenOptions::new(place.file())).unwrap_err().to_string();
    assert!(refused.contains("another program") && refused.len() < 150, "{refused}");
}

/// A file with long and short rows, calls, usage, and a conversation that was deleted.
async fn filled(place: &Place) -> Vec<u8> {
    let store = place.open();
    let gone = begin(&store).await;
    for at in 0..12 {
        store
            .append(&gone, vec![user(&format!("deleted {at} {}", "d".repeat(300)))])
            .await
            .unwrap();
    }
    for session in 0..3 {
        let id = begin(&store).await;
        for at in 0..14 {
            let call = format!("c{at}");
            let long = "x".repeat(if at == 7 { 9000 } else { 150 });
            let rows = vec![
                user(&format!("question {session} {at} {long}")),
                calling(&[&call]),
                result(&call, "done"),
                assistant("fine"),
            ];
            store.append(&id, rows).await.unwrap();
        }
    }
    store.delete(&gone).await.unwrap();
    drop(store);
    std::fs::read(place.file()).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "a test breaks its own file")]
fn put(path: &std::path::Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}

/// Every message in a file, by its number, with the page it begins on as SQLite tells it.
fn stored(path: &std::path::Path) -> BTreeMap<i64, (String, String)> {
    let direct = rusqlite::Connection::open(path).unwrap();
    let mut rows =
        direct.prepare("SELECT id, session, content FROM messages WHERE note IS NULL").unwrap();
    let read = |row: &rusqlite::Row<'_>| {
        Ok((row.get(0)?, (row.get(1)?, row.get::<_, Option<String>>(2)?.unwrap_or_default())))
    };
    rows.query_map([], read).unwrap().map(Result::unwrap).collect()
}

/// Which messages lie, wholly or in part, on each page.
fn places(bytes: &[u8], rows: &BTreeMap<i64, (String, String)>) -> BTreeMap<usize, Vec<i64>> {
    let mut places: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
    for (id, (_, content)) in rows {
        // Long rows are spread over pages: each piece of the filler is on its own.
        let long = content.len() > 4000;
        for (at, page) in bytes.chunks(4096).enumerate() {
            let head: String = content.chars().take(40).collect();
            let begins =
                !head.is_empty() && page.windows(head.len()).any(|it| it == head.as_bytes());
            let goes_on = long && page.windows(1500).any(|it| it.iter().all(|byte| *byte == b'x'));
            if begins || goes_on {
                places.entry(at).or_default().push(*id);
            }
        }
    }
    places
}

#[tokio::test]
async fn one_bad_page_costs_its_own_rows_and_no_others() {
    let place = Place::new();
    let sound = filled(&place).await;
    let before = stored(&place.file());
    let places = places(&sound, &before);
    let pages = sound.len() / 4096;
    // Calls and short replies cannot be told by their text: with the neighbour they lie beside.
    let most_on_a_page = 70;
    for (page, filler) in (0..pages).flat_map(|page| [(page, 0xff_u8), (page, 0)]) {
        let here = Place::new();
        let mut bytes = sound.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(filler);
        put(&here.file(), &bytes);
        let said = Store::salvage(&here.file()).unwrap_or_else(|why| panic!("page {page}: {why}"));
        let saved = stored(&here.file());
        let lost: Vec<i64> = before.keys().filter(|id| !saved.contains_key(id)).copied().collect();
        let on_page = places.get(&page).map(Vec::as_slice).unwrap_or_default();
        let texts_lost = lost.iter().filter(|id| before[*id].1.starts_with("question"));
        for id in texts_lost {
            assert!(on_page.contains(id), "page {page}: message {id} was elsewhere: {said:?}");
        }
        assert!(lost.len() <= most_on_a_page, "page {page}: {} lost: {said:?}", lost.len());
        for (id, row) in &saved {
            assert_eq!(before.get(id), Some(row), "page {page}: message {id}");
        }
        let store = here.open();
        let found = store.verify(None, |_| ()).await.unwrap();
        assert!(found.findings.is_empty(), "page {page}: {found:?}");
    }
}

#[tokio::test]
async fn of_a_file_that_was_cut_short_everything_before_the_cut_is_saved() {
    let place = Place::new();
    let sound = filled(&place).await;
    let before = stored(&place.file());
    let places = places(&sound, &before);
    let pages = sound.len() / 4096;
    for cut in [1, 2, 3, pages / 4, pages / 2, pages - 2, pages - 1] {
        for odd in [0, 1234] {
            let here = Place::new();
            put(&here.file(), &sound[..cut * 4096 + odd]);
            let said = Store::salvage(&here.file()).unwrap();
            let saved = stored(&here.file());
            let behind: Vec<i64> = places
                .iter()
                .filter(|(at, _)| **at >= cut)
                .flat_map(|(_, ids)| ids.clone())
                .collect();
            for (id, (_, text)) in
                before.iter().filter(|(_, (_, text))| text.starts_with("question"))
            {
                let whole = !behind.contains(id);
                assert!(!whole || saved.contains_key(id), "cut {cut}: {id} {text:.20}: {said:?}");
            }
            let store = here.open();
            assert!(store.verify(None, |_| ()).await.unwrap().findings.is_empty(), "cut {cut}");
        }
    }
}

#[tokio::test]
async fn rows_in_the_log_of_a_damaged_file_are_saved_too() {
    let place = Place::new();
    drop(filled(&place).await);
    let store = place.open();
    let one = begin(&store).await;
    store.append(&one, vec![user("only in the log"), assistant("so far")]).await.unwrap();
    // As a killed process leaves it: with its log.
    let here = Place::new();
    for tail in ["", "-wal"] {
        let name = format!("petasos.db{tail}");
        let mut bytes = std::fs::read(place.folder.path().join(&name)).unwrap();
        if tail.is_empty() {
            bytes[4096 * 3..4096 * 4].fill(0xff);
        }
        put(&here.folder.path().join(&name), &bytes);
    }
    Store::salvage(&here.file()).unwrap();
    let saved = here.open();
    assert_eq!(texts(&saved, &one).await, ["user: only in the log", "assistant: so far"]);
}

#[tokio::test]
async fn the_tasks_of_a_damaged_file_are_saved_with_what_belongs_to_them() {
    let place = Place::new();
    let store = place.open();
    let new = |title: &str| NewTask {
        board: "default".to_owned(),
        title: title.to_owned(),
        ..NewTask::default()
    };
    let first = store.create_task(new("first")).await.unwrap().task;
    let second = NewTask { parents: vec![first.id.clone()], ..new("second") };
    let second = store.create_task(second).await.unwrap().task;
    let on = On { board: "default".to_owned(), task: first.id.clone(), by: Actor::default() };
    store.comment(on.clone(), "mind the gap".to_owned(), Taint::WEB).await.unwrap();
    let ask = ClaimAsk { board: "default".to_owned(), ..ClaimAsk::default() };
    store.claim_task(ask).await.unwrap().unwrap();
    let before = store.view_task("default", &second.id).await.unwrap();
    let other = store.view_task("default", &first.id).await.unwrap();
    drop(store);
    Store::salvage(&place.file()).unwrap();
    let saved = place.open();
    assert_eq!(saved.view_task("default", &second.id).await.unwrap(), before);
    assert_eq!(saved.view_task("default", &first.id).await.unwrap(), other);
}

#[tokio::test]
async fn the_schedules_of_a_damaged_file_are_saved_with_what_became_of_them() {
    let place = Place::new();
    drop(filled(&place).await);
    let store = place.open();
    let body = serde_json::Map::from_iter([("prompt".to_owned(), "look".into())]);
    let job = |number: u32| NewJob {
        id: format!("{number:012x}"),
        name: format!("job {number}"),
        state: JobState::Scheduled,
        body: body.clone(),
        cursor_ms: 1,
        next_ms: Some(2),
        maker: String::new(),
        created_ms: 1,
    };
    let limits = JobLimits { jobs: 1000, by_maker: 20 };
    for number in 0..200 {
        store.add_job(job(number), limits).await.unwrap();
        let ran = NewOccurrence {
            job: format!("{number:012x}"),
            trigger: Trigger::Schedule,
            scheduled_ms: 1,
            attempt: 1,
            state: OccurrenceState::Skipped,
            reason: "missed".to_owned(),
            first_ms: 1,
            folded: 0,
            late_ms: 0,
        };
        store.demand(ran, 1).await.unwrap();
    }
    let token = ApiToken {
        name: "laptop".to_owned(),
        scopes: vec!["chat".to_owned()],
        toolsets: None,
        created_ms: 1,
        expires_ms: None,
        used_ms: None,
    };
    store.add_token(token, [7; 32]).await.unwrap();
    let before = store.jobs().await.unwrap();
    drop(store);
    let said = Store::salvage(&place.file()).unwrap();
    assert!(said.iter().any(|line| line == "200 schedules were saved"), "{said:?}");
    let saved = place.open();
    assert_eq!(saved.jobs().await.unwrap(), before);
    assert_eq!(saved.occurrences(None, 1000).await.unwrap().len(), 200);
    assert!(saved.token([7; 32], 1).await.unwrap().is_some(), "whoever was let in still is");
    // A bad page costs its own rows and no others.
    drop(saved);
    let mut bytes = std::fs::read(place.file()).unwrap();
    let last = bytes.len() / 4096 - 2;
    bytes[4096 * last..4096 * (last + 1)].fill(0xff);
    let here = Place::new();
    put(&here.file(), &bytes);
    Store::salvage(&here.file()).unwrap();
    let left = here.open().jobs().await.unwrap().len();
    assert!((100..=200).contains(&left), "{left} of 200");
}

#[tokio::test]
async fn a_salvaged_file_belongs_to_its_owner_alone() {
    let place = Place::new();
    drop(filled(&place).await);
    let said = Store::salvage(&place.file()).unwrap();
    assert!(said.last().unwrap().contains("damaged-"), "{said:?}");
    for entry in std::fs::read_dir(place.folder.path()).unwrap() {
        use std::os::unix::fs::PermissionsExt as _;
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
    }
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
