//! The log: what was answered for is there again, torn turns become whole.

use petasos_contract::call::Disposition;
use petasos_contract::message::{Assistant, Content, Message, Part, Replay, RequestedCall};
use petasos_contract::reply::Finish;
use petasos_store::{Amend, Row, SessionStore, Slice, StoreError, Stored, Swap};

use super::{Place, assistant, begin, calling, close, result, texts, user};

#[tokio::test]
async fn what_was_stored_comes_back_exactly() {
    let place = Place::new();
    let store = place.open();
    let session = begin(&store).await;
    let said = Assistant {
        content: None,
        reasoning: Some("hm".to_owned()),
        tool_calls: vec![RequestedCall {
            id: "c1".into(),
            name: "read_file".into(),
            arguments: "{ \"path\" : \"ü\" }".to_owned(),
            provider_data: Some("{\"sig\":\"x\"}".to_owned()),
        }],
        replay: Some(Replay { issuer: "native".to_owned(), blocks: vec!["{ \"a\": 1.0 }".into()] }),
    };
    let parts = vec![Part::text("look"), Part::image("data:image/png;base64,AA")];
    let rows = vec![
        Stored {
            sent: Some("look\n\n[today]".to_owned()),
            turn: Some("turn-1".into()),
            tokens: 7,
            ..Stored::new(Message::User { content: Content::Parts(parts) })
        },
        Stored { finish: Some(Finish::ToolCalls), ..Stored::new(Message::Assistant(said)) },
        Stored { disposition: Some(Disposition::Done), ..Stored::new(Message::tool("c1", "text")) },
    ];
    let boxed = rows.iter().cloned().map(|row| Row::Message(Box::new(row))).collect();
    store.append(&session, boxed).await.unwrap();
    drop(store);
    let loaded = place.open().load(&session).await.unwrap();
    let back: Vec<Stored> = loaded.rows.into_iter().map(|row| row.stored).collect();
    assert_eq!(back, rows);
}

#[tokio::test]
async fn a_torn_batch_becomes_whole_and_says_what_is_known() {
    let place = Place::new();
    let store = place.open();
    let session = begin(&store).await;
    store.append(&session, vec![user("go"), calling(&["a", "b", "c"])]).await.unwrap();
    store.append(&session, vec![Row::Started(vec!["a".into()])]).await.unwrap();
    let ended =
        Row::Ended { call: "a".into(), text: "did a".to_owned(), disposition: Disposition::Done };
    store.append(&session, vec![ended, Row::Started(vec!["b".into()])]).await.unwrap();
    drop(store);
    let store = place.open();
    assert_eq!(store.load(&session).await.unwrap().rows.len(), 2, "reading changes nothing");
    let repairs = close(&store, &session).await;
    assert_eq!(repairs.len(), 3, "{repairs:?}");
    let loaded = store.load(&session).await.unwrap();
    let told = texts(&store, &session).await;
    assert_eq!(told[2], "a: did a");
    assert!(told[3].starts_with("b: [Result unavailable"), "{}", told[3]);
    assert!(told[4].starts_with("c: [Not run"), "{}", told[4]);
    let dispositions: Vec<_> =
        loaded.rows.iter().skip(2).map(|row| row.stored.disposition.unwrap()).collect();
    assert_eq!(dispositions, [Disposition::Done, Disposition::Unknown, Disposition::None]);
    assert!(close(&store, &session).await.is_empty(), "it is repaired once");
}

#[tokio::test]
async fn strays_and_holes_in_the_middle_are_repaired_too() {
    let place = Place::new();
    let store = place.open();
    let session = begin(&store).await;
    let rows = vec![
        user("go"),
        result("ghost", "answers nothing"),
        calling(&["a"]),
        user("never mind"),
        assistant("fine"),
        calling(&["b"]),
        result("b", "one"),
        result("b", "twice"),
    ];
    store.append(&session, rows).await.unwrap();
    close(&store, &session).await;
    let told = texts(&store, &session).await;
    assert!(told[2].starts_with("a: [Not run"), "{told:?}");
    assert_eq!(told[3..], ["user: never mind", "assistant: fine", "calls: b", "b: one"]);
    assert!(store.verify(None, |_| ()).await.unwrap().findings.is_empty());
}

#[tokio::test]
async fn somebody_else_going_on_is_noticed() {
    let place = Place::new();
    let (ours, theirs) = (place.open(), place.open());
    let session = begin(&ours).await;
    let last = ours.append(&session, vec![Row::Expect(None), user("one")]).await.unwrap()[0];
    let next = theirs.append(&session, vec![Row::Expect(Some(last)), user("two")]).await.unwrap();
    let late = ours.append(&session, vec![Row::Expect(Some(last)), user("lost")]).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    assert_eq!(texts(&ours, &session).await, ["user: one", "user: two"], "nothing was added");
    ours.append(&session, vec![Row::Expect(Some(next[0])), user("three")]).await.unwrap();
}

#[tokio::test]
async fn a_summary_stands_where_the_hidden_rows_stood() {
    let place = Place::new();
    let store = place.open();
    let session = begin(&store).await;
    let rows = vec![user("1"), assistant("2"), user("3"), assistant("4"), user("5")];
    let seqs = store.append(&session, rows).await.unwrap();
    let shown = Stored { note: Some("summary".to_owned()), ..Stored::new(Message::user("sum")) };
    let swap = Swap { hidden: vec![seqs[1], seqs[2]], shown: Some(shown) };
    store.amend(&session, Amend::Swap(vec![swap])).await.unwrap();
    let told = texts(&store, &session).await;
    assert_eq!(told, ["user: 1", "user: sum", "assistant: 4", "user: 5"]);
    assert_eq!(store.read(&session, Slice::Whole).await.unwrap().len(), 6, "the log keeps all");
    store.amend(&session, Amend::Rewind(seqs[3])).await.unwrap();
    assert_eq!(texts(&store, &session).await, ["user: 1", "user: sum"]);
    store.append(&session, vec![assistant("again")]).await.unwrap();
    assert_eq!(texts(&store, &session).await.last().unwrap(), "assistant: again");
}

#[tokio::test]
async fn many_writers_at_once_lose_nothing() {
    let place = Place::new();
    let stores = [place.open(), place.open()];
    let session = begin(&stores[0]).await;
    let writes = (0..60).map(|at| {
        let (store, session) = (&stores[at % 2], &session);
        async move { store.append(session, vec![user(&at.to_string())]).await.unwrap() }
    });
    let mut seqs: Vec<i64> = Vec::new();
    let all: Vec<_> = writes.map(Box::pin).collect();
    for write in join(all).await {
        seqs.extend(write);
    }
    seqs.sort_unstable();
    seqs.dedup();
    assert_eq!(seqs.len(), 60);
    assert_eq!(stores[1].load(&session).await.unwrap().rows.len(), 60);
}

/// Polls all of them at the same time.
async fn join<F: std::future::Future + Unpin>(mut all: Vec<F>) -> Vec<F::Output> {
    let mut done: Vec<Option<F::Output>> = all.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        let mut waiting = false;
        for (future, slot) in all.iter_mut().zip(&mut done) {
            if slot.is_none() {
                match std::pin::Pin::new(future).poll(cx) {
                    std::task::Poll::Ready(value) => *slot = Some(value),
                    std::task::Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[tokio::test]
async fn a_file_that_another_process_writes_to_is_waited_for() {
    let place = Place::new();
    let store = place.open();
    let session = begin(&store).await;
    let direct = rusqlite::Connection::open(place.file()).unwrap();
    direct.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Longer than one look at the file lasts.
    let hold = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(6500));
        direct.execute_batch("COMMIT").unwrap();
    });
    let seqs = store.append(&session, vec![user("patience")]).await.unwrap();
    hold.join().unwrap();
    assert_eq!(seqs.len(), 1);
    assert_eq!(texts(&store, &session).await, ["user: patience"]);
}
