//! Boards: one claim at a time, and nothing moves for those who lost theirs.

use petasos_contract::taint::Taint;
use petasos_store::{
    Actor, BoardError, BoardStore, CLAIM, ClaimAsk, Claimed, Completion, NewFile, NewTask, On,
    Part, Patience, RunEnd, Sorted, Status, Stores, Task, TaskFilter, TriageAsk,
};
use serde_json::json;

use super::{Case, Make, RACERS, race};

pub(super) static CASES: &[Case] = &[
    Case {
        name: "of many who claim at once one gets the task, and each task goes to one",
        run: |make| Box::pin(claimed_once(make)),
    },
    Case {
        name: "of many who make a task with one key one is new, and all get it",
        run: |make| Box::pin(made_once(make)),
    },
    Case {
        name: "whoever lost a claim settles nothing any more",
        run: |make| Box::pin(lost(make)),
    },
    Case {
        name: "a task waits for its parents, never for itself, and takes over where they work",
        run: |make| Box::pin(waits(make)),
    },
    Case {
        name: "kinds of blocks, and the third for one reason goes to triage",
        run: |make| Box::pin(blocks(make)),
    },
    Case {
        name: "stale, slow, failing and rate limited attempts end by the clock of who looks",
        run: |make| Box::pin(ends(make)),
    },
    Case { name: "a task is done with its files or not at all", run: |make| Box::pin(files(make)) },
    Case {
        name: "words from outside stay marked on the task and on what comes from it",
        run: |make| Box::pin(labels(make)),
    },
    Case {
        name: "a task in triage is looked at by one, split whole or not at all, and not for ever",
        run: |make| Box::pin(sorted(make)),
    },
];

const PATIENCE: Patience = Patience { stale: std::time::Duration::from_hours(4), failure_limit: 2 };

fn new(title: &str) -> NewTask {
    NewTask {
        board: "default".to_owned(),
        title: title.to_owned(),
        assignee: "writer".to_owned(),
        by: "boss".to_owned(),
        ..NewTask::default()
    }
}

async fn made(board: &dyn BoardStore, new: NewTask) -> Task {
    board.create_task(new).await.expect("a task").task
}

fn on(task: &Task, lock: Option<&str>, at_ms: i64) -> On {
    let by = Actor { profile: "writer".to_owned(), lock: lock.map(str::to_owned), at_ms };
    On { board: task.board.clone(), task: task.id.clone(), by }
}

async fn claim(board: &dyn BoardStore, task: &Task, at_ms: i64) -> Option<Claimed> {
    let ask = ClaimAsk {
        board: task.board.clone(),
        task: Some(task.id.clone()),
        at_ms,
        ..ClaimAsk::default()
    };
    board.claim_task(ask).await.expect("a try")
}

async fn status(board: &dyn BoardStore, task: &Task) -> Status {
    board.view_task(&task.board, &task.id).await.expect("a look").task.status
}

fn summary(text: &str) -> Completion {
    Completion { summary: Some(text.to_owned()), ..Completion::default() }
}

async fn claimed_once(make: Make) {
    let stores = make();
    for number in 0..RACERS / 2 {
        let urgent = i64::try_from(number).expect("a number");
        made(&*stores.boards, NewTask { priority: urgent, ..new("one") }).await;
    }
    let next = |at_ms| ClaimAsk { board: "default".to_owned(), at_ms, ..ClaimAsk::default() };
    let got =
        race(
            &make,
            |stores, _| async move { stores.boards.claim_task(next(10)).await.expect("a try") },
        )
        .await;
    let mut ids: Vec<String> = got.iter().flatten().map(|it| it.task.id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), got.iter().flatten().count()), (RACERS / 2, RACERS / 2));
    for round in 0..5 {
        let task = made(&*stores.boards, new(&format!("race {round}"))).await;
        let got = race(&make, |stores, _| {
            let task = task.clone();
            async move { claim(&*stores.boards, &task, 20).await }
        })
        .await;
        assert_eq!(got.iter().flatten().count(), 1);
    }
    // A profile works on so many at most.
    made(&*stores.boards, NewTask { assignee: "other".to_owned(), ..new("two") }).await;
    made(&*stores.boards, new("more")).await;
    let ask = ClaimAsk { running_max: Some(1), ..next(30) };
    let allowed = stores.boards.claim_task(ask.clone()).await.expect("a try").expect("one");
    assert_eq!(allowed.task.assignee, "other", "the writer is busy");
    assert_eq!(stores.boards.claim_task(ask).await, Ok(None));
}

async fn made_once(make: Make) {
    let got = race(&make, |stores, _| async move {
        let keyed = NewTask { idempotency_key: Some("k".to_owned()), ..new("one") };
        stores.boards.create_task(keyed).await.expect("a task")
    })
    .await;
    assert_eq!(got.iter().filter(|it| it.is_new).count(), 1);
    assert!(got.iter().all(|it| it.task.id == got.first().expect("one").task.id));
    let id = &got.first().expect("one").task.id;
    assert!(id.strip_prefix("t_").is_some_and(|rest| rest.len() == 8), "{id}");
    let other =
        NewTask { board: "second".to_owned(), idempotency_key: Some("k".to_owned()), ..new("one") };
    assert!(make().boards.create_task(other).await.expect("a task").is_new);
}

async fn lost(make: Make) {
    let (mine, theirs) = (make(), make());
    let task = made(&*mine.boards, new("one")).await;
    let first = claim(&*mine.boards, &task, 0).await.expect("a claim");
    let later = i64::try_from(CLAIM.as_millis()).expect("a time") + 1;
    let taken = theirs.boards.reclaim("default", PATIENCE, later).await.expect("a look");
    assert_eq!(taken.iter().map(|it| it.task.as_str()).collect::<Vec<_>>(), [&task.id]);
    let second = claim(&*theirs.boards, &task, later).await.expect("a claim");
    let lost = BoardError::ClaimLost { task: task.id.clone() };
    let old = on(&task, Some(&first.lock), later);
    assert_eq!(mine.boards.beat(old.clone(), None).await, Err(lost.clone()));
    assert_eq!(mine.boards.complete(old.clone(), summary("done")).await, Err(lost.clone()));
    assert_eq!(mine.boards.comment(old.clone(), "x".to_owned(), Taint::NONE).await, Err(lost));
    let end = RunEnd::Failed { why: "late".to_owned(), limit: 1 };
    assert_eq!(mine.boards.end_run(old, end).await, Ok(None));
    assert_eq!(status(&*mine.boards, &task).await, Status::Running);
    let ours = on(&task, Some(&second.lock), later);
    let run = theirs.boards.complete(ours.clone(), summary("done")).await;
    assert_eq!(run, Ok(Some(second.run_id)));
    let again = theirs.boards.complete(on(&task, None, later), summary("twice")).await;
    assert!(matches!(again, Err(BoardError::WrongState { .. })), "{again:?}");
    let view = mine.boards.view_task("default", &task.id).await.expect("a look");
    let outcomes: Vec<_> = view.runs.iter().map(|run| run.outcome.as_deref()).collect();
    assert_eq!(outcomes, [Some("stale"), Some("completed")]);
    assert_eq!(view.task.summary.as_deref(), Some("done"));
}

async fn waits(make: Make) {
    let stores = make();
    let board = &*stores.boards;
    let place = petasos_store::Workspace { kind: "dir".to_owned(), path: Some("/srv".to_owned()) };
    let first =
        NewTask { workspace: Some(place.clone()), project: Some("p".to_owned()), ..new("first") };
    let first = made(board, first).await;
    let child = NewTask { parents: vec![first.id.clone()], ..new("second") };
    let second = made(board, child).await;
    assert_eq!((second.status, &second.workspace), (Status::Todo, &place));
    assert_eq!(second.project.as_deref(), Some("p"));
    let third = made(board, new("third")).await;
    board.link(on(&third, None, 1), &second.id).await.expect("a link");
    assert_eq!(status(board, &third).await, Status::Todo, "a ready task waits again");
    let cycle = board.link(on(&first, None, 2), &third.id).await;
    let said = BoardError::Cycle { parent: third.id.clone(), child: first.id.clone() };
    assert_eq!(cycle, Err(said));
    assert!(board.link(on(&first, None, 2), &first.id).await.is_err(), "itself");
    assert_eq!(board.promote("default", 3).await, Ok(Vec::new()));
    assert_eq!(claim(board, &second, 3).await, None);
    board.complete(on(&first, None, 4), summary("handed over")).await.expect("an end");
    let view = board.view_task("default", &second.id).await.expect("a look");
    assert_eq!(view.task.status, Status::Ready, "the end of a parent sets it free");
    assert_eq!(view.parents.first().and_then(|it| it.summary.as_deref()), Some("handed over"));
    let unknown = NewTask { parents: vec!["t_00000000".to_owned()], ..new("x") };
    assert!(matches!(board.create_task(unknown).await, Err(BoardError::NoTask { .. })));
    let filter = TaskFilter { board: "default".to_owned(), limit: 10, ..TaskFilter::default() };
    assert_eq!(board.list_tasks(filter).await.expect("a list").len(), 3);
}

async fn blocks(make: Make) {
    let stores = make();
    let board = &*stores.boards;
    let task = made(board, new("one")).await;
    let stop = |kind: &str, at_ms| {
        board.block(on(&task, None, at_ms), kind.to_owned(), "no key".to_owned())
    };
    let expected = [Status::Blocked, Status::Blocked, Status::Triage];
    for (at_ms, expected) in (1..).zip(expected) {
        let (blocked, _) = stop("needs_input", at_ms).await.expect("a block");
        assert_eq!(
            (blocked.status, blocked.block_kind.as_deref()),
            (expected, Some("needs_input"))
        );
        let on = on(&task, None, at_ms);
        assert_eq!(board.unblock(on).await.expect("help").status, Status::Ready);
    }
    let (waiting, _) = stop("dependency", 9).await.expect("a block");
    assert_eq!(waiting.status, Status::Todo);
    let wrong = board.unblock(on(&task, None, 10)).await;
    assert!(matches!(wrong, Err(BoardError::WrongState { .. })), "{wrong:?}");
    let away = board.archive(on(&task, None, 11)).await.expect("away");
    assert_eq!(away.status, Status::Archived);
}

async fn ends(make: Make) {
    let stores = make();
    let board = &*stores.boards;
    let claim_ms = i64::try_from(CLAIM.as_millis()).expect("a time");
    let task = made(board, NewTask { max_runtime_s: Some(3600), ..new("one") }).await;
    let held = claim(board, &task, 0).await.expect("a claim");
    board.beat(on(&task, Some(&held.lock), claim_ms - 1), None).await.expect("a sign");
    assert_eq!(board.reclaim("default", PATIENCE, claim_ms + 1).await, Ok(Vec::new()));
    let mut at_ms = 0;
    while at_ms <= 3_600_000 {
        at_ms += claim_ms - 1;
        board.beat(on(&task, Some(&held.lock), at_ms), None).await.expect("a sign");
    }
    let taken = board.reclaim("default", PATIENCE, at_ms).await.expect("a look");
    assert!(taken.first().is_some_and(|it| it.why.contains("max_runtime_seconds")), "{taken:?}");
    // The provider asked for a pause, which is no failure.
    let held = claim(board, &task, at_ms).await.expect("a claim");
    let mine = on(&task, Some(&held.lock), at_ms);
    let paused = RunEnd::RateLimited { until_ms: at_ms + 300_000 };
    let paused = board.end_run(mine, paused).await.expect("an end").expect("ours");
    assert_eq!((paused.status, paused.failures), (Status::Ready, 1));
    assert_eq!(claim(board, &task, at_ms + 1).await, None, "not yet");
    let held = claim(board, &task, at_ms + 300_000).await.expect("a claim");
    let end = RunEnd::Failed { why: "exit 1".to_owned(), limit: 2 };
    let mine = on(&task, Some(&held.lock), at_ms + 300_001);
    let failed = board.end_run(mine, end).await.expect("an end").expect("ours");
    assert_eq!((failed.status, failed.failures), (Status::Blocked, 2));
    assert!(failed.block_reason.is_some_and(|why| why.contains("exit 1")));
}

async fn files(make: Make) {
    let stores: Stores = make();
    let board = &*stores.boards;
    let task = made(board, new("one")).await;
    let file = |name: &str, bytes: usize| NewFile {
        filename: name.to_owned(),
        content: vec![7; bytes],
        ..NewFile::default()
    };
    let kept = board.attach(on(&task, None, 1), file("../a.bin", 10), Taint::WEB).await;
    let kept = kept.expect("a file");
    assert_eq!((kept.filename.as_str(), kept.size), ("a.bin", 10));
    assert_eq!(std::fs::read(&kept.path).expect("bytes"), vec![7; 10]);
    let large = petasos_store::ATTACHMENT_BYTES_MAX + 1;
    let refused = board.attach(on(&task, None, 2), file("b.bin", large), Taint::NONE).await;
    assert!(matches!(refused, Err(BoardError::Bad(_))), "{refused:?}");
    let foreign = made(board, new("not ours")).await;
    let done = Completion {
        artifacts: vec![file("c.bin", 3)],
        created_cards: vec![foreign.id.clone()],
        metadata: json!({ "x": 1 }),
        ..summary("done")
    };
    let refused = board.complete(on(&task, None, 3), done.clone()).await;
    assert!(matches!(refused, Err(BoardError::Bad(_))), "{refused:?}");
    let view = board.view_task("default", &task.id).await.expect("a look");
    assert_eq!((view.task.status, view.attachments.len()), (Status::Ready, 1));
    let ours = made(board, NewTask { by: "writer".to_owned(), ..new("ours") }).await;
    let done = Completion { created_cards: vec![ours.id], ..done };
    board.complete(on(&task, None, 4), done).await.expect("an end");
    let view = board.view_task("default", &task.id).await.expect("a look");
    let names: Vec<_> = view.attachments.iter().map(|it| it.filename.as_str()).collect();
    assert_eq!((view.task.status, names), (Status::Done, vec!["a.bin", "c.bin"]));
    assert_eq!(view.task.metadata, json!({ "x": 1 }));
}

async fn labels(make: Make) {
    let stores = make();
    let board = &*stores.boards;
    let tainted = made(board, NewTask { label: Taint::WEB, ..new("one") }).await;
    let child = NewTask { parents: vec![tainted.id.clone()], label: Taint::MCP, ..new("two") };
    let child = made(board, child).await;
    assert_eq!(child.label, Taint::WEB.with(Taint::MCP));
    board.comment(on(&child, None, 1), "x".to_owned(), Taint::CHAT).await.expect("a comment");
    let view = make().boards.view_task("default", &child.id).await.expect("a look");
    assert_eq!(view.task.label, child.label);
    assert_eq!(view.comments.first().map(|it| it.label), Some(Taint::CHAT));
}

async fn sorted(make: Make) {
    let stores = make();
    let board = &*stores.boards;
    let vague = || NewTask { begins: Some(Status::Triage), label: Taint::WEB, ..new("large") };
    let task = made(board, vague()).await;
    let ask = |at_ms: i64| TriageAsk {
        board: "default".to_owned(),
        failures_max: 2,
        until_ms: at_ms + 100,
        at_ms,
    };
    let got = race(&make, |stores, _| async move {
        stores.boards.take_triage(ask(10)).await.expect("a look")
    })
    .await;
    let mut got = got.into_iter().flatten();
    let (_, lock) = got.next().expect("one of them looks");
    assert_eq!(got.next(), None, "and only one");
    let part = |title: &str, after: Vec<usize>| Part { new: new(title), after };
    let parts = |parts| Sorted::Parts { parts, assignee: Some("boss".to_owned()) };
    let backwards = parts(vec![part("first", vec![1]), part("second", Vec::new())]);
    let refused = board.sort(on(&task, Some(&lock), 11), backwards).await;
    assert!(matches!(refused, Err(BoardError::Bad(_))), "{refused:?}");
    let filter = || TaskFilter { board: "default".to_owned(), limit: 10, ..TaskFilter::default() };
    assert_eq!(board.list_tasks(filter()).await.expect("a list").len(), 1, "nothing was made");
    let stranger = board.sort(on(&task, Some("another"), 11), Sorted::Whole).await;
    assert!(matches!(stranger, Err(BoardError::ClaimLost { .. })), "{stranger:?}");
    let wish = parts(vec![part("first", Vec::new()), part("second", vec![0])]);
    let whole = board.sort(on(&task, Some(&lock), 12), wish.clone()).await.expect("split");
    assert_eq!((whole.status, whole.assignee.as_str()), (Status::Todo, "boss"));
    assert!(board.sort(on(&task, Some(&lock), 13), wish).await.is_err(), "once");
    let view = board.view_task("default", &task.id).await.expect("a look");
    assert_eq!(view.parents.len(), 2);
    for part in &view.parents {
        let stands = if part.title == "first" { Status::Ready } else { Status::Todo };
        assert_eq!((part.status, part.label), (stands, Taint::WEB), "{}", part.title);
    }
    for part in &view.parents {
        board.complete(on(part, None, 20), summary("done")).await.expect("an end");
    }
    assert_eq!(status(board, &task).await, Status::Ready, "its parts are done");
    // Nobody can tell what it is: that is tried so often, with a pause, and people see it.
    let riddle = made(board, vague()).await;
    for at_ms in [1000, 2000] {
        let (_, lock) = board.take_triage(ask(at_ms)).await.expect("a look").expect("one");
        assert_eq!(board.take_triage(ask(at_ms + 50)).await, Ok(None), "not at once again");
        let failed = Sorted::Failed { why: "no model".to_owned() };
        let left = board.sort(on(&riddle, Some(&lock), at_ms), failed).await.expect("a note");
        assert_eq!(left.status, Status::Triage);
    }
    assert_eq!(board.take_triage(ask(9000)).await, Ok(None), "it is left to people");
    assert_eq!(board.unblock(on(&riddle, None, 9001)).await.expect("help").status, Status::Ready);
}
