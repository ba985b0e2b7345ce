//! The gateway as a service: what its unit says is done as a service manager does it, and another
//! version takes over while people write.

use std::collections::BTreeMap;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::Value;

use super::PATIENCE;
use crate::bot_api::{BotApi, TOKEN};
use crate::loopback::{Loopback, Say};
use crate::petasos;

const ALL: i64 = 60;

/// Says which message it heard.
fn echo() -> Loopback {
    Loopback::answering(|body: &Value| {
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let said = messages.iter().rev().find(|it| it["role"] == "user");
        let said = said.map(|it| it["content"].to_string()).unwrap_or_default();
        let word = said
            .split(|c: char| !c.is_alphanumeric())
            .rfind(|it| it.strip_prefix('m').is_some_and(|rest| rest.parse::<i64>().is_ok()));
        let text = format!("heard {}", word.unwrap_or("nothing"));
        Say::Text(Box::leak(text.into_boxed_str()))
    })
}

/// What a unit says, by its keys.
fn unit(home: &Home) -> BTreeMap<String, String> {
    let installed = petasos(home).run(&["gateway", "install"]);
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let file = home.user().join(".config/systemd/user/petasos-gateway.service");
    let text = std::fs::read_to_string(file).expect("a unit");
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Starts what a unit says, and waits until it says that it is ready.
#[expect(clippy::disallowed_methods, reason = "a test starts the program that it tests")]
fn started(line: &str, home: &Home, socket: &UnixDatagram, at: &Path) -> Child {
    let mut words = line.split_whitespace().map(|word| word.trim_matches('"'));
    let program = words.next().expect("a program");
    let child = Command::new(program)
        .args(words)
        .env_clear()
        .env("HOME", home.user())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("NOTIFY_SOCKET", at)
        .env("TELEGRAM_BOT_TOKEN", TOKEN)
        .env("TELEGRAM_ALLOW_ALL_USERS", "true")
        .current_dir(home.workspace())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    told(socket, "READY=1");
    child
}

/// Waits until the service manager is told this.
fn told(socket: &UnixDatagram, word: &str) {
    let late = Instant::now() + PATIENCE;
    let mut buffer = [0_u8; 256];
    while Instant::now() < late {
        let heard = socket.recv(&mut buffer).unwrap_or(0);
        if String::from_utf8_lossy(&buffer[..heard]).contains(word) {
            return;
        }
    }
    unreachable!("the service manager was never told {word}");
}

/// How a process ended, once it has.
fn ended(child: &mut Child) -> Option<i32> {
    let late = Instant::now() + PATIENCE;
    while Instant::now() < late {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap_or_default();
    unreachable!("it does not end");
}

fn answers(calls: &[(String, Value)], number: i64) -> usize {
    let text = format!("heard m{number}");
    calls.iter().filter(|it| it.0 == "sendMessage" && it.1["text"] == text.as_str()).count()
}

#[test]
fn s143_installed_started_restarted_upgraded_and_stopped_under_load_loses_nothing() {
    let (model, api) = (echo(), BotApi::new());
    let home = model.home();
    let more = "display:\n  busy_input_mode: queue\n  quiet: true\n  platforms:\n    telegram:\n      \
                streaming: false\n";
    home.write(".petasos/config.yaml", format!("{}{}{more}", model.config(), api.config()));
    let unit = unit(&home);
    assert_eq!(unit["Type"], "notify");
    let watchdog: u64 = unit["WatchdogSec"].trim_end_matches('s').parse().expect("seconds");
    let at = home.user().join("notify");
    let socket = UnixDatagram::bind(&at).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(1))).expect("a limit");
    let line = unit["ExecStart"].clone();
    let mut running = started(&line, &home, &socket, &at);
    let (next, done) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let api = &api;
        scope.spawn(move || {
            for number in 1..=ALL {
                api.message(number, 100 + number % 20, &format!("m{number}"), None);
                std::thread::sleep(Duration::from_millis(150));
                next.send(number).unwrap_or_default();
            }
        });
        let written = |until: i64| while done.recv().expect("people write") < until {};
        written(20);
        // A restart is an end with a code that the unit answers with a start.
        assert_eq!(petasos(&home).run(&["gateway", "restart"]).code, Some(0));
        assert_eq!(ended(&mut running), Some(75));
        running = started(&line, &home, &socket, &at);
        written(35);
        // Another version asks the running one to let go, and takes its place.
        let copy = home.user().join("petasos-next");
        std::fs::copy(env!("CARGO_BIN_EXE_petasos"), &copy).expect("a copy");
        let upgrade = format!("{} gateway run --replace", copy.display());
        let mut before = std::mem::replace(&mut running, started(&upgrade, &home, &socket, &at));
        assert_eq!(ended(&mut before), Some(0));
    });
    // It lives, and says so within half of the time that the watchdog gives it.
    let begun = Instant::now();
    told(&socket, "WATCHDOG=1");
    assert!(begun.elapsed() < Duration::from_secs(watchdog / 2), "{:?}", begun.elapsed());
    api.until("every answer", |calls| (1..=ALL).all(|number| answers(calls, number) > 0));
    assert_eq!(petasos(&home).run(&["gateway", "stop"]).code, Some(0));
    assert_eq!(ended(&mut running), Some(0));
    let calls = api.calls();
    let doubled: Vec<i64> = (1..=ALL).filter(|number| answers(&calls, *number) != 1).collect();
    assert!(doubled.is_empty(), "not answered once: {doubled:?}");
    assert_eq!(petasos(&home).run(&["gateway", "uninstall"]).code, Some(0));
}
