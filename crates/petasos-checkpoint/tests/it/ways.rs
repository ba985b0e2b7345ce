//! There and back: what is copied, what is not, and what a way back leaves alone.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use petasos_checkpoint::{Before, Checkpoints, Taken};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_contract::middleware::{AroundMiddleware, Execution};
use petasos_contract::{Args, CallContext, ToolName, ToolOutput, TurnId};
use serde_json::json;

use crate::project::Project;

#[tokio::test]
async fn a_way_back_brings_every_byte_and_can_be_undone() {
    let project = Project::new(&json!({}));
    project.put("a.txt", "one\r\ntwo\n");
    project.put(".gitattributes", "* text=auto eol=lf ident\n");
    project.put("deep/ü name.txt", "$Id$ ünïcode\n");
    let first = project.take().await;
    project.put("a.txt", "changed");
    project.put("new/file", "new");
    fs::remove_file(project.path("deep/ü name.txt")).unwrap();
    let diff = project.checkpoints.diff(&first, &project.cx).await.unwrap();
    for part in ["-two", "+changed", "new/file", "deep/ü name.txt"] {
        assert!(diff.contains(part), "{part}: {diff}");
    }
    let ahead = project.checkpoints.preview(&first, &[], &project.cx).await.unwrap();
    assert_eq!(ahead.deleted, ["new/file"]);
    assert_eq!(project.checkpoints.list(&project.cx).await.unwrap().len(), 1);
    let back = project.checkpoints.restore(&first, &[], &project.cx).await.unwrap();
    assert_eq!(back.changes, ahead);
    assert_eq!(back.changes.files(), ["a.txt", "deep/ü name.txt", "new/file"]);
    assert_eq!(project.get("a.txt").unwrap(), "one\r\ntwo\n");
    assert_eq!(project.get("deep/ü name.txt").unwrap(), "$Id$ ünïcode\n");
    assert_eq!(project.get("new/file"), None);
    project.checkpoints.restore(&back.undo, &[], &project.cx).await.unwrap();
    assert_eq!(project.get("a.txt").unwrap(), "changed");
    assert_eq!(project.get("new/file").unwrap(), "new");
    assert_eq!(project.get("deep/ü name.txt"), None);
}

#[tokio::test]
async fn single_paths_come_back_and_the_rest_stays() {
    let project = Project::new(&json!({}));
    project.put("a", "1");
    project.put("sub/b", "1");
    let first = project.take().await;
    for name in ["a", "sub/b", "sub/new", "other"] {
        project.put(name, "2");
    }
    let paths = ["sub".to_owned(), "other".to_owned()];
    project.checkpoints.restore(&first, &paths, &project.cx).await.unwrap();
    assert_eq!(project.get("a").unwrap(), "2");
    assert_eq!(project.get("sub/b").unwrap(), "1");
    assert_eq!([project.get("other"), project.get("sub/new")], [None, None]);
    for path in ["../x", "/etc/passwd", ""] {
        let told = project.checkpoints.restore(&first, &[path.to_owned()], &project.cx).await;
        assert!(told.unwrap_err().to_string().contains("not a path inside"), "{path}");
    }
    for id in ["99", "x; rm", "-1", ""] {
        let told = project.checkpoints.restore(id, &[], &project.cx).await;
        assert!(told.unwrap_err().to_string().contains("no checkpoint"), "{id}");
    }
}

#[tokio::test]
async fn secrets_ignored_and_huge_files_are_not_copied() {
    let project = Project::new(&json!({ "max_file_size_mb": 1 }));
    project.put(".env", "KEY=canary-secret");
    project.put(".gitignore", "ignored/\n");
    project.put("ignored/file", "x");
    project.put("huge", &"x".repeat(2 << 20));
    project.put("kept", "1");
    let Taken::New { left_out, .. } = project.checkpoints.take("test", &project.cx).await.unwrap()
    else {
        panic!("nothing taken");
    };
    assert_eq!(left_out, ["huge (2 MB)"]);
    let id = project.take().await;
    for name in [".env", "ignored/file", "huge", "kept"] {
        project.put(name, "2");
    }
    project.checkpoints.restore(&id, &[], &project.cx).await.unwrap();
    assert_eq!(project.get("kept").unwrap(), "1");
    assert_eq!(
        [project.get(".env"), project.get("ignored/file")],
        [Some("2".into()), Some("2".into())]
    );
}

#[tokio::test]
async fn the_user_s_repository_is_not_touched() {
    let project = Project::new(&json!({}));
    project.put("a", "1");
    project.put(".git/HEAD", "ref: refs/heads/main\n");
    project.put(".git/index", "not really an index");
    project.put(".git/hooks/pre-commit", "#!/bin/sh\ntouch /tmp/never\n");
    project.put(".git/info/exclude", "private\n");
    project.put("private", "x");
    let before = fs::read_dir(project.path(".git")).unwrap().count();
    let first = project.take().await;
    project.put("a", "2");
    project.put("private", "y");
    project.checkpoints.restore(&first, &[], &project.cx).await.unwrap();
    assert_eq!(project.get(".git/index").unwrap(), "not really an index");
    assert_eq!(fs::read_dir(project.path(".git")).unwrap().count(), before);
    assert_eq!([project.get("a"), project.get("private")], [Some("1".into()), Some("y".into())]);
}

#[tokio::test]
async fn an_unchanged_workspace_makes_no_copy_and_old_ones_go() {
    let project = Project::new(&json!({ "max_snapshots": 3 }));
    let mut ids = Vec::new();
    for round in 0..16 {
        project.put("a", &round.to_string());
        ids.push(project.take().await);
    }
    assert!(matches!(
        project.checkpoints.take("again", &project.cx).await.unwrap(),
        Taken::Same { id } if Some(&id) == ids.last()
    ));
    let listed = project.checkpoints.list(&project.cx).await.unwrap();
    let names: Vec<_> = listed.iter().map(|one| one.id.clone()).collect();
    assert_eq!(names, ["000016", "000015", "000014"]);
    assert_eq!([&listed[0].why, &listed[0].session], ["test", "session"]);
    assert!(project.store().join("workspace").exists());
}

#[tokio::test]
async fn limits_and_wide_folders_are_refused_with_a_reason() {
    let project = Project::new(&json!({ "max_files": 2 }));
    for name in ["a", "b", "c"] {
        project.put(name, "x");
    }
    let told = project.checkpoints.take("test", &project.cx).await.unwrap_err().to_string();
    assert!(told.contains("more than 2 files"), "{told}");
    for wide in [project.cx.settings.user_home().to_owned(), PathBuf::from("/")] {
        let cx = CallContext { workspace: wide.into(), ..project.cx.clone() };
        let told = project.checkpoints.take("test", &cx).await.unwrap_err().to_string();
        assert!(told.contains("too wide"), "{told}");
    }
}

#[derive(Default)]
struct Notices(Mutex<Vec<String>>);

impl Subscriber for Notices {
    fn take(&self, event: Event) {
        if let Event::Notice { text } = event {
            self.0.lock().push(text);
        }
    }
}

#[tokio::test]
async fn the_first_change_of_a_turn_is_preceded_by_a_copy() {
    let project = Project::new(&json!({}));
    project.put("a", "1");
    let before = Before::new(Arc::clone(&project.checkpoints));
    let effects = |tool: &str| match tool {
        "terminal" => Effects::one(Effect::Command { script: "x".into(), cwd: "/".into() }),
        "write_file" => Effects::one(Effect::Write("/w".into())),
        _ => Effects::one(Effect::Read("/w".into())),
    };
    let call = async |tool: &str, turn: &str, content: &str| {
        let cx = CallContext { turn: TurnId::new(turn), ..project.cx.clone() };
        let next = |_: Args| {
            project.put("a", content);
            Box::pin(async { Ok(ToolOutput::plain_error("done")) }) as _
        };
        let (tool, effects) = (ToolName::new(tool), effects(tool));
        let call = Execution { tool: &tool, args: Args::default(), effects: &effects };
        before.around(call, Box::new(next), &cx).await.unwrap();
    };
    let count = async || project.checkpoints.list(&project.cx).await.unwrap().len();
    call("read_file", "one", "1").await;
    assert_eq!(count().await, 0);
    call("terminal", "one", "2").await;
    call("write_file", "one", "3").await;
    assert_eq!(count().await, 1);
    call("write_file", "two", "4").await;
    assert_eq!(count().await, 2);
    // Side by side: whoever is not the first waits for the copy all the same.
    tokio::join!(call("write_file", "three", "5"), call("terminal", "three", "6"));
    assert_eq!(count().await, 3);
    for (checkpoint, content) in [("3", "4"), ("1", "1")] {
        project.checkpoints.restore(checkpoint, &[], &project.cx).await.unwrap();
        assert_eq!(project.get("a").unwrap(), content);
    }
}

#[tokio::test]
async fn what_was_foreseen_is_copied_as_it_is_when_the_call_runs() {
    let project = Project::new(&json!({}));
    let effects = |tool: &str| match tool {
        "write_file" => Effects::one(Effect::Write("/w".into())),
        _ => Effects::none(),
    };
    let before = Before::new(Arc::clone(&project.checkpoints));
    let call = async |tool: &str, turn: &str, name: &str, content: &str| {
        let cx = CallContext { turn: TurnId::new(turn), ..project.cx.clone() };
        let next = |_: Args| {
            project.put(name, content);
            Box::pin(async { Ok(ToolOutput::plain_error("done")) }) as _
        };
        let (tool, effects) = (ToolName::new(tool), effects(tool));
        let call = Execution { tool: &tool, args: Args::default(), effects: &effects };
        before.around(call, Box::new(next), &cx).await.unwrap();
    };
    let foresee = async |turn: &str| {
        let cx = CallContext { turn: TurnId::new(turn), ..project.cx.clone() };
        before.foresee(None, &cx).await;
    };
    project.put("a", "1");
    foresee("one").await;
    call("write_file", "one", "a", "2").await;
    // Another call runs in between: what was seen before it no longer counts.
    foresee("two").await;
    call("unknown", "two", "b", "from elsewhere").await;
    call("write_file", "two", "a", "3").await;
    // Nobody calls: there is a store to look at, and no copy.
    foresee("three").await;
    let listed = project.checkpoints.list(&project.cx).await.unwrap();
    assert_eq!(listed.len(), 2);
    project.checkpoints.restore("2", &[], &project.cx).await.unwrap();
    assert_eq!([project.get("a").unwrap(), project.get("b").unwrap()], ["2", "from elsewhere"]);
    project.checkpoints.restore("1", &[], &project.cx).await.unwrap();
    assert_eq!([project.get("a"), project.get("b")], [Some("1".to_owned()), None]);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "git itself is asked what it thinks of our files")]
async fn git_finds_nothing_wrong_with_a_store() {
    let project = Project::new(&json!({}));
    project.put("deep/a", "1");
    project.take().await;
    project.put("deep/b", "2");
    project.take().await;
    for check in [&["fsck", "--strict"][..], &["log", "--oneline", "--all"]] {
        let told = std::process::Command::new("git")
            .arg("--git-dir")
            .arg(project.store())
            .args(check)
            .output()
            .unwrap();
        assert!(told.status.success(), "{check:?}: {told:?}");
    }
}

#[tokio::test]
async fn a_copy_that_cannot_be_made_is_told_once_and_holds_nothing_back() {
    let project = Project::new(&json!({ "max_files": 0 }));
    project.put("a", "1");
    let notices = Arc::new(Notices::default());
    let effects = Effects::one(Effect::Write("/w".into()));
    let before = Before::new(Arc::clone(&project.checkpoints));
    for turn in ["one", "two"] {
        let cx = CallContext {
            turn: TurnId::new(turn),
            events: EventSink::to(Arc::clone(&notices) as _),
            ..project.cx.clone()
        };
        let next = |_: Args| Box::pin(async { Ok(ToolOutput::plain_error("ran")) }) as _;
        let tool = ToolName::new("x");
        let call = Execution { tool: &tool, args: Args::default(), effects: &effects };
        let told = before.around(call, Box::new(next), &cx).await;
        assert_eq!(told, Ok(ToolOutput::plain_error("ran")));
    }
    let told = notices.0.lock().clone();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("no checkpoint was made"));
}

#[tokio::test]
async fn a_copy_of_a_large_unchanged_workspace_is_cheap() {
    let project = Project::new(&json!({}));
    for folder in 0..50 {
        for file in 0..100 {
            project.put(&format!("{folder}/{file}"), &format!("{folder} {file}\n"));
        }
    }
    let started = Instant::now();
    project.take().await;
    let first = started.elapsed();
    project.put("1/1", "changed");
    let started = Instant::now();
    project.take().await;
    println!("5,000 files: first {first:?}, one changed {:?}", started.elapsed());
    drop(Arc::clone(&project.environments));
}

#[tokio::test]
async fn two_programs_do_not_get_in_each_other_s_way() {
    let project = Project::new(&json!({}));
    let other = Checkpoints::new(Arc::clone(&project.environments));
    for round in 0..5 {
        project.put(&format!("a{round}"), "1");
        let (ours, theirs) = tokio::join!(
            project.checkpoints.take("ours", &project.cx),
            other.take("theirs", &project.cx)
        );
        // Whoever comes second finds nothing new.
        assert_eq!(ours.unwrap().id(), theirs.unwrap().id());
    }
    assert_eq!(other.list(&project.cx).await.unwrap().len(), 5);
}

#[tokio::test]
async fn a_small_workspace_that_looks_the_same_needs_no_git_and_hides_no_change() {
    let project = Project::new(&json!({}));
    project.put("a", "1");
    project.put("deep/b", "1");
    project.put(".env", "SECRET=1");
    project.put(".gitignore", "ignored\n");
    let first = project.take().await;
    let seen = project.store().join("seen");
    assert!(seen.exists());
    // Written anew with the same content, it is the same; git is not asked.
    project.put("a", "1");
    let index = project.store().join("index");
    let hidden = project.store().join("hidden");
    fs::rename(&index, &hidden).unwrap();
    assert_eq!(project.take().await, first);
    fs::rename(&hidden, &index).unwrap();
    let changes: [(&str, &dyn Fn()); 6] = [
        ("content", &|| project.put("a", "2")),
        ("a new file", &|| project.put("deep/c", "1")),
        ("a removed file", &|| fs::remove_file(project.path("deep/c")).unwrap()),
        ("permissions", &|| {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(project.path("a"), fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("a link", &|| std::os::unix::fs::symlink("a", project.path("link")).unwrap()),
        ("what is ignored", &|| {
            project.put(".gitignore", "");
            project.put("ignored", "x");
        }),
    ];
    let mut before = first;
    for (what, change) in changes {
        change();
        let now = project.take().await;
        assert_ne!(now, before, "{what}");
        assert_eq!(project.take().await, now, "{what}");
        before = now;
    }
    let text = fs::read_to_string(seen).unwrap();
    assert!(text.contains(".env") && !text.contains("SECRET"));
}

#[tokio::test]
async fn what_is_as_it_was_before_an_unfinished_copy_is_not_taken_for_the_last() {
    let project = Project::new(&json!({}));
    project.put("a", "1");
    project.take().await;
    project.put("a", "2");
    let second = project.take().await;
    project.checkpoints.restore("1", &[], &project.cx).await.unwrap();
    assert_ne!(project.take().await, second);
    project.put("a", "2");
    let last = project.take().await;
    project.put("a", "3");
    project.checkpoints.restore(&last, &[], &project.cx).await.unwrap();
    assert_eq!(project.get("a").unwrap(), "2");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test's own file needs no atomic writer")]
async fn what_a_killed_git_left_and_a_wrong_memory_harm_no_copy() {
    let project = Project::new(&json!({}));
    for content in ["1", "2", "3"] {
        project.put("a", content);
        project.take().await;
    }
    let store = project.store();
    fs::create_dir_all(store.join("branch")).unwrap();
    for lock in ["index.lock", "packed-refs.lock", "branch/HEAD.lock"] {
        fs::write(store.join(lock), "").unwrap();
    }
    fs::write(store.join("refs/petasos/000004.lock"), "").unwrap();
    // As an older version may have left it: no promise that the index is whole.
    fs::write(store.join("unnamed"), "{}").unwrap();
    fs::write(store.join("last"), "000001\n").unwrap();
    project.put("a", "4");
    // A git that took the number 4 may still be at work.
    assert_eq!(project.take().await, "000005");
    fs::write(store.join("last"), "000001\n").unwrap();
    project.put("a", "5");
    assert_eq!(project.take().await, "000006");
    for (copy, content) in [("2", "2"), ("5", "4"), ("6", "5")] {
        project.checkpoints.restore(copy, &[], &project.cx).await.unwrap();
        assert_eq!(project.get("a").unwrap(), content);
    }
}
