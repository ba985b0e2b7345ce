//! `petasos import hermes`: what is taken, what is left, and that the other home stays as it was.

use std::collections::BTreeMap;
use std::path::Path;

use petasos_testkit::Home;

use crate::petasos;

const OLD: &str = "
PRAGMA journal_mode = WAL;
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, model TEXT, title TEXT, started_at REAL);
CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT,
  timestamp REAL);
INSERT INTO sessions VALUES ('20250101_000000_abcdef', 'cli', 'm', 'Lamp', 1735689600.5);
INSERT INTO messages(session_id, role, content, timestamp) VALUES
  ('20250101_000000_abcdef', 'user', 'which lamp?', 1735689601),
  ('20250101_000000_abcdef', 'assistant', 'the green one', 1735689602);
";

fn hermes() -> Home {
    let home = Home::temp();
    home.write(
        ".hermes/config.yaml",
        "# mine\nmodel:\n  provider: openrouter\n  default: some/model\napprovals:\n  nonsense: 1\n  mode: manual\n",
    );
    home.write(".hermes/.env", "OPENROUTER_API_KEY=or-0123456789abcdef\nHERMES_HOME=/elsewhere\n");
    home.write(".hermes/SOUL.md", "You are a lamp.");
    home.write(".hermes/memories/MEMORY.md", "likes lamps");
    home.write(".hermes/skills/lamps/SKILL.md", "---\nname: lamps\n---\n");
    home.write(".hermes/plugins/x/plugin.yaml", "name: x\n");
    home.write(
        ".hermes/auth.json",
        r#"{"version":1,"providers":{"nous":{"access_token":"t-0123456789abcdef","refresh_token":"r-0123456789"}}}"#,
    );
    let file = home.user().join(".hermes/state.db");
    rusqlite::Connection::open(file).expect("a file").execute_batch(OLD).expect("tables");
    home
}

/// Every file below a folder, with its bytes.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).expect("a file");
                files.insert(path.display().to_string(), bytes);
            }
        }
    }
    files
}

#[test]
fn a_dry_run_writes_nothing_anywhere() {
    let home = hermes();
    let before = content(home.user());
    let told = petasos(&home).run(&["import", "hermes", "--dry-run", "--json"]).json();
    assert_eq!(content(home.user()), before);
    let taken = |what: &str| {
        let items = told["items"].as_array().expect("items");
        items.iter().any(|item| item["what"] == what && item["state"] == "taken")
    };
    for what in ["config.yaml", ".env: OPENROUTER_API_KEY", "login of nous", "SOUL.md"] {
        assert!(taken(what), "{what}: {told}");
    }
    assert!(taken("1 conversation(s) with 2 messages"), "{told}");
}

#[test]
fn a_home_is_taken_over_and_stays_as_it_was() {
    let home = hermes();
    let before = content(&home.user().join(".hermes"));
    let told = petasos(&home).run(&["import", "hermes"]);
    assert_eq!(told.code, Some(0), "{}{}", told.stdout, told.stderr);
    assert_eq!(content(&home.user().join(".hermes")), before);
    assert!(told.stdout.contains("- config.yaml: approvals.nonsense"), "{}", told.stdout);
    assert!(told.stdout.contains("- plugins"), "{}", told.stdout);
    assert!(!told.stdout.contains("0123456789"), "values are not shown");
    let config = std::fs::read_to_string(home.agent().join("config.yaml")).expect("a file");
    assert!(config.contains("# mine") && !config.contains("nonsense"), "{config}");
    let resolved = petasos(&home).run(&["provider", "resolve", "--json"]).json();
    assert_eq!(
        (&resolved["provider"], &resolved["model"]),
        (&"openrouter".into(), &"some/model".into())
    );
    let shown = petasos(&home).run(&["sessions", "show", "Lamp"]).stdout;
    assert!(shown.contains("the green one"), "{shown}");
    for file in ["SOUL.md", "memories/MEMORY.md", "skills/lamps/SKILL.md", "auth.json"] {
        assert!(home.agent().join(file).is_file(), "{file}");
    }
}

#[test]
fn what_is_here_is_not_overwritten() {
    let home = hermes();
    home.write(".petasos/config.yaml", "model:\n  default: my/model\n");
    home.write(".petasos/.env", "OPENROUTER_API_KEY=or-mine-0123456789\n");
    home.write(".petasos/SOUL.md", "I am myself.");
    let run = || petasos(&home).run(&["import", "hermes"]);
    assert!(run().stdout.contains("= .env: OPENROUTER_API_KEY"));
    let config = std::fs::read_to_string(home.agent().join("config.yaml")).expect("a file");
    assert!(config.contains("my/model") && config.contains("openrouter"), "{config}");
    let soul = std::fs::read_to_string(home.agent().join("SOUL.md")).expect("a file");
    assert_eq!(soul, "I am myself.");
    let after = content(&home.agent().join("memories"));
    let again = run();
    assert_eq!(again.code, Some(0), "{}", again.stdout);
    assert!(again.stdout.contains("= 1 conversation(s)"), "{}", again.stdout);
    assert_eq!(content(&home.agent().join("memories")), after);
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let finished = petasos(&Home::temp()).run(&["import", "hermes", "/nowhere/at/all", "--json"]);
    assert_eq!(finished.code, Some(1));
    assert_eq!(finished.json()["error"]["code"], "not_found");
}
