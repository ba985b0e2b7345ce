//! `petasos kanban`, the board tools and their workers, each a real program in one home.

use petasos_testkit::{Finished, Home};
use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::making::painter;
use crate::petasos;
use crate::serve::{KEY, Server};

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
    home.write("work/margins.txt", "two fingers\n");
    task(&home, &["attach", text(&first, "id"), "margins.txt"]);
    let files = kanban(&home, &["show", text(&first, "id")]).json()["attachments"].clone();
    assert_eq!((&files[0]["filename"], &files[0]["size"]), (&json!("margins.txt"), &json!(12)));
    assert_eq!(kanban(&home, &["attach", text(&first, "id"), "nowhere.txt"]).code, Some(1));
    let done = task(&home, &["complete", text(&first, "id"), "drafted"]);
    assert_eq!((text(&done, "status"), text(&done, "summary")), ("done", "drafted"));
    let shown = kanban(&home, &["show", text(&second, "id")]).json();
    assert_eq!(shown["task"]["status"], "ready");
    assert_eq!(shown["parents"][0]["summary"], "drafted");
    let other = kanban(&home, &["--board", "house", "create", "--new-board", "Paint"]).json();
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
    let child = json!({ "title": "Print", "assignee": "w" });
    let child = call(&home, &[], "kanban_create", &child);
    let link = json!({ "parent_id": id, "child_id": child["task_id"] });
    assert_eq!(call(&home, &[], "kanban_link", &link)["ok"], json!(true));
    let listed = call(&home, &[], "kanban_list", &json!({ "status": "todo" }));
    assert_eq!(listed["tasks"][0]["id"], child["task_id"], "{listed}");
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

const HERMES: &str = "
CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT NOT NULL, body TEXT, assignee TEXT,
  status TEXT NOT NULL, priority INTEGER DEFAULT 0, created_by TEXT, created_at INTEGER NOT NULL,
  completed_at INTEGER, workspace_kind TEXT, workspace_path TEXT, claim_lock TEXT, tenant TEXT,
  result TEXT, idempotency_key TEXT, skills TEXT);
CREATE TABLE task_links (parent_id TEXT NOT NULL, child_id TEXT NOT NULL,
  PRIMARY KEY (parent_id, child_id));
CREATE TABLE task_comments (id INTEGER PRIMARY KEY, task_id TEXT, author TEXT, body TEXT,
  created_at INTEGER);
CREATE TABLE task_attachments (id INTEGER PRIMARY KEY, task_id TEXT, filename TEXT,
  stored_path TEXT, content_type TEXT, size INTEGER, uploaded_by TEXT, created_at INTEGER);
CREATE TABLE task_runs (id INTEGER PRIMARY KEY, task_id TEXT, profile TEXT, status TEXT,
  started_at INTEGER, ended_at INTEGER, outcome TEXT, summary TEXT, error TEXT);
INSERT INTO tasks(id, title, body, assignee, status, created_at, claim_lock, skills) VALUES
  ('t_0000000a', 'Draft', 'Two pages.', 'writer', 'done', 1735689600, NULL, '[\"lamps\"]'),
  ('t_0000000b', 'Print', NULL, NULL, 'running', 1735689601, 'x', NULL);
INSERT INTO task_links VALUES ('t_0000000a', 't_0000000b');
INSERT INTO task_comments(task_id, author, body, created_at) VALUES
  ('t_0000000b', 'ada', 'mind the margins', 1735689602);
INSERT INTO task_runs(task_id, profile, status, started_at, ended_at, outcome, summary) VALUES
  ('t_0000000a', 'writer', 'done', 1735689600, 1735689601, 'completed', 'drafted');
";

// E13: a board of another agent is taken over, once.
#[test]
fn e13_a_foreign_board_is_taken_over_and_stays_as_it_was() {
    let home = Home::temp();
    home.write(".hermes/notes.txt", "margins\n");
    let (file, kept) =
        (home.user().join(".hermes/kanban.db"), home.user().join(".hermes/notes.txt"));
    let theirs = rusqlite::Connection::open(&file).expect("a file");
    theirs.execute_batch(HERMES).expect("tables");
    let attach = "INSERT INTO task_attachments(task_id, filename, stored_path, size, created_at) \
                  VALUES ('t_0000000b', 'notes.txt', ?1, 8, 1), ('t_0000000b', 'gone', '/none', 1, 1)";
    theirs.execute(attach, [kept.display().to_string()]).expect("a row");
    drop(theirs);
    let before = std::fs::read(&file).expect("bytes");
    let told = petasos(&home).run(&["import", "hermes", "--json"]).json();
    assert!(
        told.to_string().contains("board `default`: 2 task(s), 1 comment(s), 1 file(s)"),
        "{told}"
    );
    assert!(told.to_string().contains("file `gone` of t_0000000b"), "{told}");
    assert_eq!(std::fs::read(&file).expect("bytes"), before);
    let shown = kanban(&home, &["show", "t_0000000b"]).json();
    // Who worked on it over there does so no more.
    assert_eq!(shown["task"]["status"], "ready", "{shown}");
    assert_eq!(shown["parents"][0]["id"], "t_0000000a");
    assert_eq!(shown["comments"][0]["body"], "mind the margins");
    assert_eq!(shown["attachments"][0]["filename"], "notes.txt");
    let first = kanban(&home, &["show", "t_0000000a"]).json();
    assert_eq!(first["runs"][0]["outcome"], "completed", "{first}");
    assert_eq!(first["task"]["skills"], json!(["lamps"]));
    let again = petasos(&home).run(&["import", "hermes", "--json"]).json();
    assert!(again.to_string().contains("board `default`: 2 task(s)"), "{again}");
    let all = kanban(&home, &["list"]).json();
    assert_eq!(all["tasks"].as_array().map(Vec::len), Some(2), "{all}");
}

// E13: who gives work to the board hears how it ends, once.
#[test]
fn e13_a_conversation_is_told_once_how_its_tasks_end() {
    let script = vec![
        Say::Calls(vec![("kanban_create", json!({ "title": "Count", "assignee": "default" }))]),
        Say::Text("given away"),
        Say::Calls(vec![("kanban_complete", json!({ "summary": "three" }))]),
        Say::Text("worker done"),
        Say::Text("heard"),
        Say::Text("nothing new"),
    ];
    let (model, home) = world(script);
    let first = petasos(&home).run(&["run", "give it away"]);
    assert_eq!(first.code, Some(0), "{}{}", first.stdout, first.stderr);
    assert!(
        model.asked()[1].to_string().contains("\\\"subscribed\\\":true"),
        "{}",
        model.asked()[1]
    );
    petasos(&home).run(&["kanban", "dispatch", "--once"]);
    let next = petasos(&home).run(&["run", "--continue", "and now?"]);
    assert_eq!(next.code, Some(0), "{}{}", next.stdout, next.stderr);
    let asked = model.asked();
    let news = "Tasks that you put on the board";
    assert!(asked[4].to_string().contains(news), "{}", asked[4]);
    assert!(asked[4].to_string().contains("is done; kanban_show tells more"), "{}", asked[4]);
    petasos(&home).run(&["run", "--continue", "anything?"]);
    let last = model.asked()[5]["messages"].as_array().and_then(|it| it.last().cloned());
    assert!(!last.expect("a message").to_string().contains(news));
}

const DELEGATING: &str = "platform_toolsets: {cli: [kanban, delegation]}\n";

/// A home whose conversations delegate over the board.
fn delegating(script: Vec<Say>) -> (Loopback, Home) {
    let (model, home) = world(script);
    home.write(".petasos/config.yaml", format!("{}{DELEGATING}", model.config()));
    (model, home)
}

fn delegated(goal: &str) -> Say {
    Say::Calls(vec![("delegate_task", json!({ "goal": goal, "background": false }))])
}

fn cards(home: &Home) -> Vec<Value> {
    let listed = kanban(home, &["list"]).json();
    listed["tasks"].as_array().cloned().unwrap_or_default()
}

// Delegated work is a card: claimed, worked on, settled with its report.
#[test]
fn delegated_work_is_a_card_with_a_claim_and_a_result() {
    let (model, home) = delegating(vec![
        delegated("Count the hats\nall of them"),
        Say::Text("there are three hats"),
        Say::Text("done"),
    ]);
    let finished = petasos(&home).run(&["run", "let it be counted"]);
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    let all = cards(&home);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!((text(&all[0], "title"), text(&all[0], "status")), ("Count the hats", "done"));
    let shown = kanban(&home, &["show", text(&all[0], "id")]).json();
    assert_eq!(shown["task"]["summary"], "there are three hats");
    assert_eq!(shown["runs"][0]["outcome"], "completed", "{shown}");
    assert_eq!(shown["task"]["tenant"], "delegation");
    let kinds: Vec<&str> = shown["events"]
        .as_array()
        .map(|events| events.iter().filter_map(|event| event["kind"].as_str()).collect())
        .unwrap_or_default();
    assert_eq!(kinds, ["created", "claimed", "completed"]);
    let asked = model.asked();
    let card = format!("This is card {} of the board", text(&all[0], "id"));
    assert!(asked[1]["messages"].to_string().contains(&card), "{}", asked[1]);
    let told = asked[2]["messages"].to_string();
    assert!(told.contains(&format!("\\\"card\\\":\\\"{}", text(&all[0], "id"))), "{told}");
    // Nothing is put on a board that the conversation does not have.
    let (other, plain) = world(vec![delegated("Count"), Say::Text("3"), Say::Text("done")]);
    let settings = format!("{}platform_toolsets: {{cli: [delegation]}}\n", other.config());
    plain.write(".petasos/config.yaml", settings);
    assert_eq!(petasos(&plain).run(&["run", "go"]).code, Some(0));
    assert!(cards(&plain).is_empty());
}

/// A program that is killed; gives its number.
#[expect(clippy::disallowed_methods, reason = "the test starts and kills its own program")]
fn started(home: &Home, arguments: &[&str]) -> std::process::Child {
    std::process::Command::new(env!("CARGO_BIN_EXE_petasos"))
        .args(arguments)
        .env_clear()
        .env("HOME", home.user())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(home.workspace())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program starts")
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let late = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !holds() {
        assert!(std::time::Instant::now() < late, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// As if a minute had passed since the last sign of life.
fn a_minute_later(home: &Home) {
    let file = home.agent().join(petasos_sqlite::FILE_NAME);
    let store = rusqlite::Connection::open(file).expect("the store");
    store.busy_timeout(std::time::Duration::from_secs(10)).expect("patience");
    store.execute("UPDATE board_tasks SET beat_ms = beat_ms - 60000", []).expect("a change");
}

// Whoever delegates dies in the middle: the card goes back, and a dispatcher's worker does it.
#[test]
fn delegated_work_of_a_killed_program_is_done_by_a_worker() {
    let (model, home) = delegating(vec![
        delegated("Count the hats"),
        Say::Stuck("I count"),
        Say::Calls(vec![("kanban_complete", json!({ "summary": "three hats" }))]),
        Say::Text("done"),
    ]);
    let mut program = started(&home, &["run", "let it be counted"]);
    until("the child works", || model.asked().len() >= 2);
    let all = cards(&home);
    assert_eq!(text(&all[0], "status"), "running", "{all:?}");
    program.kill().expect("a running program");
    program.wait().expect("its end");
    let id = text(&all[0], "id").to_owned();
    // Its last words may be on the way: nobody takes it at once.
    petasos(&home).run(&["kanban", "dispatch", "--once"]);
    assert_eq!(text(&cards(&home)[0], "status"), "running");
    a_minute_later(&home);
    petasos(&home).run(&["kanban", "dispatch", "--once"]);
    let shown = kanban(&home, &["show", &id]).json();
    assert_eq!(
        (&shown["task"]["status"], &shown["task"]["summary"]),
        (&json!("done"), &json!("three hats")),
        "{shown}"
    );
    let outcomes: Vec<&Value> =
        shown["runs"].as_array().into_iter().flatten().map(|run| &run["outcome"]).collect();
    assert_eq!(outcomes, [&json!("crashed"), &json!("completed")], "{shown}");
}

// A worker is killed in the middle of its claim: the next look gives the card to another.
#[test]
fn a_worker_that_is_killed_loses_its_card_to_the_next() {
    let (model, home) = world(vec![
        Say::Stuck("I work"),
        Say::Calls(vec![("kanban_complete", json!({ "summary": "done after all" }))]),
        Say::Text("done"),
    ]);
    let made = task(&home, &["create", "Count"]);
    let mut dispatcher = started(&home, &["kanban", "dispatch", "--once"]);
    until("the worker works", || !model.asked().is_empty());
    dispatcher.kill().expect("a running program");
    dispatcher.wait().expect("its end");
    // Both at once, and one worker: whoever claims first has it.
    a_minute_later(&home);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| petasos(&home).run(&["kanban", "dispatch", "--once"]));
        }
    });
    let shown = kanban(&home, &["show", text(&made, "id")]).json();
    assert_eq!(shown["task"]["status"], "done", "{shown}");
    let outcomes: Vec<&Value> =
        shown["runs"].as_array().into_iter().flatten().map(|run| &run["outcome"]).collect();
    assert_eq!(outcomes, [&json!("crashed"), &json!("completed")], "{shown}");
}

// A person puts the card away while the child works: the child is ended, and says so.
#[test]
fn a_card_that_is_put_away_ends_its_child() {
    let (model, home) = delegating(vec![
        delegated("Count the hats"),
        Say::Stuck("I count"),
        Say::Text("understood"),
    ]);
    let mut program = started(&home, &["run", "let it be counted"]);
    until("the child works", || model.asked().len() >= 2);
    let id = text(&cards(&home)[0], "id").to_owned();
    assert_eq!(kanban(&home, &["archive", &id]).code, Some(0));
    until("the conversation goes on", || model.asked().len() >= 3);
    let told = model.asked()[2]["messages"].to_string();
    assert!(told.contains("its card was taken away"), "{told}");
    until("it ends", || program.try_wait().expect("a program").is_some());
}

// E19 147: a provider that asks for a pause is no failure of the worker; the card rests.
#[test]
fn a_worker_whose_provider_is_busy_gives_its_card_back_for_a_while() {
    let model = Loopback::answering(|_| Say::Fail(429));
    let home = Home::temp();
    let settings = format!("{}{LISTED}agent: {{api_max_retries: 1}}\n", model.config());
    home.write(".petasos/config.yaml", settings);
    let made = task(&home, &["create", "Count"]);
    petasos(&home).run(&["kanban", "dispatch", "--once"]);
    let shown = kanban(&home, &["show", text(&made, "id")]).json();
    let log = home.agent().join("kanban/logs").join(format!("{}.log", text(&made, "id")));
    let log = std::fs::read_to_string(log).unwrap_or_default();
    assert_eq!(shown["runs"][0]["outcome"], "rate_limited", "{log}");
    assert_eq!(
        (&shown["task"]["status"], &shown["task"]["failures"]),
        (&json!("ready"), &json!(0))
    );
    let asked = model.asked().len();
    petasos(&home).run(&["kanban", "dispatch", "--once"]);
    assert_eq!(model.asked().len(), asked, "it rests");
}

/// A worker that completes what it was given, and a planner that splits hats.
fn planning(body: &Value) -> Say {
    let told = body["messages"].to_string();
    if body["tools"].as_array().is_none_or(Vec::is_empty) {
        let plan = if told.contains("All about hats") {
            r#"{"tasks":[{"title":"Count the hats","body":"Count to three.","assignee":"nobody"},
                {"title":"Brush the hats","after":[0]}]}"#
        } else if told.contains("A riddle") {
            "I would not know"
        } else {
            r#"{"tasks":[]}"#
        };
        return Say::Text(plan);
    }
    if told.contains("call_0_kanban_complete") {
        return Say::Text("done");
    }
    Say::Calls(vec![("kanban_complete", json!({ "summary": "so it is" }))])
}

// E13: what is made in triage is split by a model, once, and brought together at the end.
#[test]
fn e13_a_large_task_is_split_and_its_parts_are_done_before_it() {
    let model = Loopback::answering(planning);
    let home = Home::temp();
    home.write(".petasos/config.yaml", format!("{}{LISTED}", model.config()));
    let large = task(&home, &["create", "All about hats", "--triage"]);
    let small = task(&home, &["create", "One hat", "--triage"]);
    let riddle = task(&home, &["create", "A riddle", "--triage"]);
    assert_eq!(text(&large, "status"), "triage");
    let dispatch = || petasos(&home).run(&["kanban", "dispatch", "--once"]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(dispatch);
        }
    });
    let plans = |asked: &[Value]| {
        let planned = asked.iter().filter(|it| it.to_string().contains("You plan work"));
        planned.filter(|it| it.to_string().contains("All about hats")).count()
    };
    assert_eq!(plans(&model.asked()), 1, "one of two looked at it");
    for _ in 0..2 {
        dispatch();
    }
    let shown = kanban(&home, &["show", text(&large, "id")]).json();
    assert_eq!(shown["task"]["status"], "done", "{shown}");
    let mut parts: Vec<(&str, &str)> = shown["parents"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|part| (text(part, "title"), text(part, "assignee")))
        .collect();
    parts.sort_unstable();
    // A profile that nobody has is nobody's.
    assert_eq!(parts, [("Brush the hats", "default"), ("Count the hats", "default")], "{shown}");
    let shown = kanban(&home, &["show", text(&small, "id")]).json();
    assert_eq!(shown["task"]["status"], "done", "one piece of work: {shown}");
    let shown = kanban(&home, &["show", text(&riddle, "id")]).json();
    assert_eq!(shown["task"]["status"], "triage", "{shown}");
    assert!(shown["events"].to_string().contains("gave no JSON"), "{shown}");
    // All that a worker said is kept.
    let log = home.agent().join("kanban/logs").join(format!("{}.log", text(&small, "id")));
    assert!(std::fs::read_to_string(log).is_ok_and(|log| log.contains("done")));
    // Nobody looks where that is not wanted.
    let quiet = format!("{}{LISTED}kanban: {{auto_decompose: false}}\n", model.config());
    home.write(".petasos/config.yaml", quiet);
    let left = task(&home, &["create", "All about hats", "--triage"]);
    dispatch();
    let shown = kanban(&home, &["show", text(&left, "id")]).json();
    assert_eq!((text(&shown["task"], "status"), plans(&model.asked())), ("triage", 1));
}

/// Looks until there are cards, and gives what the page shows.
const LOOK: &str = "(async () => { const at = (id) => document.getElementById(id); \
    at('key').value = 'KEY'; at('look').click(); \
    for (let i = 0; i < 80 && !at('columns').innerText && !at('problem').innerText; i++) \
    await new Promise((go) => setTimeout(go, 50)); \
    return at('problem').innerText + at('columns').innerText + ' images: ' + \
    document.querySelectorAll('#columns img').length; })()";

// The page in a real browser: cards in their columns, only with a key, and only as text.
#[test]
fn a_browser_shows_the_board() {
    let look = |key: &str| json!({ "expression": LOOK.replace("KEY", key) });
    let home = Home::temp();
    task(&home, &["create", "<img src=x onerror=alert(1)> Count"]);
    let done = task(&home, &["create", "Brush the hats"]);
    task(&home, &["complete", text(&done, "id"), "all brushed"]);
    let server = Server::start(&home, &["serve", "--port", "0"], &[("API_SERVER_KEY", KEY)]);
    assert_eq!(server.ask("GET", "/api/boards/default", "wrong-key", &Value::Null).0, 401);
    let page = json!({ "url": format!("http://{}/kanban", server.address) });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("browser_navigate", page)]),
        Say::Calls(vec![("browser_console", look("wrong-key"))]),
        Say::Calls(vec![("browser_console", look(KEY))]),
        Say::Text("seen"),
    ]);
    let own = format!("security: {{private_hosts: [\"{}\"]}}\n", server.address);
    let settings = format!("{}{own}platform_toolsets: {{cli: [browser]}}\n", model.config());
    home.write(".petasos/config.yaml", settings);
    let finished = petasos(&home).run(&["run", "look at the board"]);
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    let asked = model.asked();
    let told = asked.last().map(|last| last["messages"].to_string()).unwrap_or_default();
    if told.contains("needs a browser") || told.contains("unknown_tool") {
        petasos_testkit::skip("a_browser_shows_the_board", "chromium", "no browser is installed");
        return;
    }
    for words in ["ready (1)", "done (1)", "<img src=x onerror=alert(1)> Count", "all brushed"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(told.matches("images: 0").count() >= 2, "what a card says is text: {told}");
}

// E13: a file of the web stays one, whoever reads it where the board keeps it.
#[test]
fn e13_a_file_that_was_fetched_is_a_strangers_for_every_reader() {
    let (url, _asked) = painter();
    let home = Home::temp();
    let host = url.trim_start_matches("http://");
    let own = format!("{LISTED}security: {{private_hosts: [\"{host}\"]}}\n");
    home.write(".petasos/config.yaml", &own);
    home.write(".petasos/profiles/other/config.yaml", &own);
    home.write("work/own.txt", "my own words\n");
    let made = task(&home, &["create", "Read it"]);
    let id = text(&made, "id");
    task(&home, &["attach", id, "own.txt"]);
    let args = json!({ "task_id": id, "url": format!("{url}/page.txt"), "filename": "page.txt" });
    let kept = call(&home, &[], "kanban_attach_url", &args);
    assert_eq!(kept["ok"], true, "{kept}");
    for profile in ["default", "other"] {
        let run = |tool: &str, args: &Value| {
            let program = petasos(&home).with("PETASOS_PROFILE", profile);
            program.run(&["tools", "call", tool, &args.to_string()]).stdout
        };
        let files = run("kanban_attachments", &json!({ "task_id": id }));
        let files: Value = serde_json::from_str(&files).expect("a result");
        let read =
            |at: usize| run("read_file", &json!({ "path": files["attachments"][at]["path"] }));
        let (mine, theirs) = (read(0), read(1));
        assert!(mine.contains("my own words") && !mine.contains("untrusted"), "{profile}: {mine}");
        assert!(theirs.contains("untrusted_tool_result"), "{profile}: {theirs}");
    }
}

// A card of another profile is done by that profile: its settings, its model, its home.
#[test]
fn a_card_of_another_profile_is_done_as_that_profile() {
    let settle = || Say::Calls(vec![("kanban_complete", json!({ "summary": "as a writer" }))]);
    let (mine, theirs) =
        (Loopback::saying(Vec::new()), Loopback::saying(vec![settle(), Say::Text("done")]));
    let home = Home::temp();
    home.write(".petasos/config.yaml", mine.config());
    home.write(".petasos/profiles/writer/config.yaml", theirs.config());
    let made = task(&home, &["create", "Draft", "--assignee", "writer"]);
    // Whoever dispatches may be a profile itself.
    let dispatched =
        petasos(&home).with("PETASOS_PROFILE", "default").run(&["kanban", "dispatch", "--once"]);
    assert_eq!(dispatched.code, Some(0), "{}", dispatched.stderr);
    let shown = kanban(&home, &["show", text(&made, "id")]).json();
    assert_eq!(
        (&shown["task"]["status"], &shown["task"]["summary"]),
        (&json!("done"), &json!("as a writer")),
        "{shown}"
    );
    assert_eq!((mine.asked().len(), theirs.asked().is_empty()), (0, false));
}
