//! The tools of a desktop client, with a client of the test's own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use petasos_contract::context::CheckContext;
use petasos_contract::effect::Effect;
use petasos_contract::{BoxFuture, CallContext, SessionId};
use petasos_tools::{Panel, PanelText, Panels, discover_builtin_tools};
use serde_json::json;

use crate::bench::Bench;

#[derive(Default)]
struct Client {
    moved: Mutex<Vec<PathBuf>>,
    is_hung: bool,
}

impl Panel for Client {
    fn is_shown(&self, session: &SessionId) -> bool {
        session.as_str() == "bench"
    }

    fn read<'a>(
        &'a self,
        start: Option<u64>,
        count: Option<u64>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<PanelText, String>> {
        Box::pin(async move {
            if self.is_hung {
                std::future::pending::<()>().await;
            }
            let start = start.unwrap_or(0);
            let end = start + count.unwrap_or(2);
            Ok(PanelText {
                total_lines: 9,
                start,
                end,
                text: "$ ls".to_owned(),
                ..PanelText::default()
            })
        })
    }

    fn close<'a>(&'a self, id: &'a str, _: &'a CallContext) -> BoxFuture<'a, Result<(), String>> {
        let known = id == "p1";
        Box::pin(async move { if known { Ok(()) } else { Err("no tab mirrors it".to_owned()) } })
    }

    fn move_to<'a>(
        &'a self,
        to: &'a Path,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), String>> {
        self.moved.lock().unwrap().push(to.to_owned());
        Box::pin(async { Ok(()) })
    }
}

// E19 156
#[test]
fn the_tools_appear_only_with_the_panel() {
    let mut bench = Bench::new();
    let available = |bench: &Bench, session: &str, tool: &str| {
        let def = discover_builtin_tools().iter().find(|def| def.name == tool).unwrap();
        let cx = CheckContext {
            surface: bench.cx.surface,
            attended: true,
            session: SessionId::new(session),
            settings: Arc::clone(&bench.cx.settings),
            ports: Arc::new(bench.ports.clone()),
        };
        bench.runtime.block_on((def.check.unwrap().probe)(cx)).is_ready()
    };
    let tools =
        ["project_list", "project_create", "project_switch", "read_terminal", "close_terminal"];
    for tool in tools {
        assert!(!available(&bench, "bench", tool), "{tool}");
    }
    bench.ports.panel = Some(Arc::new(Panels(Arc::new(Client::default()))));
    for tool in tools {
        assert!(available(&bench, "bench", tool) && !available(&bench, "another", tool), "{tool}");
    }
}

#[test]
fn workspaces_have_names_and_the_conversation_moves() {
    let mut bench = Bench::new();
    let client = Arc::new(Client::default());
    bench.ports.panel = Some(Arc::new(Panels(Arc::clone(&client) as _)));
    let create = json!({ "name": "My Notes!", "path": "notes" });
    let folder = bench.path("notes");
    let stated: Vec<Effect> = bench.effects("project_create", &create).iter().cloned().collect();
    assert_eq!(stated, [Effect::Write(folder.clone())]);
    let made = bench.run("project_create", &create);
    assert_eq!((&made["success"], &made["slug"]), (&json!(true), &json!("my-notes")), "{made}");
    assert!(folder.is_dir());
    assert_eq!(bench.run("project_create", &create)["error_type"], "bad_argument");
    let other = bench.run("project_create", &json!({ "name": "Other" }));
    assert!(other["primary_path"].as_str().unwrap().ends_with("projects/other"), "{other}");
    let back = bench.run("project_switch", &json!({ "project": "my notes!" }));
    assert_eq!(back["id"], made["id"]);
    let list = bench.run("project_list", &json!({}));
    assert_eq!((&list["active_id"], list["projects"].as_array().unwrap().len()), (&made["id"], 2));
    assert_eq!(
        (&list["projects"][0]["active"], &list["projects"][1]["active"]),
        (&json!(true), &json!(false))
    );
    let moved = client.moved.lock().unwrap().clone();
    assert_eq!((moved.len(), &moved[0], &moved[2]), (3, &folder, &folder));
    let unknown = bench.run("project_switch", &json!({ "project": "nowhere" }));
    assert_eq!(unknown["candidates"], json!(["my-notes", "other"]));
    std::fs::remove_dir(&folder).unwrap();
    let gone = bench.run("project_switch", &json!({ "project": "my-notes" }));
    assert_eq!(gone["error_type"], "not_found");
    assert_eq!(bench.run("project_create", &json!({ "name": "!!" }))["error_type"], "bad_argument");
}

#[test]
fn the_terminal_of_the_person_is_read_and_tabs_are_closed() {
    let mut bench = Bench::new();
    bench.ports.panel = Some(Arc::new(Panels(Arc::new(Client::default()))));
    let read = bench.run("read_terminal", &json!({ "start_line": 3, "count": 4 }));
    assert_eq!(
        (&read["start"], &read["end"], &read["text"]),
        (&json!(3), &json!(7), &json!("$ ls"))
    );
    let closed = bench.run("close_terminal", &json!({ "process_id": "p1" }));
    assert_eq!(closed, json!({ "success": true, "process_id": "p1" }));
    let unknown = bench.run("close_terminal", &json!({ "process_id": "p2" }));
    assert_eq!(unknown["error_type"], "upstream");
    let hung = Client { is_hung: true, ..Client::default() };
    bench.ports.panel = Some(Arc::new(Panels(Arc::new(hung))));
    let late = bench.run("read_terminal", &json!({}));
    assert_eq!(late["error_type"], "timeout", "{late}");
}

/// The tables as older programs leave them.
const OLDER: [&str; 6] = [
    "CREATE TABLE projects (id TEXT PRIMARY KEY, slug TEXT NOT NULL UNIQUE, name TEXT NOT NULL, \
     description TEXT, icon TEXT, color TEXT, board_slug TEXT, primary_path TEXT, \
     created_at INTEGER NOT NULL, archived INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE project_folders (project_id TEXT NOT NULL, path TEXT NOT NULL, label TEXT, \
     is_primary INTEGER NOT NULL DEFAULT 0, added_at INTEGER NOT NULL, \
     PRIMARY KEY (project_id, path))",
    "CREATE TABLE project_meta (key TEXT PRIMARY KEY, value TEXT)",
    "INSERT INTO projects(id, slug, name, primary_path, created_at, archived) VALUES \
     ('p_0000000a', 'old', 'Old one', NULL, 1, 0), ('p_0000000b', 'gone', 'Gone', '/x', 2, 1)",
    "INSERT INTO project_folders(project_id, path, is_primary, added_at) VALUES \
     ('p_0000000a', '/srv/old', 1, 1)",
    "INSERT INTO project_meta VALUES ('active_id', 'p_0000000a')",
];

#[test]
fn e156_the_projects_of_an_older_home_are_there_and_new_ones_join_them() {
    let mut bench = Bench::new();
    bench.ports.panel = Some(Arc::new(Panels(Arc::new(Client::default()))));
    let file = bench.cx.settings.home().join("projects.db");
    crate::bench::put(&file, "");
    for sql in OLDER {
        let made = json!({ "database": file, "write": true, "query": sql });
        assert_eq!(bench.run("sql_query", &made)["success"], json!(true), "{sql}");
    }
    let list = bench.run("project_list", &json!({}));
    assert_eq!(list["active_id"], "p_0000000a", "{list}");
    assert_eq!(list["projects"][0]["primary_path"], "/srv/old", "{list}");
    assert_eq!(list["projects"].as_array().unwrap().len(), 1, "what is put away stays away");
    let made = bench.run("project_create", &json!({ "name": "Old" }));
    assert_eq!(made["error_type"], "bad_argument", "the short name is taken: {made}");
    let made = bench.run("project_create", &json!({ "name": "New" }));
    assert_eq!(made["success"], json!(true), "{made}");
    let kept = json!({ "database": file, "query": "SELECT value FROM project_meta" });
    assert_eq!(bench.run("sql_query", &kept)["rows"], json!([[made["id"]]]));
    // A file that is none is said, and stays as it is.
    crate::bench::put(&file, "not a database, but long enough to be looked at by the engine");
    for (tool, args) in
        [("project_list", json!({})), ("project_create", json!({ "name": "Third" }))]
    {
        assert_eq!(bench.run(tool, &args)["error_type"], "upstream", "{tool}");
    }
}
