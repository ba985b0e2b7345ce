//! The listeners of a real program: what its logs keep to themselves, what other programs are told,
//! who is asked about turns that no chat began, two servers on one home, and other profiles.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::bot_api::{BotApi, TOKEN};
use crate::hooks::{SECRET, gateway, hook, keeper};
use crate::loopback::{Loopback, Say};
use crate::petasos;
use crate::serve::{KEY, Server};

const PATIENCE: Duration = Duration::from_mins(1);
const OPS_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Sends these bytes and reads to the end, whatever comes.
fn raw(address: &str, text: &str) -> String {
    let mut socket = TcpStream::connect(address).expect("a connection");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    socket.write_all(text.as_bytes()).expect("sent");
    let mut all = Vec::new();
    socket.read_to_end(&mut all).unwrap_or_default();
    String::from_utf8_lossy(&all).into_owned()
}

/// Every file below a folder, as text.
fn texts(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(texts(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap_or_default();
            found.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    found
}

#[test]
fn no_key_token_or_secret_is_in_any_log() {
    let model = Loopback::saying(vec![Say::Text("hello"), Say::Fail(401), Say::Text("again")]);
    let (api, (ops, _told)) = (BotApi::new(), keeper());
    let home = model.home();
    let config = format!(
        "{}{}logging:\n  level: trace\ngateway:\n  webhooks_out:\n    - name: ops\n      url: \
         {ops}/hook\n      secret_env: OPS_SECRET\nplatforms:\n  webhook:\n    extra:\n      \
         routes:\n        ci:\n          prompt: \"Look at {{title}}\"\n",
        model.config(),
        api.config()
    );
    home.write(".petasos/config.yaml", config);
    let made = petasos(&home).run(&["serve", "token", "create", "laptop", "--scopes", "admin"]);
    let token = made.stdout.trim().to_owned();
    let stderr = home.user().join("stderr.txt");
    let side = Stdio::from(std::fs::File::create(&stderr).expect("a file"));
    let variables = [
        ("API_SERVER_KEY", KEY),
        ("API_SERVER_ENABLED", "true"),
        ("API_SERVER_PORT", "0"),
        ("TELEGRAM_BOT_TOKEN", TOKEN),
        ("TELEGRAM_ALLOWED_USERS", "7"),
        ("WEBHOOK_ENABLED", "true"),
        ("WEBHOOK_PORT", "0"),
        ("WEBHOOK_SECRET", SECRET),
        ("OPS_SECRET", OPS_SECRET),
    ];
    let server = Server::started(&home, &["gateway", "run"], &variables, side);
    let hooks = server.line.split("http://").nth(2).and_then(|rest| rest.split('/').next());
    let hooks = hooks.expect("the address of webhooks").to_owned();
    for key in [KEY, token.as_str()] {
        assert!(server.say(key, "hello").0 >= 200);
        for head in [
            format!("GET /v1/models?api_key={key} HTTP/1.1\r\nAuthorization: Bearer {key}"),
            format!("GET /v1/{key}/models HTTP/1.1"),
            format!("GET /v1/models HTTP/1.1\r\nAuthorization: Basic {key}"),
            format!("GET /v1/models HTTP/1.1\r\nX-Hermes-Session-Id: {key}"),
            format!("GET /v1/runs/{key} HTTP/1.1\r\nAuthorization: Bearer {key}"),
            format!("DELETE /api/sessions/{key} HTTP/1.1\r\nAuthorization: Bearer {key}"),
            format!("GET / HTTP/1.1\r\nOrigin: https://{key}.example"),
            format!("{key} / HTTP/1.1"),
        ] {
            raw(&server.address, &format!("{head}\r\nHost: x\r\nConnection: close\r\n\r\n"));
            let host = "Host: localhost\r\nConnection: close";
            raw(&server.address, &format!("{head}\r\n{host}\r\n\r\n"));
        }
    }
    hook(&hooks, "ci", "d1", &json!({ "title": "x" }));
    raw(
        &hooks,
        &format!(
            "POST /webhooks/{SECRET} HTTP/1.1\r\nHost: x\r\nX-Gitlab-Token: {SECRET}\r\n\
             Connection: close\r\nContent-Length: 2\r\n\r\n{{}}"
        ),
    );
    api.message(1, 7, "hello from the chat", None);
    api.sent(1);
    server.kill();
    let mut logs = texts(&home.agent().join("logs"));
    logs.push(("stderr".to_owned(), std::fs::read_to_string(&stderr).expect("a file")));
    let all: usize = logs.iter().map(|(_, text)| text.len()).sum();
    assert!(all > 2_000 && logs.iter().any(|(_, text)| text.contains("answered")), "{logs:?}");
    let secrets = [KEY, token.as_str(), SECRET, OPS_SECRET, TOKEN, "sk-loopback-0123456789"];
    for (file, text) in &logs {
        for secret in secrets {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret} is in {file}");
        }
    }
}

/// The next event of this kind that another program is told.
fn event(told: &Receiver<(String, Value)>, kind: &str) -> Value {
    let late = Instant::now() + PATIENCE;
    loop {
        let left = late.saturating_duration_since(Instant::now());
        let (head, event) = told.recv_timeout(left).expect(kind);
        assert!(head.to_lowercase().contains("webhook-signature: v1,"), "{head}");
        if event["type"] == kind {
            return event;
        }
    }
}

#[test]
fn s118_dead_deliveries_and_states_of_accounts_are_told_and_a_removed_route_is_gone() {
    let (model, api) = (Loopback::saying(Vec::new()), BotApi::new());
    let (ops, told) = keeper();
    let home = model.home();
    let config = format!(
        "{}{}gateway:\n  webhooks_out:\n    - name: ops\n      url: {ops}/hook\n      secret_env: \
         OPS_SECRET\n      events: [delivery_dead, account_state]\n",
        model.config(),
        api.config()
    );
    home.write(".petasos/config.yaml", config);
    let with = |words: &[&str]| petasos(&home).with("OPS_SECRET", OPS_SECRET).run(words);
    let words = ["webhook", "subscribe", "alarm", "--deliver", "telegram:7", "--deliver-only"];
    let made = with(&[&words[..], &["--prompt", "Disk {disk}", "--json"]].concat());
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let secret = made.json()["secret"].as_str().expect("a secret").to_owned();
    let server = gateway(&home, &[("OPS_SECRET", OPS_SECRET)]);
    let state = event(&told, "account_state");
    assert!(state["data"]["account"].as_str().is_some_and(|it| it.contains("telegram")), "{state}");
    let post = |id: &str| {
        let body = json!({ "disk": "sda" }).to_string();
        raw(
            &server.address,
            &format!(
                "POST /webhooks/alarm HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                 X-Gitlab-Token: {secret}\r\nX-Gitlab-Event-UUID: {id}\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            ),
        )
    };
    api.refuse(403, "Forbidden: bot was blocked by the user");
    let refused = post("d1");
    assert!(refused.starts_with("HTTP/1.1 502"), "{refused}");
    let dead = event(&told, "delivery_dead");
    let place = (&dead["data"]["platform"], &dead["data"]["chat"]);
    assert_eq!(place, (&json!("telegram"), &json!("7")), "{dead}");
    assert!(dead["data"]["error"].as_str().is_some_and(|it| it.contains("blocked")), "{dead}");
    assert!(post("d2").starts_with("HTTP/1.1 200"), "the route works");
    let gone = with(&["webhook", "remove", "alarm"]);
    assert_eq!(gone.code, Some(0), "{}", gone.stderr);
    assert!(post("d3").starts_with("HTTP/1.1 404"), "at once, without a restart");
    assert_eq!(with(&["webhook", "remove", "alarm"]).code, Some(1), "there is none");
    let listed = with(&["webhook", "list", "--json"]).json();
    assert!(!listed.to_string().contains("alarm"), "{listed}");
    assert!(model.asked().is_empty());
}

#[test]
fn skills_are_listed_for_those_who_may_ask() {
    let model = Loopback::saying(Vec::new());
    let home = model.home();
    let skill = "---\nname: lamp-care\ndescription: How lamps are cleaned\n---\n\nWipe them.\n";
    home.write(".petasos/skills/house/lamp-care/SKILL.md", skill);
    let server = Server::start(&home, &["serve", "--port", "0"], &[("API_SERVER_KEY", KEY)]);
    let (status, told) = server.ask("GET", "/v1/skills", KEY, &Value::Null);
    assert_eq!((status, &told["object"]), (200, &json!("list")), "{told}");
    let lamp =
        told["data"].as_array().and_then(|all| all.iter().find(|it| it["name"] == "lamp-care"));
    let lamp = lamp.cloned().unwrap_or_default();
    assert_eq!(lamp["description"], "How lamps are cleaned", "{told}");
    assert!(!told.to_string().contains("Wipe them"), "what it says is not listed");
    assert_eq!(server.ask("GET", "/v1/skills", "nobody-at-all-0123", &Value::Null).0, 401);
    let made = petasos(&home).run(&["serve", "token", "create", "numbers", "--scopes", "metrics"]);
    assert_eq!(server.ask("GET", "/v1/skills", made.stdout.trim(), &Value::Null).0, 403);
}

/// The number of the card in a message.
pub(crate) fn number(sent: &Value) -> String {
    let text = sent["text"].as_str().unwrap_or_default();
    let number = text.split('#').nth(1).unwrap_or_default();
    number.chars().take_while(char::is_ascii_digit).collect()
}

#[test]
fn turns_that_no_chat_began_are_asked_about_in_the_chat_that_is_named() {
    let push = || Say::Calls(vec![("terminal", json!({ "command": "git push --force origin x" }))]);
    let model = Loopback::saying(vec![
        push(),
        Say::Text("I was not allowed to."),
        push(),
        Say::Text("I tried."),
    ]);
    let api = BotApi::new();
    let home = model.home();
    let config = format!(
        "{}{}approvals:\n  route_to: telegram:7\ngateway:\n  owner: telegram:7\nterminal:\n  \
         sandbox: off\n",
        model.config(),
        api.config()
    );
    home.write(".petasos/config.yaml", config);
    let run = |server: &Server| {
        let (status, run) = server.ask("POST", "/v1/runs", KEY, &json!({ "input": "push" }));
        assert_eq!(status, 202, "{run}");
        run["id"].as_str().expect("an id").to_owned()
    };
    let ended = |server: &Server, id: &str| {
        let late = Instant::now() + PATIENCE;
        loop {
            let (_, run) = server.ask("GET", &format!("/v1/runs/{id}"), KEY, &Value::Null);
            if run["status"] == "completed" {
                return run;
            }
            assert!(Instant::now() < late, "{run}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    // Nobody is there to ask while no gateway runs: refused at once (the first two replies).
    let serving = Server::start(&home, &["serve", "--port", "0"], &[("API_SERVER_KEY", KEY)]);
    let began = Instant::now();
    assert_eq!(ended(&serving, &run(&serving))["output"], "I was not allowed to.");
    assert!(began.elapsed() < Duration::from_secs(30), "nobody is waited for in vain");
    // The turn runs in one process, the chat is served by another.
    let _gateway = gateway(&home, &[]);
    let id = run(&serving);
    let card = &api.sent(1)[0];
    assert_eq!(card["chat_id"], "7", "{card}");
    let text = card["text"].as_str().unwrap_or_default();
    assert!(text.contains("git push") && text.contains("consent"), "{card}");
    let (_, waiting) = serving.ask("GET", &format!("/v1/runs/{id}"), KEY, &Value::Null);
    assert_eq!(waiting["status"], "waiting_for_approval", "{waiting}");
    api.message(1, 7, &format!("yes {}", number(card)), None);
    assert_eq!(ended(&serving, &id)["output"], "I tried.");
    let asked = model.asked();
    let last = asked.last().expect("a question")["messages"].to_string();
    assert!(!last.contains("approval_denied"), "it ran: {last}");
}

#[test]
fn two_servers_on_one_home_make_one_turn_of_one_request_and_respect_each_others_sessions() {
    let model = Loopback::saying(vec![Say::Words(400), Say::Text("only once"), Say::Text("next")]);
    let home = model.home();
    let start = || Server::start(&home, &["serve", "--port", "0"], &[("API_SERVER_KEY", KEY)]);
    let (one, two) = (start(), start());
    let body = |text: &str| json!({ "messages": [{ "role": "user", "content": text }] });
    let path = "/v1/chat/completions";
    let once = "Idempotency-Key: the-same\r\n";
    let whole = |server: &Server, more: &str, body: &Value| {
        let mut text = String::new();
        server.open("POST", path, more, body).read_to_string(&mut text).expect("an answer");
        text
    };
    // The same request to both at once is one turn, and both get its answer.
    let (first, second) = std::thread::scope(|scope| {
        let lane = |server| scope.spawn(move || whole(server, once, &body("hello")));
        let lanes = (lane(&one), lane(&two));
        (lanes.0.join().expect("a lane"), lanes.1.join().expect("a lane"))
    });
    let answer = |text: &str| {
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        body["choices"][0]["message"]["content"].clone()
    };
    assert!(answer(&first).is_string(), "{first}");
    assert_eq!(answer(&first), answer(&second), "{second}");
    assert_eq!(model.asked().len(), 1, "one turn");
    let other = whole(&two, once, &body("something else"));
    assert!(other.starts_with("HTTP/1.1 422"), "{other}");
    // A session that one of them works in is busy for the other, and free when it is done.
    let named = "X-Hermes-Session-Id: shared\r\n";
    let said = whole(&one, named, &body("first"));
    assert_eq!(answer(&said), "only once", "{said}");
    let said = whole(&two, named, &body("second"));
    assert_eq!(answer(&said), "next", "{said}");
    let last = model.asked().last().expect("a question")["messages"].to_string();
    assert!(last.contains("only once"), "the other process knows what was said: {last}");
}

#[test]
fn other_profiles_are_served_below_their_name_with_their_own_keys() {
    let (model, other) = (
        Loopback::saying(vec![Say::Text("from main")]),
        Loopback::saying(vec![Say::Text("from work")]),
    );
    let home = Home::temp();
    let extra = "gateway:\n  multiplex_profiles: true\n";
    home.write(".petasos/config.yaml", format!("{}{extra}", model.config()));
    home.write(".petasos/.env", format!("API_SERVER_KEY={KEY}\n"));
    let work = "key-of-the-work-profile-42";
    home.write(".petasos/profiles/work/config.yaml", other.config());
    home.write(".petasos/profiles/work/.env", format!("API_SERVER_KEY={work}\n"));
    home.write(".petasos/profiles/keyless/config.yaml", other.config());
    let server = Server::start(&home, &["serve", "--port", "0"], &[]);
    let body = json!({ "messages": [{ "role": "user", "content": "hello" }] });
    let say = |path: &str, key: &str| server.ask("POST", path, key, &body);
    let (status, said) = say("/p/work/v1/chat/completions", work);
    assert_eq!(
        (status, &said["choices"][0]["message"]["content"]),
        (200, &json!("from work")),
        "{said}"
    );
    assert_eq!(say("/p/work/v1/chat/completions", KEY).0, 401, "its own keys alone");
    assert_eq!(say("/v1/chat/completions", work).0, 401);
    assert_eq!(say("/p/keyless/v1/chat/completions", KEY).0, 404, "it has no key");
    assert_eq!(say("/p/nobody/v1/chat/completions", KEY).0, 404);
    assert_eq!(say("/p/..%2f/v1/chat/completions", KEY).0, 404);
    let (status, said) = say("/v1/chat/completions", KEY);
    assert_eq!(
        (status, &said["choices"][0]["message"]["content"]),
        (200, &json!("from main")),
        "{said}"
    );
    let (_, listed) = server.ask("GET", "/p/work/api/sessions", work, &Value::Null);
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{listed}");
    let (_, listed) = server.ask("GET", "/api/sessions", KEY, &Value::Null);
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "each has its own: {listed}");
    assert!(
        home.agent().join("profiles/work").join("petasos.db").exists() || {
            texts(&home.agent().join("profiles/work"))
                .iter()
                .any(|(file, _)| file.rsplit('.').next() == Some("db"))
        }
    );
}

#[test]
fn deliveries_and_jobs_of_another_profile_are_its_own() {
    let (model, other) = (Loopback::saying(Vec::new()), Loopback::saying(vec![Say::Text("seen")]));
    let home = Home::temp();
    let route = |name: &str| {
        format!(
            "platforms:\n  webhook:\n    enabled: true\n    extra:\n      port: 0\n      \
                 routes:\n        {name}:\n          prompt: \"Look at {{title}}\"\n"
        )
    };
    let extra = format!("gateway:\n  multiplex_profiles: true\n{}", route("main"));
    home.write(".petasos/config.yaml", format!("{}{extra}", model.config()));
    home.write(".petasos/.env", format!("API_SERVER_KEY={KEY}\nWEBHOOK_SECRET=not-{SECRET}\n"));
    let work = "key-of-the-work-profile-42";
    home.write(".petasos/profiles/work/config.yaml", format!("{}{}", other.config(), route("ci")));
    let variables = format!("API_SERVER_KEY={work}\nWEBHOOK_SECRET={SECRET}\n");
    home.write(".petasos/profiles/work/.env", variables);
    home.write(".petasos/profiles/work/scripts/house.sh", "echo the house stands\n");
    let server = Server::start(&home, &["serve", "--port", "0"], &[]);
    let hooks = server.line.split("http://").nth(2).and_then(|rest| rest.split('/').next());
    let hooks = hooks.expect("the address of webhooks").to_owned();
    let deliver = |path: &str, id: &str| {
        let body = json!({ "title": "a crash" }).to_string();
        let told = raw(
            &hooks,
            &format!(
                "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Gitlab-Token: \
                 {SECRET}\r\nX-Gitlab-Event-UUID: {id}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ),
        );
        told.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(deliver("/webhooks/ci", "a"), "404", "the main profile has no such route");
    assert_eq!(deliver("/webhooks/main", "b"), "401", "and another secret");
    assert_eq!(deliver("/p/work/webhooks/main", "c"), "404");
    assert_eq!(deliver("/p/work/webhooks/ci", "d"), "202");
    assert_eq!(deliver("/p/work/webhooks/ci", "d"), "200", "once");
    let late = Instant::now() + PATIENCE;
    while other.asked().is_empty() {
        assert!(Instant::now() < late, "it becomes a turn");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(model.asked().is_empty(), "of its own profile");
    let job = json!({ "name": "House", "schedule": "every day at 9", "script": "house.sh",
        "no_agent": true, "deliver": "local" });
    let (status, made) = server.ask("POST", "/p/work/api/jobs", work, &job);
    assert_eq!(status, 201, "{made}");
    let path = format!("/p/work/api/jobs/{}", made["job"]["job_id"].as_str().expect("an id"));
    assert_eq!(server.ask("POST", &format!("{path}/run"), work, &Value::Null).0, 202);
    loop {
        let (_, runs) = server.ask("GET", &format!("{path}/runs"), work, &Value::Null);
        if runs["data"][0]["state"] == "succeeded" {
            break;
        }
        assert!(Instant::now() < late, "{runs}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (_, jobs) = server.ask("GET", "/api/jobs", KEY, &Value::Null);
    assert_eq!(jobs["data"], json!([]), "the main profile knows nothing of it");
}

#[test]
fn a_session_key_keeps_its_notes_from_everybody_else() {
    let note = json!({ "action": "add", "target": "memory", "content": "the cat is called Mauz" });
    let mut first = true;
    let model = Loopback::answering(move |_| {
        if std::mem::take(&mut first) {
            return Say::Calls(vec![("memory", note.clone())]);
        }
        Say::Text("ok")
    });
    let home = model.home();
    let server = Server::start(&home, &["serve", "--port", "0"], &[("API_SERVER_KEY", KEY)]);
    let body = json!({ "messages": [{ "role": "user", "content": "remember the cat" }] });
    let said = |key: &str| {
        let more =
            if key.is_empty() { String::new() } else { format!("X-Hermes-Session-Key: {key}\r\n") };
        let mut text = String::new();
        let mut reader = server.open("POST", "/v1/chat/completions", &more, &body);
        reader.read_to_string(&mut text).expect("an answer");
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        model.asked().last().expect("a question")["messages"].to_string()
    };
    let told = said("una");
    assert!(told.contains("Mauz"), "it is written: {told}");
    assert!(said("una").contains("Mauz"), "another conversation of the same key knows it");
    for other in ["ben", ""] {
        let told = said(other);
        assert!(!told.contains("Mauz"), "{other:?}: {told}");
    }
}

#[test]
fn turns_and_questions_of_chats_are_told_to_other_programs() {
    let push = Say::Calls(vec![("terminal", json!({ "command": "git push --force origin x" }))]);
    let model = Loopback::saying(vec![push, Say::Text("I was not allowed to.")]);
    let (api, (ops, told)) = (BotApi::new(), keeper());
    let home = model.home();
    let config = format!(
        "{}{}gateway:\n  owner: telegram:7\n  webhooks_out:\n    - name: ops\n      url: \
         {ops}/hook\n      secret_env: OPS_SECRET\n      events: [turn_ended, approval_opened, \
         approval_closed]\nterminal:\n  sandbox: off\n",
        model.config(),
        api.config()
    );
    home.write(".petasos/config.yaml", config);
    let _gateway = gateway(&home, &[("OPS_SECRET", OPS_SECRET)]);
    api.message(1, 7, "push it", None);
    let opened = event(&told, "approval_opened")["data"].clone();
    assert!(opened["subject"].as_str().is_some_and(|it| it.contains("git push")), "{opened}");
    let card = &api.sent(1)[0];
    api.message(2, 7, &format!("no {}", number(card)), None);
    let closed = event(&told, "approval_closed")["data"].clone();
    assert_eq!(
        (&closed["approval_id"], &closed["state"]),
        (&opened["approval_id"], &json!("answered"))
    );
    let ended = event(&told, "turn_ended")["data"].clone();
    assert_eq!((&ended["status"], &ended["platform"]), (&json!("completed"), &json!("telegram")));
    assert_eq!(ended["output"], json!("I was not allowed to."), "{ended}");
}
