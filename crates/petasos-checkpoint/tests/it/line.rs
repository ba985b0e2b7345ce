//! Who waits for whom.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use petasos_checkpoint::Before;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::middleware::{AroundMiddleware as _, Execution};
use petasos_contract::{Args, CallContext, SessionId, ToolName, ToolOutput, TurnId};
use serde_json::json;

use crate::project::{Project, install_git, write};

const SESSIONS: usize = 300;

#[tokio::test]
async fn sessions_that_begin_together_in_one_folder_share_a_checkpoint() {
    let project = Project::new(&json!({}));
    project.put("a", "1");
    let effects = Effects::one(Effect::Write("/w".into()));
    let before = Before::new(Arc::clone(&project.checkpoints));
    let tool = ToolName::new("write_file");
    let begin = async |number: usize| {
        let session = SessionId::new(format!("s{number}"));
        let cx = CallContext { session, ..project.cx.clone() };
        let next = |_: Args| {
            project.put(&format!("of-{number}"), "new");
            Box::pin(async { Ok(ToolOutput::plain_error("ran")) }) as _
        };
        let call = Execution { tool: &tool, args: Args::default(), effects: &effects };
        before.around(call, Box::new(next), &cx).await.unwrap();
    };
    let mut sessions: Vec<_> = (0..SESSIONS).map(|number| Box::pin(begin(number))).collect();
    let all = std::future::poll_fn(|task| {
        sessions.retain_mut(|session| session.as_mut().poll(task).is_pending());
        if sessions.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    });
    let start = std::time::Instant::now();
    all.await;
    println!("{SESSIONS} sessions began in {:?}", start.elapsed());
    let listed = project.checkpoints.list(&project.cx).await.unwrap();
    assert!(listed.len() <= 2, "{} for {SESSIONS} sessions", listed.len());
    // The oldest is from before everything.
    let first = &listed.last().unwrap().id;
    project.checkpoints.restore(first, &[], &project.cx).await.unwrap();
    assert_eq!(fs::read_dir(&*project.cx.workspace).unwrap().count(), 1);
}

#[tokio::test]
async fn a_copy_that_its_call_has_no_time_for_is_tried_again_at_the_next_turn() {
    let project = Project::new(&json!({}));
    let root = project.folder.path().canonicalize().unwrap();
    install_git(&root);
    project.put("a", "1");
    let effects = Effects::one(Effect::Write("/w".into()));
    let before = Before::new(Arc::clone(&project.checkpoints));
    let tool = ToolName::new("write_file");
    let call = async |turn: &str, time: Duration| {
        let turn = TurnId::new(turn);
        let deadline = std::time::Instant::now() + time;
        let cx = CallContext { turn, deadline, ..project.cx.clone() };
        let next = |_: Args| Box::pin(async { Ok(ToolOutput::plain_error("ran")) }) as _;
        let call = Execution { tool: &tool, args: Args::default(), effects: &effects };
        before.around(call, Box::new(next), &cx).await.unwrap();
    };
    write(&root.join("fault"), "update-index before\n");
    call("one", Duration::from_millis(300)).await;
    assert!(project.checkpoints.list(&project.cx).await.unwrap().is_empty());
    fs::remove_file(root.join("fault")).unwrap();
    call("two", Duration::from_mins(1)).await;
    assert_eq!(project.checkpoints.list(&project.cx).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_workspace_does_not_wait_for_another_one() {
    let project = Project::new(&json!({}));
    let root = project.folder.path().canonicalize().unwrap();
    install_git(&root);
    project.put("a", "1");
    let other = root.join("other");
    write(&other.join("b"), "1");
    let other = CallContext { workspace: other.into(), ..project.cx.clone() };
    write(&root.join("fault"), "update-index before\n");
    let quick = async {
        while !root.join("reached").exists() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        fs::remove_file(root.join("fault")).unwrap();
        project.checkpoints.take("quick", &other).await
    };
    tokio::select! {
        slow = project.checkpoints.take("slow", &project.cx) => panic!("{slow:?}"),
        taken = quick => assert_eq!(taken.unwrap().id(), "000001"),
    }
}
