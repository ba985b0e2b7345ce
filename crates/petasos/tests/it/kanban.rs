//! `petasos kanban`, the board tools and their workers, each a real program in one home.

use petasos_testkit::{Finished, Home};
use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::petasos;

const LISTED: &str = "platform_toolsets: {cli: [kanban]}\n";

fn kanban(home: &Home, arguments: &[&str]) -> Finished {
    petasos(home).run(&[&["--json", "kanban"], arguments].concat())
}

fn task(home: &Home, arguments: &[&str]) -> Value {
    let finished = kanban(home, arguments);
    assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
    finished.json()["task"].clone()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn call(home: &Home, variables: &[(&str, &str)], tool: &str, args: &Value) -> Value {
    let program = petasos(home);
    let program =
        variables.iter().fold(program, |program, (name, value)| program.with(name, value));
    let finished = program.run(&["tools", "call", tool, &args.to_string()]);
    serde_json::from_str(finished.stdout.trim())
        .map_err(|error| format!("{error}: {} {}", finished.stdout, finished.stderr))
        .expect("a result")
}

/// A home with a board, and a model for its workers.
fn world(script: Vec<Say>) -> (Loopback, Home) {
    let model = Loopback::saying(script);
    let home = Home::temp();
    home.write(".petasos/config.yaml", format!("{}{LISTED}", model.config()));
    (model, home)
}

// E19 146
#[test]
fn a_person_moves_tasks_through_their_life() {
    let home = Home::temp();
    let first = task(&home, &["create", "Draft", "--assignee", "writer", "--body", "Two pages."]);
    let second = task(&home, &["create", "Print", "--after", text(&first, "id")]);
    assert_eq!((text(&first, "status"), text(&second, "status")), ("ready", "todo"));
    let cycle = kanban(&home, &["link", text(&second, "id"), text(&first, "id")]);
    assert_eq!(cycle.code, Some(1), "{}", cycle.stdout);
    let said = |finished: &Finished| finished.stdout.clone() + &finished.stderr;
    assert!(said(&cycle).contains("already waits for"), "{}", said(&cycle));
    for expected in ["blocked", "blocked", "triage"] {
        let blocked = task(&home, &["block", text(&first, "id"), "no paper"]);
        assert_eq!(text(&blocked, "status"), expected);
        assert_eq!(text(&task(&home, &["unblock", text(&first, "id")]), "status"), "ready");
    }
    task(&home, &["comment", text(&first, "id"), "mind the margins"]);
    let done = task(&home, &["complete", text(&first, "id"), "drafted"]);
    assert_eq!((text(&done, "status"), text(&done, "summary")), ("done", "drafted"));
    let shown = kanban(&home, &["show", text(&second, "id")]).json();
    assert_eq!(shown["task"]["status"], "ready");
    assert_eq!(shown["parents"][0]["summary"], "drafted");
    let other = kanban(&home, &["--board", "house", "create", "Paint"]).json();
    assert_eq!(other["task"]["board"], "house");
    assert_eq!(kanban(&home, &["use", "house"]).code, Some(0));
    let listed = kanban(&home, &["list"]).json();
    assert_eq!(listed["tasks"].as_array().map(Vec::len), Some(1), "{listed}");
    let unknown = kanban(&home, &["show", "t_ffffffff"]);
    assert!(said(&unknown).contains("has no task `t_ffffffff`"), "{}", said(&unknown));
    let wrong = kanban(&home, &["--board", "Not A Board", "list"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}

#[test]
fn the_tools_say_what_they_need_and_work_when_they_have_it() {
    let home = Home::temp();
    let finished = petasos(&home).run(&["tools", "list", "--all"]);
    let needs = "needs the kanban toolset in this profile, or a task given by the dispatcher";
    assert!(finished.stdout.contains(needs), "{}", finished.stdout);
    home.write(".petasos/config.yaml", LISTED);
    let made = call(&home, &[], "kanban_create", &json!({ "title": "Draft", "assignee": "w" }));
    let id = text(&made, "task_id").to_owned();
    assert_eq!((made["ok"].clone(), text(&made, "status")), (json!(true), "ready"), "{made}");
    home.write("work/draft.txt", "two pages\n");
    let missing = json!({ "task_id": id, "summary": "s", "artifacts": ["nowhere.txt"] });
    let missing = call(&home, &[], "kanban_complete", &missing);
    assert_eq!(missing["error_type"], "not_found", "{missing}");
    let done = json!({ "task_id": id, "summary": "written", "artifacts": ["draft.txt"] });
    let done = call(&home, &[], "kanban_complete", &done);
    assert_eq!(done["ok"], json!(true), "{done}");
    let files = call(&home, &[], "kanban_attachments", &json!({ "task_id": id }));
    assert_eq!(
        (&files["count"], &files["attachments"][0]["filename"]),
        (&json!(1), &json!("draft.txt"))
    );
    let kept = std::fs::read(text(&files["attachments"][0], "path")).expect("the file is kept");
    assert_eq!(kept, b"two pages\n");
    let again = json!({ "task_id": id, "filename": "a", "content_base64": "aGk=" });
    assert_eq!(call(&home, &[], "kanban_attach", &again)["size"], json!(2));
    // E19 16, for this tool
    for place in
        ["http://127.0.0.1:9/", "http://[::1]/", "http://169.254.169.254/", "http://2130706433/"]
    {
        let args = json!({ "task_id": id, "url": place });
        let refused = call(&home, &[], "kanban_attach_url", &args);
        assert_eq!(refused["error_type"], "blocked_address", "{place}: {refused}");
    }
}

// E19 148
#[test]
fn a_worker_changes_its_own_task_only() {
    let home = Home::temp();
    let own = task(&home, &["create", "Own"]);
    let other = task(&home, &["create", "Other"]);
    let worker = [("HERMES_KANBAN_TASK", text(&own, "id"))];
    let refused =
        call(&home, &worker, "kanban_complete", &json!({ "task_id": other["id"], "summary": "x" }));
    assert_eq!(refused["error_type"], "denied", "{refused}");
    assert!(text(&refused, "error").contains(text(&own, "id")), "{refused}");
    let fine =
        call(&home, &worker, "kanban_comment", &json!({ "task_id": own["id"], "body": "x" }));
    assert_eq!(fine["ok"], json!(true), "{fine}");
    // Its claim went to somebody else meanwhile.
    let late = [worker[0], ("HERMES_KANBAN_CLAIM_LOCK", "an old lock")];
    let lost = call(&home, &late, "kanban_complete", &json!({ "summary": "late" }));
    assert_eq!(lost["error_type"], "stale", "{lost}");
    let shown = kanban(&home, &["show", text(&own, "id")]).json();
    assert_eq!(shown["task"]["status"], "ready");
}

// E19 147
#[test]
fn a_dispatcher_gives_a_task_to_one_worker_and_hears_how_it_ends() {
    let script = vec![
        Say::Calls(vec![("kanban_show", json!({}))]),
        Say::Calls(vec![("kanban_complete", json!({ "summary": "counted to three" }))]),
        Say::Text("done"),
    ];
    let (model, home) = world(script);
    let made = task(&home, &["create", "Count", "--body", "Count to three."]);
    let runs: Vec<Finished> = std::thread::scope(|scope| {
        let dispatchers: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| petasos(&home).run(&["kanban", "dispatch", "--once"])))
            .collect();
        dispatchers.into_iter().map(|it| it.join().expect("it ends")).collect()
    });
    let began = runs.iter().filter(|run| run.stdout.contains("began")).count();
    assert_eq!(began, 1, "{runs:?}");
    let shown = kanban(&home, &["show", text(&made, "id")]).json();
    assert_eq!(shown["task"]["status"], "done", "{shown}");
    assert_eq!(shown["task"]["summary"], "counted to three");
    assert_eq!(shown["runs"][0]["outcome"], "completed");
    assert!(model.asked().iter().any(|it| it.to_string().contains("Count to three.")));
}

// E19 147
#[test]
fn a_worker_that_settles_nothing_is_a_failure_and_the_second_blocks() {
    let (_model, home) = world(vec![Say::Text("I forgot"), Say::Text("again")]);
    let made = task(&home, &["create", "Count"]);
    for expected in ["ready", "blocked"] {
        petasos(&home).run(&["kanban", "dispatch", "--once"]);
        let shown = kanban(&home, &["show", text(&made, "id")]).json();
        assert_eq!(shown["task"]["status"], expected, "{shown}");
    }
    let shown = kanban(&home, &["show", text(&made, "id")]).json();
    assert!(text(&shown["task"], "block_reason").contains("without completing"), "{shown}");
}
