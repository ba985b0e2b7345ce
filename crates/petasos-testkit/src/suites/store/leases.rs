//! One at a time adds to a conversation.

use petasos_contract::message::Message;
use petasos_store::{Lease, Row, StoreError, Stores, WaitingCalls};

use super::{Case, Make, begun, race};

/// The cases of leases alone, for stores that a test has broken on purpose.
pub static LEASE_CASES: &[Case] = &[
    Case {
        name: "of many who race for a lease one gets it, and the others hear who",
        run: |make| Box::pin(one_gets_it(make)),
    },
    Case {
        name: "who has no lease neither adds nor repairs while another has it",
        run: |make| Box::pin(others_wait(make)),
    },
    Case {
        name: "only its holder renews a lease or gives it back, and only once",
        run: |make| Box::pin(only_its_holder(make)),
    },
    Case { name: "each conversation has a lease of its own", run: |make| Box::pin(one_each(make)) },
];

fn said(text: &str) -> Vec<Row> {
    vec![Row::message(Message::user(text))]
}

/// Gives a lease back and waits until that counts.
async fn released(stores: &Stores, lease: &Lease) {
    stores.leases.release(lease);
    // What is written afterwards comes behind the release.
    stores.sessions.append(&lease.session, said("after")).await.expect("a row");
}

async fn one_gets_it(make: Make) {
    let session = begun(&make()).await;
    for _ in 0..5 {
        let claimed = race(&make, |stores, number| {
            let session = session.clone();
            async move {
                let purpose = format!("racer {number}");
                let lease = stores.leases.claim(&session, &purpose).await;
                // The handle lives as long as the race: its lease is not given back by its end.
                (stores, lease)
            }
        })
        .await;
        let won = claimed.iter().position(|(_, lease)| lease.is_ok()).expect("one gets it");
        let (stores, Ok(lease)) = &claimed[won] else { panic!("it won") };
        let winner = format!("racer {won}");
        for (number, (_, lost)) in claimed.iter().enumerate().filter(|(at, _)| *at != won) {
            let Err(StoreError::Leased { holder, .. }) = lost else { panic!("{number}: {lost:?}") };
            assert_eq!((&holder.purpose, holder.pid), (&winner, std::process::id()));
        }
        let other = make();
        let holder = other.leases.holder(&session).await.expect("a look").expect("somebody");
        assert_eq!(holder.purpose, winner);
        stores.leases.renew(lease).await.expect("its lease");
        released(stores, lease).await;
        assert_eq!(other.leases.holder(&session).await.expect("a look"), None);
    }
}

async fn others_wait(make: Make) {
    let (one, two) = (make(), make());
    let session = begun(&one).await;
    let lease = one.leases.claim(&session, "a turn").await.expect("a lease");
    let refused = two.sessions.append(&session, said("hello")).await;
    assert!(matches!(refused, Err(StoreError::Leased { .. })), "{refused:?}");
    let stranger = Lease { token: "another".to_owned(), ..lease.clone() };
    one.sessions.append(&session, said("hello")).await.expect("the holder adds");
    let close = two.sessions.close_turn(&stranger, WaitingCalls::Close).await;
    // There is nothing to repair, or it is not theirs to repair.
    assert!(close.as_ref().map_or(true, Vec::is_empty), "{close:?}");
    released(&one, &lease).await;
    two.sessions.append(&session, said("hello")).await.expect("everybody adds again");
    assert_eq!(two.sessions.load(&session).await.expect("it").rows.len(), 3);
}

async fn only_its_holder(make: Make) {
    let (one, two) = (make(), make());
    let session = begun(&one).await;
    let lease = one.leases.claim(&session, "a turn").await.expect("a lease");
    let again = one.leases.claim(&session, "another turn").await;
    assert!(matches!(again, Err(StoreError::Leased { .. })), "not even the same store: {again:?}");
    let forged = Lease { token: "another".to_owned(), ..lease.clone() };
    let renewed = two.leases.renew(&forged).await;
    assert!(matches!(renewed, Err(StoreError::Leased { .. })), "{renewed:?}");
    two.leases.release(&forged);
    // Whatever a release does, it does before what the same store writes then.
    begun(&two).await;
    let holder = two.leases.holder(&session).await.expect("a look").expect("somebody");
    assert_eq!(holder.purpose, "a turn", "a forged lease gives nothing back");
    released(&one, &lease).await;
    let late = one.leases.renew(&lease).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "it was given back: {late:?}");
    let next = two.leases.claim(&session, "the next turn").await.expect("a lease");
    assert_ne!(next.token, lease.token);
    let late = one.leases.renew(&lease).await;
    assert!(matches!(late, Err(StoreError::Leased { .. })), "it is another's: {late:?}");
    released(&two, &next).await;
}

async fn one_each(make: Make) {
    let stores = make();
    let (first, second) = (begun(&stores).await, begun(&stores).await);
    let one = stores.leases.claim(&first, "one").await.expect("a lease");
    let two = stores.leases.claim(&second, "two").await.expect("a lease");
    assert_eq!((&one.session, &two.session), (&first, &second));
    released(&stores, &one).await;
    let reader = make();
    assert_eq!(reader.leases.holder(&first).await.expect("a look"), None);
    let holder = reader.leases.holder(&second).await.expect("a look").expect("somebody");
    assert_eq!(holder.purpose, "two");
    released(&stores, &two).await;
}
