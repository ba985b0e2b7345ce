//! One at a time adds to a conversation, whatever everybody else does meanwhile.

use petasos_contract::SessionId;
use petasos_contract::call::Disposition;
use petasos_sqlite::Store;
use petasos_store::{
    Amend, Lease, LeaseStore as _, NewSession, Row, SessionStore, StoreError, WaitingCalls,
};

use super::{Place, assistant, begin, calling, close, result, texts, user};

/// The holder's process is gone, as far as anybody can tell.
fn kill(place: &Place, session: &SessionId) {
    let direct = rusqlite::Connection::open(place.file()).unwrap();
    let sql = "UPDATE leases SET pid = 99999999 WHERE session = ?1";
    direct.execute(sql, [session.as_str()]).unwrap();
}

fn is_leased<T: std::fmt::Debug>(result: Result<T, StoreError>) -> bool {
    match result {
        Err(StoreError::Leased { holder, .. }) => holder.pid == std::process::id(),
        _ => false,
    }
}

#[tokio::test]
async fn a_lease_is_held_by_one() {
    let place = Place::new();
    let (ours, theirs) = (place.open(), place.open());
    let one = begin(&ours).await;
    let lease = ours.claim(&one, "a turn").await.unwrap();
    assert!(is_leased(theirs.claim(&one, "a turn").await));
    assert!(is_leased(ours.claim(&one, "another turn").await), "not even twice in one program");
    let text = theirs.claim(&one, "a turn").await.unwrap_err().to_string();
    let pid = std::process::id();
    assert!(text.contains(&format!("in use by a turn in process {pid}: wait")), "{text}");
    let stranger = Lease { token: "another".to_owned(), ..lease.clone() };
    theirs.release(&stranger);
    assert!(is_leased(theirs.claim(&one, "a turn").await), "only the holder gives it back");
    ours.renew(&lease).await.unwrap();
    ours.release(&lease);
    // What the same store writes afterwards comes behind it.
    let late = ours.renew(&lease).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "it is over: {late:?}");
    assert_eq!(theirs.holder(&one).await.unwrap(), None);
    let next = theirs.claim(&one, "a turn").await.unwrap();
    assert!(is_leased(ours.renew(&lease).await));
    theirs.release(&next);
}

#[tokio::test]
async fn a_lease_ends_with_its_process_and_with_its_time() {
    let place = Place::new();
    let (ours, theirs) = (place.open(), place.open());
    let one = begin(&ours).await;
    ours.claim(&one, "a turn").await.unwrap();
    kill(&place, &one);
    let lease = theirs.claim(&one, "a turn").await.unwrap();
    let direct = rusqlite::Connection::open(place.file()).unwrap();
    direct.execute("UPDATE leases SET until_ms = 1", []).unwrap();
    let taken = ours.claim(&one, "a turn").await.unwrap();
    assert!(is_leased(theirs.renew(&lease).await));
    assert!(is_leased(theirs.append(&one, vec![user("late")]).await), "the late one is refused");
    // On another machine nobody can look: only time tells.
    direct.execute("UPDATE leases SET machine = 'm', host = 'box', pid = 99999999", []).unwrap();
    let text = theirs.claim(&one, "a turn").await.unwrap_err().to_string();
    assert!(text.contains("in process 99999999 on `box`"), "{text}");
    ours.release(&taken);
}

#[tokio::test]
async fn nobody_else_changes_what_a_turn_works_on() {
    let place = Place::new();
    let (ours, theirs) = (place.open(), place.open());
    let one = begin(&ours).await;
    let lease = ours.claim(&one, "a turn").await.unwrap();
    let seqs = ours.append(&one, vec![user("go"), calling(&["a", "b"])]).await.unwrap();
    ours.append(&one, vec![Row::Started(vec!["a".into()])]).await.unwrap();
    assert!(is_leased(theirs.append(&one, vec![user("me too")]).await));
    assert!(is_leased(theirs.amend(&one, Amend::Rewind(seqs[0])).await));
    assert!(is_leased(theirs.delete(&one).await));
    theirs.amend(&one, Amend::Title(Some("Lamp".to_owned()))).await.unwrap();
    let ended =
        Row::Ended { call: "a".into(), text: "did a".to_owned(), disposition: Disposition::Done };
    ours.append(&one, vec![ended]).await.unwrap();
    let fork = theirs.fork(&one, None, NewSession::default()).await.unwrap();
    let copied = texts(&theirs, &fork.session()).await;
    assert_eq!(copied[..3], ["user: go", "calls: a b", "a: did a"]);
    assert!(copied[3].starts_with("b: [Not in this copy"), "{copied:?}");
    let repaired = theirs.repair(|_| ()).await.unwrap();
    assert!(repaired.busy[0].contains("in use by a turn"), "{repaired:?}");
    assert!(repaired.findings.is_empty(), "a running turn is nothing odd: {repaired:?}");
    let last = Row::Expect(Some(seqs[1]));
    ours.append(&one, vec![last, result("a", "did a"), result("b", "did b")]).await.unwrap();
    let told = texts(&ours, &one).await;
    assert_eq!(told, ["user: go", "calls: a b", "a: did a", "b: did b"]);
    ours.release(&lease);
}

/// What the test knows about one conversation.
struct Model {
    id: SessionId,
    told: Vec<String>,
    /// Which of the two stores runs a turn, under which lease, and the calls that are open.
    turn: Option<(usize, Lease, Vec<String>)>,
    calls: u32,
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

impl Model {
    /// One step of whoever runs a turn; the other one is refused.
    async fn go_on(&mut self, who: usize, stores: &[Store; 2]) {
        let Some((holder, lease, open)) = &mut self.turn else {
            let lease = stores[who].claim(&self.id, "a turn").await.unwrap();
            stores[who].close_turn(&lease, WaitingCalls::Close).await.unwrap();
            let before = std::mem::take(&mut self.told);
            self.told = texts(&stores[who], &self.id).await;
            // What closes a torn turn is added; nothing that was there goes.
            let mut now = self.told.iter();
            assert!(
                before.iter().all(|row| now.any(|one| one == row)),
                "{before:?} {:?}",
                self.told
            );
            stores[who].append(&self.id, vec![user("go")]).await.unwrap();
            self.told.push("user: go".to_owned());
            self.turn = Some((who, lease, Vec::new()));
            return;
        };
        let row = if let Some(call) = open.pop() {
            self.told.push(format!("{call}: done"));
            result(&call, "done")
        } else {
            self.calls += 1;
            let call = format!("c{}", self.calls);
            self.told.push(format!("calls: {call}"));
            open.push(call.clone());
            calling(&[&call])
        };
        if who == *holder {
            stores[who].append(&self.id, vec![row]).await.unwrap();
            stores[who].renew(lease).await.unwrap();
            return;
        }
        assert!(is_leased(stores[who].append(&self.id, vec![row]).await));
        assert!(is_leased(stores[who].claim(&self.id, "a turn").await));
        match self.told.pop().unwrap().strip_suffix(": done") {
            Some(call) => open.push(call.to_owned()),
            None => drop(open.pop()),
        }
    }

    async fn check(&self, stores: &[Store; 2]) {
        for store in stores {
            assert_eq!(texts(store, &self.id).await, self.told);
        }
    }
}

#[tokio::test]
async fn whatever_two_programs_do_a_running_turn_keeps_its_rows() {
    for seed in 0..4 {
        let place = Place::new();
        let stores = [place.open(), place.open()];
        let mut dice = Dice(seed * 1_000_003 + 17);
        let mut models = Vec::new();
        for _ in 0..2 {
            let id = begin(&stores[0]).await;
            models.push(Model { id, told: Vec::new(), turn: None, calls: 0 });
        }
        for _ in 0..150 {
            let (who, at) = (dice.roll(2), dice.roll(2));
            let model = &mut models[at];
            match dice.roll(10) {
                0 => {
                    let copy = stores[who].fork(&model.id, None, NewSession::default()).await;
                    let copy = copy.unwrap().session();
                    assert!(close(&stores[who], &copy).await.is_empty(), "a copy is whole");
                    let copied = texts(&stores[who], &copy).await;
                    assert_eq!(copied[..model.told.len()], model.told[..]);
                    stores[who].append(&copy, vec![assistant("elsewhere")]).await.unwrap();
                }
                1 if dice.roll(3) == 0 => {
                    let repaired = stores[who].repair(|_| ()).await.unwrap();
                    assert!(repaired.findings.is_empty(), "{repaired:?}");
                    for model in models.iter_mut().filter(|model| model.turn.is_none()) {
                        let now = texts(&stores[0], &model.id).await;
                        let mut rows = now.iter();
                        assert!(model.told.iter().all(|row| rows.any(|one| one == row)));
                        model.told = now;
                    }
                }
                2 => {
                    if let Some((holder, lease, open)) = model.turn.take() {
                        if open.is_empty() {
                            stores[holder].release(&lease);
                            // Both must see it: the release is behind us in one queue only.
                            stores[holder].renew(&lease).await.unwrap_err();
                        } else {
                            kill(&place, &model.id);
                        }
                    }
                }
                3 => assert_eq!(
                    stores[who].holder(&model.id).await.unwrap().is_some(),
                    model.turn.is_some()
                ),
                _ => model.go_on(who, &stores).await,
            }
            for model in &models {
                model.check(&stores).await;
            }
        }
    }
}
