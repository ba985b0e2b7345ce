//! The gateway as a program, with people on Telegram's double: who reads what, how it starts, ends
//! and comes back.

mod elsewhere;
mod grants;
mod limits;
mod seen;
mod threats;
mod upgrade;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::bot_api::{BotApi, TOKEN};
use crate::loopback::{Loopback, Say};
use crate::petasos;
use crate::serve::Server;

const PATIENCE: Duration = Duration::from_mins(1);

fn gateway(home: &Home) -> Server {
    let variables = [
        ("TELEGRAM_BOT_TOKEN", TOKEN),
        ("TELEGRAM_ALLOWED_USERS", "7,8"),
        ("WEBHOOK_ENABLED", "true"),
        ("WEBHOOK_PORT", "0"),
        ("WEBHOOK_SECRET", "the-secret-of-the-test"),
        ("NO_COLOR", "1"),
    ];
    Server::start(home, &["gateway", "run"], &variables)
}

/// Settings with this model and this server; a question waits two seconds.
fn configure(home: &Home, model: &Loopback, api: &BotApi) {
    let more = "approvals:\n  gateway_timeout: 2\n\
                platforms:\n  telegram:\n    extra:\n      allow_admin_from: [\"7\"]\n";
    home.write(".petasos/config.yaml", format!("{}{}{more}", model.config(), api.config()));
}

/// The results of calls that a model was told, in order: those of the question that knows most of
/// them, because a title or a look back at the turn is asked for beside it, whenever it may be.
fn results(model: &Loopback) -> Vec<String> {
    let told = |body: &Value| -> Vec<String> {
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let tools = messages.into_iter().filter(|it| it["role"] == "tool");
        tools.map(|it| it["content"].to_string()).collect()
    };
    model.asked().iter().map(told).max_by_key(Vec::len).unwrap_or_default()
}

/// A model that follows its script in the conversation, and gives a title to whoever wants one.
fn told_in_order(script: Vec<Say>) -> Loopback {
    let mut script = script.into_iter();
    Loopback::answering(move |body| {
        let conversation = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let next = if conversation { script.next() } else { None };
        next.unwrap_or(Say::Text("a title"))
    })
}

/// Files below a folder that hold these bytes.
fn files_with(folder: &Path, words: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_with(&path, words));
        } else if std::fs::read(&path)
            .is_ok_and(|bytes| bytes.windows(words.len()).any(|window| window == words))
        {
            found.push(path);
        }
    }
    found
}

const WORD: &str = "heliotrope";

/// Una writes a draft and another one, starts a job, gets a long result and has something noted.
fn unas_work() -> Loopback {
    let remember = json!({ "action": "add", "target": "user", "content": "likes heliotrope" });
    let draft = |words: &str| json!({ "path": "draft.txt", "content": words });
    let job = json!({ "command": "echo heliotrope-job", "background": true });
    let long = json!({ "command": "seq -f 'heliotrope line %g of a long result' 1 9000" });
    told_in_order(vec![
        Say::Calls(vec![("write_file", draft("heliotrope is a colour"))]),
        Say::Text("drafted"),
        // The first change of the next turn keeps what was there before.
        Say::Calls(vec![("write_file", draft("mauve is a colour"))]),
        Say::Calls(vec![("terminal", job)]),
        Say::Calls(vec![("process", json!({ "action": "list" }))]),
        Say::Calls(vec![("terminal", long)]),
        Say::Calls(vec![("memory", remember)]),
        Say::Text("kept"),
    ])
}

/// What Ben tries: checkpoints of the workspace, what the tools give, and every file.
fn bens_tries(home: &Home, job: Option<&str>, kept: &[PathBuf]) -> Vec<Say> {
    let copies = std::fs::read_dir(home.agent().join("checkpoints")).expect("checkpoints");
    let copies: Vec<PathBuf> = copies.flatten().map(|it| it.path()).collect();
    assert!(copies.iter().any(|copy| copy.join("HEAD").exists()), "{copies:?}");
    let mut tries = Vec::new();
    for copy in copies.iter().filter(|it| it.is_dir()) {
        let line = format!("git --git-dir={} log --all -p", copy.display());
        tries.push(("terminal", json!({ "command": line })));
    }
    tries.push(("session_search", json!({ "query": WORD })));
    tries.push(("process", json!({ "action": "list" })));
    tries.push(("memory", json!({ "action": "read", "target": "user" })));
    if let Some(job) = job {
        tries.push(("process", json!({ "action": "log", "session_id": job })));
    }
    for path in kept {
        tries.push(("read_file", json!({ "path": path.display().to_string() })));
    }
    tries.into_iter().map(|call| Say::Calls(vec![call])).collect()
}

#[test]
fn nobody_reads_another_chat() {
    let (api, unas) = (BotApi::new(), unas_work());
    let home = unas.home();
    configure(&home, &unas, &api);
    let first = gateway(&home);
    api.message(1, 7, "write a draft", None);
    let sent = api.sent(1);
    assert_eq!(sent[0]["chat_id"], "7", "{sent:?}");
    api.message(2, 7, "work", None);
    api.until("her second answer", |calls| calls.iter().any(|it| it.1["text"] == "kept"));
    let told = results(&unas).join("\n");
    let job = told
        .split("session_id")
        .nth(1)
        .and_then(|rest| rest.split('"').find(|it| it.contains("proc_")));
    let job = job.map(|job| job.trim_end_matches('\\'));
    drop(first);
    // Every file that has the word in it, wherever the program keeps it.
    let mut kept = files_with(&home.agent(), WORD.as_bytes());
    kept.extend(files_with(&std::env::temp_dir().join("petasos"), WORD.as_bytes()));
    assert!(!kept.is_empty(), "nothing was kept at all: {told}");
    let mut tries = bens_tries(&home, job, &kept);
    let count = tries.len();
    tries.push(Say::Text("tried"));
    let bens = told_in_order(tries);
    configure(&home, &bens, &api);
    let _second = gateway(&home);
    api.message(3, 8, "/rollback", None);
    api.until("a word about checkpoints", |calls| {
        let refused = |text: &str| text.contains("for administrators");
        calls.iter().any(|it| it.1["text"].as_str().is_some_and(refused))
    });
    api.message(4, 8, "look around", None);
    api.until("the end of his tries", |calls| calls.iter().any(|it| it.1["text"] == "tried"));
    let heard = results(&bens);
    assert_eq!(heard.len(), count, "{heard:#?}");
    for (at, heard) in heard.iter().enumerate() {
        // What he asked for himself is no news to him.
        let news = heard.replace(&format!("\\\"query\\\":\\\"{WORD}\\\""), "");
        let file = (at + kept.len()).checked_sub(count).and_then(|at| kept.get(at));
        assert!(!news.contains(WORD), "try {at} ({file:?}): {heard}");
    }
    let prompt = bens.asked()[0]["messages"][0].to_string();
    assert!(!prompt.contains(WORD), "her notes are not in his prompt");
}

#[test]
fn s145_one_gateway_a_home_and_a_dead_one_is_in_nobodys_way() {
    let (model, api) = (Loopback::saying(Vec::new()), BotApi::new());
    let home = model.home();
    configure(&home, &model, &api);
    let first = gateway(&home);
    let pid = first.child.id();
    let variables = [("TELEGRAM_BOT_TOKEN", TOKEN), ("TELEGRAM_ALLOWED_USERS", "7")];
    let mut again = petasos(&home);
    for (name, value) in variables {
        again = again.with(name, value);
    }
    let refused = again.run(&["gateway", "run"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("process {pid}")), "{}", refused.stderr);
    // Another home is another gateway.
    let other = model.home();
    configure(&other, &model, &BotApi::new());
    drop(gateway(&other));
    first.kill();
    assert_eq!(petasos(&home).run(&["gateway", "status"]).code, Some(3), "it is gone");
    let second = gateway(&home);
    let status = petasos(&home).run(&["gateway", "status", "--json"]).json();
    assert_eq!(status["pid"], second.child.id(), "{status}");
}

#[test]
fn s146_t17_what_status_metrics_and_the_exit_code_say_agrees() {
    let (model, api) = (Loopback::saying(Vec::new()), BotApi::new());
    let home = model.home();
    configure(&home, &model, &api);
    let _running = gateway(&home);
    let until = |wanted: &str| -> Value {
        let late = Instant::now() + PATIENCE;
        loop {
            let ran = petasos(&home).run(&["gateway", "status", "--json"]);
            let status = ran.json();
            if status["accounts"][0]["state"] == wanted {
                assert_eq!(ran.code, Some(if wanted == "connected" { 0 } else { 4 }), "{status}");
                return status;
            }
            assert!(Instant::now() < late, "{status}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let metrics = || petasos(&home).run(&["gateway", "metrics"]).stdout;
    until("connected");
    api.message(1, 7, "hello", None);
    api.sent(1);
    let late = Instant::now() + PATIENCE;
    while !metrics()
        .lines()
        .any(|it| it.starts_with("petasos_inbox") && it.contains("delivered") && it.ends_with(" 1"))
    {
        assert!(Instant::now() < late, "{}", metrics());
        std::thread::sleep(Duration::from_millis(50));
    }
    let status = until("connected");
    assert_eq!(status["inbox"]["delivered"], 1, "{status}");
    // The bot is revoked: one line says so, for people and for scripts.
    api.revoke();
    let status = until("fatal");
    assert!(
        status["accounts"][0]["why"].as_str().is_some_and(|it| it.contains("token")),
        "{status}"
    );
    assert!(metrics().contains("fatal"), "{}", metrics());
    // T17: the token is in no log, whatever the errors say.
    let secret = TOKEN.split(':').nth(1).unwrap_or_default();
    let logged = files_with(&home.agent().join("logs"), secret.as_bytes());
    assert!(logged.is_empty(), "{logged:?}");
    assert!(!files_with(&home.agent().join("logs"), b"telegram").is_empty(), "there is a log");
}
