//! Questions to people: the first answer in time counts, once.

use petasos_contract::SessionId;
use petasos_store::{
    AnswerOutcome, NewQuestion, NotAnswered, QuestionAnswer, QuestionId, QuestionRecord,
    QuestionState, REJOINED_MIN, Stores,
};
use serde_json::json;

use super::{Case, Make, RACERS, chat, race};

pub(super) static CASES: &[Case] = &[
    Case {
        name: "of many who answer at once one counts, and the others hear how it was decided",
        run: |make| Box::pin(first_counts(make)),
    },
    Case {
        name: "an answer is taken once, whoever races for it",
        run: |make| Box::pin(taken_once(make)),
    },
    Case {
        name: "an answer that races with an expiry either counts or is late, never both",
        run: |make| Box::pin(answer_or_expiry(make)),
    },
    Case {
        name: "only the same call with the same words joins its question, which gets new time",
        run: |make| Box::pin(joins(make)),
    },
    Case {
        name: "questions expire by the clock of whoever answers, and are counted by session",
        run: |make| Box::pin(expires(make)),
    },
];

fn asked(session: &str, call: &str, at_ms: i64) -> NewQuestion {
    NewQuestion {
        id: QuestionId::new(format!("{session}-{call}-{at_ms}")),
        session: SessionId::new(session),
        turn: "turn".into(),
        call: call.into(),
        kind: "approval".to_owned(),
        digest: "d1".to_owned(),
        body: json!({ "subject": "rm one" }),
        address: chat("1"),
        opened_ms: at_ms,
        expires_ms: at_ms + 1000,
    }
}

fn answer(by: usize, at_ms: i64) -> QuestionAnswer {
    QuestionAnswer { reply: json!("yes"), by: Some(format!("person {by}")), at_ms }
}

async fn put(stores: &Stores, new: NewQuestion) -> QuestionId {
    stores.questions.ask(new).await.expect("a question").asked.id
}

async fn first_counts(make: Make) {
    let stores = make();
    for round in 0..5 {
        let id = put(&stores, asked("s", &format!("call {round}"), 0)).await;
        let outcomes = race(&make, |stores, number| {
            let id = id.clone();
            async move { stores.questions.answer(&id, answer(number, 500)).await.expect("one") }
        })
        .await;
        let won = outcomes.iter().position(|it| *it == AnswerOutcome::Counts).expect("one counts");
        let late = AnswerOutcome::Late(QuestionState::Answered(answer(won, 500)));
        assert_eq!(outcomes.iter().filter(|it| **it == late).count(), RACERS - 1, "{outcomes:?}");
        let record = stores.questions.get(&id).await.expect("a look").expect("it");
        assert_eq!(record.state, QuestionState::Answered(answer(won, 500)));
    }
    let nobody = stores.questions.answer(&QuestionId::new("no such"), answer(0, 0)).await;
    assert_eq!(nobody, Ok(AnswerOutcome::Unknown));
}

async fn taken_once(make: Make) {
    let stores = make();
    let id = put(&stores, asked("s", "call", 0)).await;
    assert_eq!(stores.questions.take(&id).await, Ok(None), "nobody has answered");
    stores.questions.answer(&id, answer(1, 10)).await.expect("an answer");
    let taken = race(&make, |stores, _| {
        let id = id.clone();
        async move { stores.questions.take(&id).await.expect("a try") }
    })
    .await;
    assert_eq!(taken.iter().flatten().collect::<Vec<_>>(), [&answer(1, 10)]);
    let again = put(&stores, asked("s", "call", 20)).await;
    assert_ne!(again, id, "a consent that was used does not serve a second time");
}

async fn answer_or_expiry(make: Make) {
    let stores = make();
    for round in 0..10 {
        let id = put(&stores, asked("s", &format!("call {round}"), 0)).await;
        let other = make();
        let (answered, closed) = tokio::join!(
            stores.questions.answer(&id, answer(1, 1000)),
            other.questions.close(&id, NotAnswered::Expired)
        );
        let expired = QuestionState::Closed(NotAnswered::Expired);
        match answered.expect("an answer") {
            AnswerOutcome::Counts => {
                assert_eq!(closed, Ok(Some(QuestionState::Answered(answer(1, 1000)))));
            }
            late => {
                assert_eq!(late, AnswerOutcome::Late(expired.clone()));
                assert_eq!(closed, Ok(Some(expired)));
            }
        }
    }
}

async fn joins(make: Make) {
    let (dead, next) = (make(), make());
    let id = put(&dead, asked("s", "call", 0)).await;
    let late = 1_000_000;
    let joined = next.questions.ask(asked("s", "call", late)).await.expect("a question");
    assert_eq!((&joined.asked.id, joined.number), (&id, 1));
    let least = i64::try_from(REJOINED_MIN.as_millis()).expect("a time");
    assert!(joined.asked.expires_ms >= late + least, "{joined:?}");
    // Answered while nobody waits: whoever comes back finds it.
    next.questions.answer(&id, answer(1, late)).await.expect("an answer");
    let found = next.questions.ask(asked("s", "call", late)).await.expect("a question");
    assert_eq!(found.state, QuestionState::Answered(answer(1, late)));
    let changes: [fn(&mut NewQuestion); 4] = [
        |new| "d2".clone_into(&mut new.digest),
        |new| new.body = json!({ "subject": "rm two" }),
        |new| new.turn = "another".into(),
        |new| "choice".clone_into(&mut new.kind),
    ];
    for (at, change) in (1_i64..).zip(changes) {
        let mut new = asked("s", "call", late + at);
        change(&mut new);
        let other = next.questions.ask(new).await.expect("a question");
        assert_eq!((other.asked.id != id, other.state), (true, QuestionState::Open));
    }
    let cancelled = QuestionState::Closed(NotAnswered::Cancelled);
    let old = next.questions.get(&id).await.expect("a look").expect("it");
    assert_eq!(old.state, cancelled, "it is about something else now");
}

async fn expires(make: Make) {
    let stores = make();
    let id = put(&stores, asked("s", "one", 0)).await;
    let late = stores.questions.answer(&id, answer(1, 1001)).await;
    let expired = QuestionState::Closed(NotAnswered::Expired);
    assert_eq!(late, Ok(AnswerOutcome::Late(expired)));
    assert_eq!(stores.questions.answer(&id, answer(1, 1000)).await, Ok(AnswerOutcome::Counts));
    put(&stores, asked("s", "two", 5)).await;
    put(&stores, asked("other", "one", 6)).await;
    let reader = make();
    let each = |it: &QuestionRecord| (it.asked.session.to_string(), it.number);
    let own = |session: &str, number: u32| (session.to_owned(), number);
    let open = reader.questions.open(None).await.expect("a list");
    assert_eq!(open.iter().map(each).collect::<Vec<_>>(), [own("s", 2), own("other", 1)]);
    let open = reader.questions.open(Some(&SessionId::new("other"))).await.expect("a list");
    assert_eq!(open.iter().map(each).collect::<Vec<_>>(), [own("other", 1)]);
}
