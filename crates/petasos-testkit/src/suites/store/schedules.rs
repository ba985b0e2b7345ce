//! Scheduled jobs: a due time is run once, by one owner, and never forgotten.

use petasos_store::{
    Advance, DeliveryClass, DeliveryWish, Finish, JobChange, JobLimits, JobReceipt, JobState, Lane,
    NewDelivery, NewJob, NewOccurrence, OccurrenceRow, OccurrenceState, Stores, Trigger,
    delivery_prefix,
};
use serde_json::{Map, json};

use super::{Case, Make, RACERS, race};

pub(super) static CASES: &[Case] = &[
    Case {
        name: "of many who see a job due one claims it, and its due time is noted once",
        run: |make| Box::pin(claimed_once(make)),
    },
    Case {
        name: "a job that was changed or moved on in between is not advanced",
        run: |make| Box::pin(as_seen(make)),
    },
    Case {
        name: "one that waits is claimed once, when the running one has ended",
        run: |make| Box::pin(waits(make)),
    },
    Case {
        name: "only its owner ends a run, once, and its deliveries are planned with it",
        run: |make| Box::pin(ended_by_its_owner(make)),
    },
    Case {
        name: "a run is given up for its last heartbeat, never for an older one",
        run: |make| Box::pin(silence(make)),
    },
    Case {
        name: "limits hold, changes meet the job as it was seen, and a removed job is not run",
        run: |make| Box::pin(kept(make)),
    },
];

const LIMITS: JobLimits = JobLimits { jobs: 100, by_maker: 20 };

fn job(id: &str, next_ms: i64) -> NewJob {
    NewJob {
        id: id.to_owned(),
        name: format!("job {id}"),
        state: JobState::Scheduled,
        body: Map::from_iter([("prompt".to_owned(), json!("say hello"))]),
        cursor_ms: 0,
        next_ms: Some(next_ms),
        maker: String::new(),
        created_ms: 0,
    }
}

fn noted(job: &str, at_ms: i64, state: OccurrenceState) -> NewOccurrence {
    NewOccurrence {
        job: job.to_owned(),
        trigger: Trigger::Schedule,
        scheduled_ms: at_ms,
        attempt: 1,
        state,
        reason: String::new(),
        first_ms: at_ms,
        folded: 0,
        late_ms: 0,
    }
}

fn moved(job: &str, revision: i64, to_ms: i64, notes: Vec<NewOccurrence>) -> Advance {
    Advance {
        job: job.to_owned(),
        revision,
        cursor_ms: to_ms,
        next_ms: Some(to_ms + 1000),
        active: 0,
        notes,
        body: None,
        completes: false,
    }
}

fn ended(state: OccurrenceState) -> Finish {
    Finish {
        state,
        wish: DeliveryWish::None,
        deliveries: Vec::new(),
        detail: Map::new(),
        at_ms: 5000,
    }
}

async fn add(stores: &Stores, new: NewJob) {
    let kept = stores.schedules.add_job(new, LIMITS).await.expect("a job");
    assert_eq!(kept, JobReceipt::Kept);
}

async fn claim(stores: &Stores, job: &str, revision: i64, to_ms: i64) -> Option<OccurrenceRow> {
    let note = noted(job, to_ms, OccurrenceState::Claimed);
    let advance = moved(job, revision, to_ms, vec![note]);
    let advanced = stores.schedules.advance(advance, to_ms).await.expect("an answer");
    advanced.and_then(|advanced| advanced.claimed)
}

async fn claimed_once(make: Make) {
    let stores = make();
    add(&stores, job("a", 1000)).await;
    for round in 0..5 {
        let to = (round + 1) * 1000;
        assert_eq!(stores.schedules.due_jobs(to, 10).await.expect("due").len(), 1);
        let claims =
            race(&make, |stores, _| async move { claim(&stores, "a", round, to).await }).await;
        let won: Vec<&OccurrenceRow> = claims.iter().flatten().collect();
        assert_eq!(won.len(), 1, "{claims:?}");
        assert!(stores.schedules.due_jobs(to, 10).await.expect("due").is_empty());
        let gone = won.first().map(|row| (row.id.clone(), row.beat_ms));
        let gone = stores.schedules.abandon(gone.into_iter().collect(), to).await.expect("it");
        assert_eq!(gone.len(), 1);
    }
    let all = stores.schedules.occurrences(Some("a"), 100).await.expect("rows");
    let times: Vec<i64> = all.iter().map(|row| row.new.scheduled_ms).collect();
    assert_eq!(times, [5000, 4000, 3000, 2000, 1000]);
}

async fn as_seen(make: Make) {
    let stores = make();
    add(&stores, job("a", 1000)).await;
    assert!(claim(&stores, "a", 1, 1000).await.is_none(), "another revision");
    assert!(claim(&stores, "b", 0, 1000).await.is_none(), "no such job");
    let paused =
        JobChange { state: Some((JobState::Paused, "a break".into())), ..JobChange::default() };
    assert!(stores.schedules.change_job("a", 0, paused, 1).await.expect("it"));
    assert!(claim(&stores, "a", 1, 1000).await.is_none(), "paused");
    assert!(stores.schedules.occurrences(None, 10).await.expect("rows").is_empty());
    let on =
        JobChange { state: Some((JobState::Scheduled, String::new())), ..JobChange::default() };
    assert!(stores.schedules.change_job("a", 1, on, 1).await.expect("it"));
    let first = claim(&stores, "a", 2, 1000).await.expect("ours");
    assert!(claim(&stores, "a", 3, 2000).await.is_none(), "one is about that was not seen");
    assert!(
        stores.schedules.finish(&first.id, ended(OccurrenceState::Succeeded)).await.expect("it")
    );
    // A clock that was set back: the due time is noted already, and is not run again.
    let back = moved("a", 3, 1000, vec![noted("a", 1000, OccurrenceState::Claimed)]);
    let again = stores.schedules.advance(back, 900).await.expect("it").expect("moved");
    assert_eq!((again.claimed, again.known), (None, 1));
}

async fn waits(make: Make) {
    let stores = make();
    add(&stores, job("a", 1000)).await;
    let running = claim(&stores, "a", 0, 1000).await.expect("ours");
    let note = noted("a", 2000, OccurrenceState::Due);
    let queued = Advance { active: 1, ..moved("a", 1, 2000, vec![note]) };
    assert!(stores.schedules.advance(queued, 2000).await.expect("it").is_some());
    assert_eq!(stores.schedules.claim_waiting(2001).await, Ok(None));
    assert_eq!(stores.schedules.active("a").await.expect("rows").len(), 2);
    assert!(
        stores.schedules.finish(&running.id, ended(OccurrenceState::Failed)).await.expect("it")
    );
    let claims = race(&make, |stores, _| async move {
        stores.schedules.claim_waiting(2002).await.expect("an answer")
    })
    .await;
    assert_eq!(claims.iter().flatten().count(), 1, "{claims:?}");
}

async fn ended_by_its_owner(make: Make) {
    let stores = make();
    add(&stores, job("a", 1000)).await;
    let run = claim(&stores, "a", 0, 1000).await.expect("ours");
    let session = petasos_contract::SessionId::new("cron_a_1");
    assert!(!make().schedules.begin(&run.id, None, 1001).await.expect("it"), "of somebody else");
    assert!(stores.schedules.begin(&run.id, Some(&session), 1001).await.expect("it"));
    assert!(stores.schedules.called(&run.id).await.expect("it"));
    let lane = Lane {
        platform: "telegram".to_owned(),
        account: "bot".to_owned(),
        chat: "1".to_owned(),
        thread: None,
    };
    let delivery = NewDelivery {
        lane,
        class: DeliveryClass::Final,
        token: format!("{}0", delivery_prefix(&run.id)),
        body: "hello".to_owned(),
        media: Vec::new(),
        buttons: Vec::new(),
        reply_to: None,
        inbox: None,
    };
    let finish = Finish {
        wish: DeliveryWish::Queued,
        deliveries: vec![delivery],
        detail: Map::from_iter([("cost".to_owned(), json!(0.5))]),
        ..ended(OccurrenceState::Succeeded)
    };
    assert!(!make().schedules.finish(&run.id, finish.clone()).await.expect("it"));
    assert!(stores.schedules.deliveries_of(&run.id).await.expect("rows").is_empty());
    assert!(stores.schedules.finish(&run.id, finish.clone()).await.expect("it"));
    assert!(!stores.schedules.finish(&run.id, finish).await.expect("it"), "once");
    assert_eq!(stores.schedules.deliveries_of(&run.id).await.expect("rows").len(), 1);
    let last = stores.schedules.job("a").await.expect("a look").expect("it").last.expect("a run");
    assert_eq!((last.new.state, last.session), (OccurrenceState::Succeeded, Some(session)));
    assert!(stores.schedules.beat(vec![run.id], 9000).await.expect("it").is_empty());
}

async fn silence(make: Make) {
    let (stores, other) = (make(), make());
    add(&stores, job("a", 1000)).await;
    add(&stores, job("b", 1000)).await;
    let unbegun = claim(&other, "a", 0, 1000).await.expect("theirs");
    let begun = claim(&other, "b", 0, 1000).await.expect("theirs");
    assert!(other.schedules.called(&begun.id).await.expect("it"));
    assert!(other.schedules.silent(2000).await.expect("rows").is_empty(), "its own are not silent");
    let silent = stores.schedules.silent(2000).await.expect("rows");
    assert_eq!(silent.len(), 2);
    assert_eq!(other.schedules.beat(vec![unbegun.id.clone()], 3000).await.expect("it").len(), 1);
    let gone = stores.schedules.abandon(silent.clone(), 4000).await.expect("rows");
    let states: Vec<OccurrenceState> = gone.iter().map(|row| row.new.state).collect();
    assert_eq!(states, [OccurrenceState::Unknown]);
    let finish = ended(OccurrenceState::Succeeded);
    assert!(!other.schedules.finish(&begun.id, finish).await.expect("it"), "too late");
    let silent = stores.schedules.silent(9000).await.expect("rows");
    let gone = stores.schedules.abandon(silent, 9000).await.expect("rows");
    let states: Vec<OccurrenceState> = gone.iter().map(|row| row.new.state).collect();
    assert_eq!(states, [OccurrenceState::Interrupted]);
}

async fn kept(make: Make) {
    let stores = make();
    let limits = JobLimits { jobs: u32::try_from(RACERS).unwrap_or_default(), by_maker: 3 };
    let receipts = race(&make, |stores, number| async move {
        let new = NewJob { maker: "s1".into(), ..job(&format!("{number}"), 1000) };
        stores.schedules.add_job(new, limits).await.expect("an answer")
    })
    .await;
    let counted = |what| receipts.iter().filter(|it| **it == what).count();
    assert_eq!((counted(JobReceipt::Kept), counted(JobReceipt::TooManyToday)), (3, RACERS - 3));
    for number in 0..RACERS - 3 {
        let new = job(&format!("more {number}"), 1000);
        assert_eq!(stores.schedules.add_job(new, limits).await, Ok(JobReceipt::Kept));
    }
    assert_eq!(stores.schedules.add_job(job("x", 1), limits).await, Ok(JobReceipt::TooMany));
    let renamed = JobChange { name: Some("new".into()), ..JobChange::default() };
    let done = race(&make, |stores, _| {
        let renamed = renamed.clone();
        async move { stores.schedules.change_job("more 0", 0, renamed, 2).await.expect("it") }
    })
    .await;
    assert_eq!(done.iter().filter(|it| **it).count(), 1);
    assert_eq!(stores.schedules.job("more 0").await.expect("it").expect("it").job.name, "new");
    assert_eq!(stores.schedules.next_job().await, Ok(Some(1000)));
    assert_eq!(stores.schedules.remove_job("more 0").await, Ok(true));
    assert_eq!(stores.schedules.remove_job("more 0").await, Ok(false));
    assert!(claim(&stores, "more 0", 0, 1000).await.is_none());
    stores.schedules.note_scheduler("gateway", 1).await.expect("it");
    stores.schedules.note_scheduler("gateway", 2).await.expect("it");
    let seen = make().schedules.schedulers().await.expect("rows");
    assert_eq!(seen.iter().map(|row| (row.woke_ms, row.alive)).collect::<Vec<_>>(), [(2, true)]);
}
