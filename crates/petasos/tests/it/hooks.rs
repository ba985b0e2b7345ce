//! Webhooks and schedules of a real gateway with chats: what is delivered where, once, and what the
//! chat knows of it afterwards.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::bot_api::{BotApi, TOKEN};
use crate::loopback::{Loopback, Say};
use crate::petasos;
use crate::serve::{KEY, Server};

pub(crate) const SECRET: &str = "the-secret-of-the-test";
const PATIENCE: Duration = Duration::from_mins(1);

/// A delivery as GitLab makes one; status and body of the answer.
pub(crate) fn hook(address: &str, route: &str, delivery: &str, body: &Value) -> (u16, Value) {
    let mut socket = TcpStream::connect(address).expect("a connection");
    let body = body.to_string();
    let head = format!(
        "POST /webhooks/{route} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         X-Gitlab-Token: {SECRET}\r\nX-Gitlab-Event-UUID: {delivery}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).expect("sent");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("an answer");
    let status = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, serde_json::from_str(body).unwrap_or_default())
}

pub(crate) fn gateway(home: &Home, more: &[(&str, &str)]) -> Server {
    let mut variables = vec![
        ("TELEGRAM_BOT_TOKEN", TOKEN),
        ("TELEGRAM_ALLOWED_USERS", "7"),
        ("WEBHOOK_ENABLED", "true"),
        ("WEBHOOK_PORT", "0"),
        ("WEBHOOK_SECRET", SECRET),
    ];
    variables.extend(more);
    Server::start(home, &["gateway", "run"], &variables)
}

#[test]
fn s117_direct_delivery_is_answered_when_it_has_arrived_and_refused_when_it_has_not() {
    let (model, api) = (Loopback::saying(vec![Say::Text("I looked")]), BotApi::new());
    let home = model.home();
    let routes = "platforms:\n  webhook:\n    extra:\n      routes:\n        alarm:\n          \
                  prompt: \"Disk {disk} is full\"\n          deliver: telegram\n          \
                  deliver_extra:\n            chat_id: \"{chat}\"\n          deliver_only: true\n        \
                  triage:\n          prompt: \"Look at {title}\"\n          deliver: \"telegram:7\"\n";
    home.write(".petasos/config.yaml", format!("{}{}{routes}", model.config(), api.config()));
    let gateway = gateway(&home, &[]);
    let at = gateway.address.as_str();
    let alarm = |disk: &str| json!({ "disk": disk, "chat": 7 });
    let (status, told) = hook(at, "alarm", "d1", &alarm("sda"));
    assert_eq!((status, &told["status"]), (200, &json!("delivered")), "{told}");
    let sent = api.sent(1);
    assert_eq!((&sent[0]["chat_id"], &sent[0]["text"]), (&json!("7"), &json!("Disk sda is full")));
    let (status, told) = hook(at, "alarm", "d1", &alarm("sda"));
    assert_eq!((status, &told["status"]), (200, &json!("duplicate")), "{told}");
    api.refuse(403, "Forbidden: bot was blocked by the user");
    let (status, told) = hook(at, "alarm", "d2", &alarm("sdb"));
    assert_eq!((status, &told["error"]["code"]), (502, &json!("delivery_refused")), "{told}");
    let (status, told) = hook(at, "alarm", "d2", &alarm("sdb"));
    assert_eq!((status, &told["status"]), (200, &json!("delivered")), "the next try: {told}");
    assert_eq!(api.sent(2).len(), 2, "nothing is doubled");
    // A payload names neither another place nor a file.
    let (status, _) = hook(at, "alarm", "d3", &json!({ "disk": "x", "chat": "Una's room" }));
    assert_eq!(status, 502);
    let (status, _) = hook(at, "alarm", "d4", &alarm("y\nMEDIA:/etc/passwd"));
    assert_eq!(status, 200);
    assert!(!api.was_called("sendDocument") && api.sent(3).len() == 3);
    assert!(model.asked().is_empty(), "no turn was made");
    let (status, told) = hook(at, "triage", "e1", &json!({ "title": "a crash" }));
    assert_eq!((status, &told["status"]), (202, &json!("accepted")), "{told}");
    let sent = api.sent(4);
    assert_eq!((&sent[3]["chat_id"], &sent[3]["text"]), (&json!("7"), &json!("I looked")));
}

#[test]
fn s130_a_job_speaks_in_its_chat_and_a_reply_has_its_context() {
    let job = json!({
        "action": "create", "schedule": "1s", "name": "Kettle", "prompt": "look after the tea",
        "attach_to_session": true,
    });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("cronjob", job)]),
        Say::Text("I will."),
        Say::Text("The kettle boils."),
        Say::Text("For two minutes."),
    ]);
    let api = BotApi::new();
    let home = model.home();
    home.write(".petasos/config.yaml", format!("{}{}", model.config(), api.config()));
    let _gateway = gateway(&home, &[]);
    api.message(1, 7, "remind me of the kettle", Some(5));
    let sent = api.sent(2);
    let (answer, reminder) = (&sent[0], &sent[1]);
    assert_eq!(answer["text"], "I will.", "{sent:#?}");
    assert!(
        reminder["text"].as_str().is_some_and(|it| it.contains("The kettle boils.")),
        "{sent:#?}"
    );
    for one in [answer, reminder] {
        let place = (&one["chat_id"], &one["message_thread_id"]);
        assert_eq!(place, (&json!("7"), &json!(5)), "in its thread: {one}");
    }
    // The reply comes when the conversation knows what was sent.
    let late = Instant::now() + PATIENCE;
    loop {
        let words =
            ["sessions", "search", "kettle boils", "--role", "assistant", "--all", "--json"];
        let found = petasos(&home).run(&words);
        // Once in the run's own conversation, and once in that of the chat.
        if found.json()["hits"].as_array().is_some_and(|hits| hits.len() >= 2) {
            break;
        }
        assert!(Instant::now() < late, "{}", found.stdout);
        std::thread::sleep(Duration::from_millis(300));
    }
    api.message(2, 7, "for how long?", Some(5));
    let sent = api.sent(3);
    assert_eq!(sent[2]["text"], "For two minutes.");
    let asked = model.asked();
    let last =
        asked.last().expect("a question")["messages"].as_array().cloned().unwrap_or_default();
    let known = last.iter().any(|it| {
        it["role"] == "assistant" && it["content"].to_string().contains("The kettle boils.")
    });
    assert!(known, "{last:#?}");
}

/// A server that keeps what it is sent and answers 201.
pub(crate) fn keeper() -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (send, arrived) = channel();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let mut reader = BufReader::new(socket);
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                    break;
                }
                if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
                    length = number.trim().parse().unwrap_or(0);
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap_or_default();
            let answer = b"HTTP/1.1 201 X\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            reader.get_mut().write_all(answer).unwrap_or_default();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            if send.send((head, body)).is_err() {
                return;
            }
        }
    });
    (url, arrived)
}

/// A job whose target is the other program, made, run and looked at over HTTP.
fn job_over_http(server: &Server, told: &Receiver<(String, Value)>) {
    let job = json!({
        "name": "House", "schedule": "every day at 9", "tz": "Europe/Berlin", "script": "house.sh",
        "no_agent": true, "deliver": "webhook:ops",
    });
    let (status, made) = server.ask("POST", "/api/jobs", KEY, &job);
    assert_eq!(status, 201, "{made}");
    assert_eq!(made["job"]["next_runs"].as_array().map(Vec::len), Some(5), "{made}");
    let id = made["job"]["job_id"].as_str().expect("an id").to_owned();
    let path = |rest: &str| format!("/api/jobs/{id}{rest}");
    let (status, run) = server.ask("POST", &path("/run"), KEY, &Value::Null);
    assert_eq!(status, 202, "{run}");
    let mut events: Vec<Value> = Vec::new();
    for _ in 0..2 {
        let (head, event) = told.recv_timeout(PATIENCE).expect("an event");
        assert!(head.to_lowercase().contains("webhook-signature: v1,"), "{head}");
        events.push(event);
    }
    let of = |kind: &str| events.iter().find(|it| it["type"] == kind).cloned().unwrap_or_default();
    let text = of("message")["data"]["text"].to_string();
    assert!(text.contains("the house stands") && text.contains("House"), "{events:?}");
    assert_eq!(of("cron_finished")["data"]["state"], "succeeded", "{events:?}");
    let (_, runs) = server.ask("GET", &path("/runs"), KEY, &Value::Null);
    assert_eq!(runs["data"][0]["state"], "succeeded", "{runs}");
    let (status, changed) = server.ask("PATCH", &path(""), KEY, &json!({ "schedule": "every 2h" }));
    assert_eq!((status, &changed["job"]["schedule"]), (200, &json!("every 2h")), "{changed}");
    for (method, rest, body, wanted) in [
        ("POST", "/pause", Value::Null, 200),
        ("POST", "/resume", Value::Null, 200),
        ("PATCH", "", json!({ "grants": ["x"] }), 400),
        ("PATCH", "", json!({ "schedule": "whenever" }), 400),
        ("PATCH", "", json!({ "prompt": "x".repeat(5_001) }), 400),
        ("DELETE", "", Value::Null, 200),
        ("GET", "", Value::Null, 404),
    ] {
        let (status, told) = server.ask(method, &path(rest), KEY, &body);
        assert_eq!(status, wanted, "{method} {rest}: {told}");
    }
}

#[test]
fn an_answer_becomes_a_comment_and_a_job_tells_another_program() {
    let model = Loopback::saying(vec![Say::Text("Looks good.")]);
    let (github, comments) = keeper();
    let (ops, told) = keeper();
    let home = model.home();
    home.write(".petasos/scripts/house.sh", "echo the house stands\n");
    home.write(".petasos/scripts/only.sh", "sed 's/secret/***/'\n");
    home.write(
        ".petasos/config.yaml",
        format!(
            "{}gateway:\n  webhooks_out:\n    - name: ops\n      url: {ops}/hook\n      \
             secret_env: OPS_SECRET\n      events: [cron_finished]\nplatforms:\n  webhook:\n    \
             enabled: true\n    extra:\n      port: 0\n      github_api: {github}\n",
            model.config()
        ),
    );
    let variables = [
        ("API_SERVER_KEY", KEY),
        ("WEBHOOK_SECRET", SECRET),
        ("GITHUB_TOKEN", "ghp_0123456789abcdef0123456789abcdef0123"),
        ("OPS_SECRET", SECRET),
    ];
    let server = Server::start(&home, &["serve", "--port", "0"], &variables);
    let hooks = server.line.split("http://").nth(2).and_then(|rest| rest.split('/').next());
    let hooks = hooks.expect("the address of webhooks").to_owned();
    // A route that is made while the server runs.
    let with = |words: &[&str]| {
        let program =
            variables.iter().fold(petasos(&home), |it, (name, value)| it.with(name, value));
        program.run(words)
    };
    let words = "webhook subscribe pulls --deliver github_comment --deliver-extra repo={repo} \
                 --deliver-extra pr_number={number} --script only.sh --json --prompt";
    let words: Vec<&str> = words.split_whitespace().chain(["Review {title}"]).collect();
    let made = with(&words).json();
    let secret = made["secret"].as_str().expect("a secret").to_owned();
    assert_eq!(with(&words).code, Some(1), "once");
    let listed = with(&["webhook", "list", "--json"]).json();
    assert_eq!(listed["subscribed"], json!(["pulls"]), "{listed}");
    assert!(!listed.to_string().contains(&secret));
    let body = json!({ "title": "a secret change", "repo": "una/tool", "number": 12 });
    let (status, _) = hook(&hooks, "pulls", "p1", &body);
    assert_eq!(status, 401, "another secret");
    let signed = |body: &Value| {
        let mut socket = TcpStream::connect(&hooks).expect("a connection");
        let body = body.to_string();
        let head = format!(
            "POST /webhooks/pulls HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             X-Gitlab-Token: {secret}\r\nX-Gitlab-Event-UUID: {}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len(),
            body.len()
        );
        socket.write_all(head.as_bytes()).expect("sent");
        let mut text = String::new();
        socket.read_to_string(&mut text).expect("an answer");
        text
    };
    let evil = signed(&json!({ "title": "x", "repo": "una/tool/../../x", "number": "1/../2" }));
    assert!(evil.starts_with("HTTP/1.1 502"), "{evil}");
    let good = signed(&body);
    assert!(good.starts_with("HTTP/1.1 202"), "{good}");
    let (head, comment) = comments.recv_timeout(PATIENCE).expect("a comment");
    assert!(head.starts_with("POST /repos/una/tool/issues/12/comments "), "{head}");
    assert!(head.to_lowercase().contains("authorization: bearer ghp_"), "{head}");
    assert_eq!(comment, json!({ "body": "Looks good." }));
    let prompt = model.asked()[0]["messages"].to_string();
    assert!(prompt.contains("a *** change"), "the script saw it first: {prompt}");
    job_over_http(&server, &told);
    let mirror = std::fs::read_to_string(home.user().join(".petasos/cron/jobs.json"));
    assert!(mirror.is_ok_and(|text| text.contains("\"mirror\": true")), "jobs are mirrored");
}

/// One request to a Matrix server, as somebody.
fn matrix(server: &str, token: &str, (method, path): (&str, &str), body: &Value) -> Value {
    let address = server.trim_start_matches("http://").trim_end_matches('/');
    let mut socket = TcpStream::connect(address).expect("the server");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    // The old version of the protocol, so that nothing comes in chunks.
    let head = format!(
        "{method} /_matrix/client/v3/{path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer \
         {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).expect("sent");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("an answer");
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).unwrap_or_default()
}

/// A gateway in one Matrix room, and a model that lets somebody be reminded of a kettle. It is asked
/// by what is said to it: others write to the same account.
fn kettle(server: &str, bot: &str, room: &str) -> (Loopback, Home, Server) {
    let job = json!({
        "action": "create", "schedule": "6s", "name": "Kettle", "prompt": "look after the tea",
        "attach_to_session": true,
    });
    let model = Loopback::answering(move |request| {
        let all = request["messages"].as_array().cloned().unwrap_or_default();
        let last = all.last().cloned().unwrap_or_default();
        let words = last["content"].to_string();
        match () {
            () if last["role"] == "tool" => Say::Text("I will remind you."),
            () if words.contains("remind me of") => Say::Calls(vec![("cronjob", job.clone())]),
            () if words.contains("look after the tea") => Say::Text("The kettle boils."),
            () if words.contains("for how long") => Say::Text("For two minutes."),
            () => Say::Text("Somebody else is meant."),
        }
    });
    let home = model.home();
    let config = format!("{}matrix:\n  require_mention: false\n", model.config());
    home.write(".petasos/config.yaml", config);
    let variables = [
        ("MATRIX_HOMESERVER", server),
        ("MATRIX_ACCESS_TOKEN", bot),
        ("MATRIX_USER_ID", "@bot:localhost"),
        ("MATRIX_ALLOWED_USERS", "@person:localhost"),
        ("MATRIX_ALLOWED_CHATS", room),
        ("API_SERVER_KEY", KEY),
        ("API_SERVER_ENABLED", "true"),
        ("API_SERVER_PORT", "0"),
    ];
    let gateway = Server::start(&home, &["gateway", "run"], &variables);
    (model, home, gateway)
}

#[expect(clippy::disallowed_methods, reason = "services are named by variables")]
#[test]
fn s130_a_job_speaks_in_its_thread_of_a_real_matrix_room() {
    let get = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (Some(server), Some(person), Some(bot)) =
        (get("MATRIX_HOMESERVER"), get("MATRIX_PERSON_TOKEN"), get("MATRIX_BOT_TOKEN"))
    else {
        return petasos_testkit::skip("s130_matrix", "synapse", "MATRIX_HOMESERVER is not set");
    };
    let ask = |how: (&str, &str), body: Value| matrix(&server, &person, how, &body);
    let wish = json!({ "preset": "private_chat", "invite": ["@bot:localhost"] });
    let room = ask(("POST", "createRoom"), wish)["room_id"].as_str().expect("a room").to_owned();
    let (model, home, _gateway) = kettle(&server, &bot, &room);
    let room = room.replace('!', "%21").replace(':', "%3A");
    let say = |number: u32, thread: Option<&str>, text: &str| {
        let mut body = json!({ "msgtype": "m.text", "body": text });
        if let Some(thread) = thread {
            body["m.relates_to"] = json!({ "rel_type": "m.thread", "event_id": thread });
        }
        let path = format!("rooms/{room}/send/m.room.message/t{number}");
        ask(("PUT", &path), body)["event_id"].as_str().expect("an event").to_owned()
    };
    let late = Instant::now() + PATIENCE * 2;
    let joined = format!("rooms/{room}/joined_members");
    while ask(("GET", &joined), Value::Null)["joined"].get("@bot:localhost").is_none() {
        assert!(Instant::now() < late, "the bot comes");
        std::thread::sleep(Duration::from_millis(100));
    }
    let heard = |part: &str| loop {
        let path = format!("rooms/{room}/messages?dir=b&limit=50");
        let found = ask(("GET", &path), Value::Null);
        let all = found["chunk"].as_array().cloned().unwrap_or_default();
        let hit = all.into_iter().find(|it| {
            it["sender"] == "@bot:localhost" && it["content"]["body"].to_string().contains(part)
        });
        if let Some(hit) = hit {
            break hit;
        }
        assert!(Instant::now() < late, "not heard: {part}: {found}");
        std::thread::sleep(Duration::from_millis(100));
    };
    let root = ask(
        ("PUT", &format!("rooms/{room}/send/m.reaction.seed/t0")),
        json!({ "about": "the beginning of a thread" }),
    )["event_id"]
        .as_str()
        .expect("an event")
        .to_owned();
    say(1, Some(&root), "remind me of the kettle");
    let answer = heard("I will remind you.");
    let reminder = heard("The kettle boils.");
    for one in [&answer, &reminder] {
        let relation = &one["content"]["m.relates_to"];
        let place = (&relation["rel_type"], &relation["event_id"]);
        assert_eq!(place, (&json!("m.thread"), &json!(root)), "in its thread: {one}");
    }
    loop {
        let words =
            ["sessions", "search", "kettle boils", "--role", "assistant", "--all", "--json"];
        let found = petasos(&home).run(&words);
        if found.json()["hits"].as_array().is_some_and(|hits| hits.len() >= 2) {
            break;
        }
        assert!(Instant::now() < late, "{}", found.stdout);
        std::thread::sleep(Duration::from_millis(300));
    }
    say(2, Some(&root), "for how long?");
    heard("For two minutes.");
    let asked = model.asked();
    let mut all = asked.iter().map(|it| it["messages"].to_string());
    let last = all.rfind(|it| it.contains("for how long?")).expect("a question");
    assert!(last.contains("The kettle boils."), "{last}");
}
