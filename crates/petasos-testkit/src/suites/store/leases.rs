//! One at a time adds to a conversation.

use petasos_contract::message::Message;
use petasos_store::{Row, StoreError, WaitingCalls};

use super::{Case, Make, begun, race};

pub(super) static CASES: &[Case] = &[
    Case {
        name: "of many who race for a lease one gets it, and the others hear who",
        run: |make| Box::pin(one_gets_it(make)),
    },
    Case {
        name: "who has no lease neither adds nor repairs while another has it",
        run: |make| Box::pin(others_wait(make)),
    },
];

async fn one_gets_it(make: Make) {
    let session = begun(&make()).await;
    for _ in 0..5 {
        let claimed = race(&make, |stores, number| {
            let session = session.clone();
            async move {
                let purpose = format!("racer {number}");
                let lease = stores.sessions.claim(&session, &purpose).await;
                // The handle lives as long as the race: its lease is not given back by its end.
                (stores, lease)
            }
        })
        .await;
        let won: Vec<_> = claimed.iter().filter(|(_, lease)| lease.is_ok()).collect();
        assert_eq!(won.len(), 1, "{:?}", claimed.iter().map(|(_, it)| it).collect::<Vec<_>>());
        for (_, lost) in claimed.iter().filter(|(_, lease)| lease.is_err()) {
            let Err(StoreError::Leased { holder, .. }) = lost else { panic!("{lost:?}") };
            assert!(holder.purpose.starts_with("racer "), "{holder:?}");
        }
        let other = make();
        let holder = other.sessions.holder(&session).await.expect("a look");
        assert!(holder.is_some());
        let (stores, Ok(lease)) = won[0] else { panic!("it won") };
        stores.sessions.renew(lease).await.expect("its lease");
        stores.sessions.release(lease);
        // What it writes afterwards comes behind the release.
        let said = vec![Row::message(Message::user("after"))];
        stores.sessions.append(&session, said).await.expect("a row");
        assert_eq!(other.sessions.holder(&session).await.expect("a look"), None);
    }
}

async fn others_wait(make: Make) {
    let (one, two) = (make(), make());
    let session = begun(&one).await;
    let lease = one.sessions.claim(&session, "a turn").await.expect("a lease");
    let said = || vec![Row::message(Message::user("hello"))];
    let refused = two.sessions.append(&session, said()).await;
    assert!(matches!(refused, Err(StoreError::Leased { .. })), "{refused:?}");
    let stranger = petasos_store::Lease { token: "another".to_owned(), ..lease.clone() };
    one.sessions.append(&session, said()).await.expect("the holder adds");
    let close = two.sessions.close_turn(&stranger, WaitingCalls::Close).await;
    // There is nothing to repair, or it is not theirs to repair.
    assert!(close.as_ref().map_or(true, Vec::is_empty), "{close:?}");
    one.sessions.release(&lease);
    one.sessions.append(&session, said()).await.expect("a row");
    two.sessions.append(&session, said()).await.expect("everybody adds again");
    assert_eq!(two.sessions.load(&session).await.expect("it").rows.len(), 3);
}
