//! What a platform and a person may rely on while a gateway is busy: no more edits than are allowed,
//! and a stop that stops.

use std::time::{Duration, Instant};

use petasos_testkit::Home;
use petasos_testkit::pace::fair;
use serde_json::{Value, json};

use super::PATIENCE;
use crate::bot_api::{BotApi, TOKEN};
use crate::loopback::{Loopback, Say};
use crate::serve::Server;

fn gateway(home: &Home) -> Server {
    let variables = [
        ("TELEGRAM_BOT_TOKEN", TOKEN),
        ("TELEGRAM_ALLOW_ALL_USERS", "true"),
        ("WEBHOOK_ENABLED", "true"),
        ("WEBHOOK_PORT", "0"),
        ("WEBHOOK_SECRET", "the-secret-of-the-test"),
    ];
    Server::start(home, &["gateway", "run"], &variables)
}

/// What a chat shows in the end: every message with its last words, joined.
fn shown(calls: &[(String, Value)]) -> String {
    let mut messages: Vec<(u64, String)> = Vec::new();
    for (at, (method, body)) in calls.iter().enumerate() {
        let text = body["text"].as_str().unwrap_or_default().to_owned();
        let number = body["message_id"].as_u64();
        let number = number.or_else(|| body["message_id"].as_str().and_then(|it| it.parse().ok()));
        match (method.as_str(), number) {
            // The double numbers messages by their place among all calls.
            ("sendMessage", _) => messages.push((1001 + at as u64, text)),
            ("editMessageText", Some(number)) => {
                if let Some(known) = messages.iter_mut().find(|it| it.0 == number) {
                    known.1 = text;
                }
            }
            _ => {}
        }
    }
    messages.into_iter().map(|it| it.1).collect::<Vec<_>>().join(" ")
}

fn whole(calls: &[(String, Value)], words: usize) -> bool {
    let shown = shown(calls);
    (1..=words).all(|at| {
        let word = format!("word{at}");
        shown.split_whitespace().filter(|it| **it == word).count() == 1
    })
}

/// S47: two hundred tokens a second ("word" and its number), one edit a second.
#[test]
fn s47_edits_keep_to_the_floor_and_floods_end_previews_and_not_the_answer() {
    for (words, refused) in [(400, 0), (900, 3)] {
        let (model, api) = (Loopback::saying(vec![Say::Words(words)]), BotApi::new());
        let home = model.home();
        home.write(".petasos/config.yaml", format!("{}{}", model.config(), api.config()));
        let _running = gateway(&home);
        api.refuse_edits(refused);
        let begun = Instant::now();
        api.message(1, 7, "tell me", None);
        api.until("the whole answer", |calls| whole(calls, words));
        let most = begun.elapsed().as_secs() + 2;
        let edits = api.edits();
        assert!(edits.len() as u64 <= most, "{} edits in {:?}", edits.len(), begun.elapsed());
        assert!(!edits.is_empty(), "it was shown as it came");
        if refused > 0 {
            // Three refusals, and the one that puts the answer in its place.
            assert!(edits.len() <= refused + 1, "{} edits", edits.len());
        }
    }
}

/// Processes whose command line has this in it.
fn running(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("processes");
    let lines = entries.flatten().filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

fn until(what: &str, holds: impl Fn() -> bool) -> Duration {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not seen: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
    begun.elapsed()
}

#[test]
fn s60_a_stop_is_acknowledged_at_once_under_load_and_leaves_no_process() {
    let mark = format!("98{}.25", std::process::id());
    let line = format!("sleep {mark} | sleep {mark}");
    let model = Loopback::answering(move |body: &Value| {
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let said = messages.iter().rev().find(|it| it["role"] == "user");
        let said = said.map(|it| it["content"].to_string()).unwrap_or_default();
        match () {
            () if said.contains("wait here") => {
                Say::Calls(vec![("terminal", json!({ "command": line, "timeout": 600 }))])
            }
            () if said.contains("busy") => Say::Stuck("thinking about it"),
            () => Say::Text("a title"),
        }
    });
    let api = BotApi::new();
    let home = model.home();
    home.write(".petasos/config.yaml", format!("{}{}", model.config(), api.config()));
    let _running = gateway(&home);
    for chat in 0..20 {
        api.message(100 + chat, 1000 + chat, "be busy", None);
    }
    api.message(200, 7, "wait here", None);
    until("the command", || running(&mark) >= 2);
    let told = |calls: &[(String, Value)]| calls.iter().any(|it| it.1["text"] == "Stopped.");
    let stopped = Instant::now();
    api.message(201, 7, "/stop", None);
    api.until("an acknowledgement", told);
    let acknowledged = stopped.elapsed();
    until("the end of every process", || running(&mark) == 0);
    let gone = stopped.elapsed();
    assert!(acknowledged < fair(Duration::from_secs(1)), "acknowledged after {acknowledged:?}");
    assert!(gone < fair(Duration::from_secs(3)), "gone after {gone:?}");
}
