//! Scheduled runs of the real program where something goes wrong: limits that end whole trees of
//! processes, keys that stay with their host, toolsets that do not widen, what chats hear of it, and
//! a death between a run and its delivery.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use petasos_testkit::{Finished, Home};
use serde_json::{Value, json};

use crate::bot_api::{BotApi, TOKEN};
use crate::cron::{Daemon, topics, under_at};
use crate::hooks::gateway;
use crate::listeners::number;
use crate::loopback::{Loopback, Say};
use crate::petasos;
use crate::serve::{KEY, Server};

const PATIENCE: Duration = Duration::from_mins(1);

fn cron(home: &Home, arguments: &[&str]) -> Finished {
    petasos(home).run(&[&["cron"], arguments].concat())
}

/// Makes a job; gives its id.
fn made(home: &Home, arguments: &[&str]) -> String {
    let made = cron(home, &[&["create"], arguments, &["--json"]].concat());
    let id = made.json()["job"]["job_id"].as_str().map(str::to_owned);
    id.unwrap_or_else(|| unreachable!("{} {}", made.stdout, made.stderr))
}

/// Waits until it is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let late = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < late, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether any process works in this folder.
fn is_anybody_in(folder: &Path) -> bool {
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    all.filter_map(|it| std::fs::read_link(it.path().join("cwd")).ok()).any(|it| it == folder)
}

/// Whether the process whose number stands in this file lives.
fn lives(file: &Path) -> bool {
    let number = std::fs::read_to_string(file).unwrap_or_default();
    assert!(!number.trim().is_empty(), "it was never started");
    let status = std::fs::read_to_string(format!("/proc/{}/status", number.trim()));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

#[test]
fn s126_a_limit_ends_everything_that_a_run_has_started() {
    let tree = "tail -f /dev/null | cat";
    for (limit, word) in [("cron.timeout=0", "longer than 3 s"), ("cron.timeout=2", "nothing")] {
        let command = json!({ "command": tree });
        let model = Loopback::saying(vec![Say::Calls(vec![("terminal", command)])]);
        let home = model.home();
        let id = made(&home, &["every 1h", "work", "--timeout", "3"]);
        let ran = cron(&home, &["run", &id, "--set", limit, "--set", "terminal.sandbox=off"]);
        assert_eq!(ran.code, Some(1), "{} {:#?}", ran.stdout, model.asked().last());
        assert!(ran.stderr.contains("timed_out") && ran.stderr.contains(word), "{}", ran.stderr);
        let here = home.workspace();
        until("the tree of a command ends", || !is_anybody_in(&here));
    }
    let home = Home::temp();
    let child = home.workspace().join("child");
    let text = format!("sleep 300 &\necho $! > '{}'\nsleep 300\n", child.display());
    home.write(".petasos/scripts/slow.sh", text);
    let id = made(&home, &["every 1h", "--script", "slow.sh", "--no-agent"]);
    let limits = ["--set", "cron.script_timeout_seconds=2", "--set", "terminal.sandbox=off"];
    let ran = cron(&home, &[&["run", id.as_str()][..], &limits].concat());
    assert!(ran.stderr.contains("took too long"), "{}", ran.stderr);
    until("the tree of a script ends", || !lives(&child));
}

#[test]
fn s127_a_key_is_not_carried_to_another_host_whenever_that_is_tried() {
    let home = Home::temp();
    let at = |host: &str, arguments: &[&str]| {
        let program = petasos(&home).with("DEEPSEEK_API_KEY", "sk-of-the-test-0123456789abcdef");
        let program = program.with("DEEPSEEK_BASE_URL", host);
        program.run(&[&["cron"], arguments].concat())
    };
    let pinned = ["--provider", "deepseek", "--model", "deepseek-chat"];
    let job = [&["create", "every 1h", "say hello", "--name", "Pinned", "--json"][..], &pinned];
    let made = at("https://api.deepseek.com/v1", &job.concat());
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    // The key of the environment belongs to its provider's own hosts.
    let with = |arguments: &[&str]| at("https://elsewhere.invalid/v1", arguments);
    let again = [&["create", "every 1h", "say hello", "--name", "Again"][..], &pinned].concat();
    for words in [&again[..], &["edit", "Pinned", "--model", "deepseek-reasoner"]] {
        let refused = with(words);
        assert_eq!(refused.code, Some(1), "{words:?}: {} {}", refused.stdout, refused.stderr);
        assert!(refused.stderr.contains("elsewhere.invalid"), "{}", refused.stderr);
    }
    let held = with(&["run", "Pinned"]);
    assert_eq!(held.code, Some(1), "{}", held.stdout);
    let job = with(&["show", "Pinned", "--json"]).json();
    assert_eq!(job["state"], json!("held"), "{job} {}", held.stderr);
    let runs = with(&["logs", "Pinned", "--json"]).json();
    let run = &runs["runs"][0];
    assert_eq!((&run["state"], &run["session_id"]), (&json!("skipped"), &Value::Null), "{runs}");
}

#[test]
fn s128_a_chat_hears_what_is_new_and_every_failure_once_and_not_what_is_silent() {
    let (model, api) = (
        Loopback::saying(vec![
            Say::Text("The house stands."),
            Say::Text("[SILENT]\nNothing new."),
            Say::Text("Nothing new: I do not say [SILENT] here."),
        ]),
        BotApi::new(),
    );
    let home = model.home();
    home.write(".petasos/config.yaml", format!("{}{}", model.config(), api.config()));
    home.write(".petasos/scripts/bad.sh", "exit 4\n");
    let with = |arguments: &[&str]| {
        let program = petasos(&home).with("TELEGRAM_BOT_TOKEN", TOKEN);
        program.run(&[&["cron"], arguments].concat())
    };
    let job = |words: &[&str]| {
        let words = [&["create", "every 1h"], words, &["--deliver", "telegram:7", "--json"]];
        let made = with(&words.concat()).json();
        made["job"]["job_id"].as_str().expect("an id").to_owned()
    };
    let last = |id: &str| {
        let told = with(&["logs", id, "--json"]).json();
        let last = told["runs"].as_array().and_then(|runs| runs.last().cloned());
        let last = last.unwrap_or_default();
        (last["state"].clone(), last["delivery"].clone())
    };
    let good = job(&["look after the house", "--name", "House"]);
    for (delivery, sent) in [("delivered", 1), ("silent", 1), ("delivered", 2)] {
        with(&["run", &good]);
        assert_eq!(last(&good), (json!("succeeded"), json!(delivery)));
        assert_eq!(api.sent(sent).len(), sent);
    }
    let words = api.sent(2)[0]["text"].to_string();
    assert!(words.contains("The house stands.") && words.contains("House"), "{words}");
    // Its page says who answered, for how much, and where the reply went.
    let runs = with(&["logs", &good, "--json"]).json();
    let page = with(&["logs", "--run", runs["runs"][0]["run_id"].as_str().unwrap_or_default()]);
    let page = page.stdout;
    let wanted = ["session   cron_", "model     double from", "cost      $", "delivery  telegram"];
    assert!(wanted.iter().all(|it| page.contains(it)), "{page}");
    // A failure is told, and its repetitions once a day.
    let bad = job(&["--script", "bad.sh", "--no-agent", "--name", "Bad"]);
    for _ in 0..3 {
        with(&["run", &bad]);
        assert_eq!(last(&bad).0, json!("failed"));
    }
    let sent = api.sent(3);
    assert_eq!(sent.len(), 3, "{sent:#?}");
    assert!(sent[2]["text"].to_string().contains("This run failed"), "{sent:#?}");
    // What was not delivered was a good run all the same.
    api.refuse(403, "Forbidden: bot was blocked by the user");
    with(&["run", &good]);
    assert_eq!(last(&good), (json!("succeeded"), json!("failed")));
}

#[test]
fn s131_a_job_has_no_toolset_that_the_settings_took_away() {
    let model = Loopback::saying(vec![Say::Text("done"), Say::Text("done")]);
    let home = model.home();
    let config = format!("{}agent:\n  disabled_toolsets: [terminal]\n", model.config());
    home.write(".petasos/config.yaml", config);
    let wide = "terminal,file,cronjob,clarify,messaging";
    for more in [&["--toolsets", wide][..], &["--toolsets", "all"]] {
        let made = cron(&home, &[&["create", "every 1h", "work", "--json"], more].concat());
        let Some(id) = made.json()["job"]["job_id"].as_str().map(str::to_owned) else {
            assert_eq!(made.code, Some(1), "it is refused: {} {}", made.stdout, made.stderr);
            continue;
        };
        let ran = cron(&home, &["run", &id]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let asked = model.asked();
    assert!(!asked.is_empty(), "one of them runs");
    for request in asked {
        let tools = request["tools"].to_string();
        assert!(tools.contains("\"read_file\""), "{tools}");
        for name in ["terminal", "process", "cronjob", "clarify", "send_message"] {
            assert!(!tools.contains(&format!("\"name\":\"{name}\"")), "{name}: {tools}");
        }
    }
}

/// Another program: the first delivery gets no answer, the others 200. Their heads and bodies.
fn forgetful() -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (send, arrived) = channel();
    std::thread::spawn(move || {
        let mut unanswered = Vec::new();
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
            if unanswered.is_empty() {
                unanswered.push(reader);
            } else {
                let answer = b"HTTP/1.1 200 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                reader.get_mut().write_all(answer).unwrap_or_default();
            }
            let body = serde_json::from_slice(&body).unwrap_or_default();
            if send.send((head, body)).is_err() {
                return;
            }
        }
    });
    (url, arrived)
}

fn header(head: &str, name: &str) -> String {
    let line = head.lines().find(|line| line.to_lowercase().starts_with(name));
    line.and_then(|line| line.split_once(": ")).map(|it| it.1.to_owned()).expect("a header")
}

#[test]
fn s123_a_death_between_a_run_and_its_delivery_repeats_the_delivery_and_not_the_run() {
    let (url, arrived) = forgetful();
    let model = Loopback::saying(Vec::new());
    let home = model.home();
    let config = format!(
        "{}gateway:\n  webhooks_out:\n    - name: ops\n      url: {url}/hook\n      secret_env: \
         OPS_SECRET\n      events: [account_state]\nterminal:\n  sandbox: off\n",
        model.config()
    );
    home.write(".petasos/config.yaml", config);
    home.write(".petasos/.env", "OPS_SECRET=the-secret-of-the-test\n");
    let list = home.workspace().join("list");
    let text = format!("echo ran >> '{}'\necho the house stands\n", list.display());
    home.write(".petasos/scripts/house.sh", text);
    let job = ["1s", "--script", "house.sh", "--no-agent", "--misfire", "once"];
    made(&home, &[&job[..], &["--deliver", "webhook:ops", "--name", "House"]].concat());
    let daemon = Daemon::start(&home);
    let (first, _) = arrived.recv_timeout(PATIENCE).expect("the delivery leaves");
    // The run is stored, and nobody has said yet that its reply arrived.
    let told = cron(&home, &["logs", "--json"]).json();
    assert_eq!(told["runs"][0]["state"], json!("succeeded"), "{told}");
    drop(daemon);
    let variables = [("API_SERVER_KEY", KEY)];
    let server = Server::start(&home, &["serve", "--port", "0"], &variables);
    let (second, body) = arrived.recv_timeout(PATIENCE).expect("it leaves again");
    assert_eq!(header(&first, "webhook-id"), header(&second, "webhook-id"), "known by its name");
    assert!(body["data"]["text"].to_string().contains("the house stands"), "{body}");
    for _ in 0..2 {
        assert_eq!(cron(&home, &["tick"]).code, Some(0));
    }
    until("the delivery is known to have arrived", || {
        cron(&home, &["logs", "--json"]).json()["runs"][0]["delivery"] == "delivered"
    });
    drop(server);
    let runs = cron(&home, &["logs", "--json"]).json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs}");
    assert_eq!(std::fs::read_to_string(&list).unwrap_or_default(), "ran\n", "it ran once");
    assert!(arrived.try_recv().is_err(), "and nothing more is sent");
}

#[test]
fn s132_the_next_instants_of_another_agents_file_stay_but_where_it_was_wrong() {
    // What the other agent wrote as its next instant, and what is right: they differ only where the
    // clock is changed in between, which it counted wrong.
    let cron = |expression: &str| json!({ "kind": "cron", "expr": expression });
    let hourly = json!({ "kind": "interval", "minutes": 60 });
    let once = json!({ "kind": "once", "run_at": "2026-10-25T02:30:00+02:00" });
    let rows = [
        ("daily", cron("0 9 * * *"), "2026-10-24T09:00:00+02:00", None),
        ("night", cron("30 2 * * *"), "2026-10-24T02:30:00+02:00", None),
        ("quarter", cron("*/15 * * * *"), "2026-10-23T12:15:00+02:00", None),
        ("interval", hourly, "2026-10-23T12:07:00+02:00", None),
        ("once", once, "2026-10-25T02:30:00+02:00", None),
        (
            "weekday",
            cron("0 9 * * 1-5"),
            "2026-10-26T10:00:00+01:00",
            Some("2026-10-26T09:00:00+01:00"),
        ),
        (
            "monthly",
            cron("0 0 31 * *"),
            "2026-10-31T01:00:00+01:00",
            Some("2026-10-31T00:00:00+01:00"),
        ),
    ];
    let jobs = rows.iter().enumerate().map(|(number, (name, schedule, next, _))| {
        json!({ "id": format!("{number:012x}"), "name": name, "prompt": "hello", "enabled": true,
            "schedule": schedule, "next_run_at": next, "deliver": "local" })
    });
    let home = Home::temp();
    home.write(".petasos/config.yaml", "timezone: Europe/Berlin\n");
    home.write(".petasos/cron/jobs.json", json!({ "jobs": jobs.collect::<Vec<_>>() }).to_string());
    let Some(done) = under_at("2026-10-23 10:03:00", &home, &["import"]) else {
        return petasos_testkit::skip("s132", "faketime", "faketime is not installed");
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for (name, _, theirs, right) in &rows {
        let shown = under_at("2026-10-23 10:03:00", &home, &["show", name, "--json"]);
        let shown = shown.expect("it was there before");
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
        assert_eq!(shown["next_run_at"], json!(right.unwrap_or(theirs)), "{name}: {shown}");
    }
}

#[test]
fn what_would_be_asked_is_explained_with_its_answer() {
    let model = Loopback::saying(Vec::new());
    let home = model.home();
    let id = made(&home, &["every 1h", "push it", "--grants", "git force push"]);
    let explained = |more: &[&str]| {
        let words = [&["explain", id.as_str(), "--json"], more].concat();
        let told = cron(&home, &words).json();
        let answer = |rule: &str| {
            let all = told["asked"].as_array().cloned().unwrap_or_default();
            let found = all.into_iter().find(|it| it["rule"] == rule);
            found.map(|it| it["answer"].clone()).unwrap_or_default()
        };
        let rules = told["asked"].as_array().map_or(0, Vec::len);
        (rules, answer("git force push"), answer("git discard of work"), told.to_string())
    };
    let (rules, push, reset, told) = explained(&[]);
    assert!(rules > 20, "{told}");
    assert_eq!((push, reset), (json!("granted"), json!("denied")), "{told}");
    let (_, push, reset, _) = explained(&["--set", "approvals.cron_mode=approve"]);
    assert_eq!((push, reset), (json!("granted"), json!("allowed")));
    let shown = cron(&home, &["explain", &id]).stdout;
    assert!(shown.contains("granted   1 rules: git force push"), "{shown}");
    assert!(model.asked().is_empty(), "nothing runs");
    let quiet = made(&home, &["every 1h", "read", "--toolsets", "file"]);
    let told = cron(&home, &["explain", &quiet, "--json"]).json();
    assert_eq!(told["asked"], json!([]), "a run without commands asks nothing: {told}");
}

#[test]
fn a_scheduled_run_is_asked_about_in_the_chat_that_is_named() {
    let push = json!({ "command": "git push --force origin x" });
    let model = Loopback::saying(vec![Say::Calls(vec![("terminal", push)]), Say::Text("I tried.")]);
    let api = BotApi::new();
    let home = model.home();
    let config = format!(
        "{}{}approvals:\n  route_to: telegram:7\ngateway:\n  owner: telegram:7\nterminal:\n  \
         sandbox: off\n",
        model.config(),
        api.config()
    );
    home.write(".petasos/config.yaml", config);
    let _gateway = gateway(&home, &[]);
    made(&home, &["1s", "push it", "--name", "Push"]);
    let card = &api.sent(1)[0];
    let text = card["text"].as_str().unwrap_or_default();
    assert!(text.contains("git push") && text.contains("consent"), "{card}");
    api.message(1, 7, &format!("yes {}", number(card)), None);
    until("the run ends", || {
        cron(&home, &["logs", "Push", "--json"]).json()["runs"][0]["state"] == "succeeded"
    });
    let last = model.asked().last().expect("a question")["messages"].to_string();
    assert!(last.contains("not a git repository"), "it was run: {last}");
}

#[test]
fn the_file_of_jobs_knows_every_run_though_many_end_together() {
    let home = Home::temp();
    home.write(".petasos/scripts/good.sh", "true\n");
    for number in 0..6 {
        let name = format!("job {number}");
        made(&home, &["1s", "--script", "good.sh", "--no-agent", "--name", &name]);
    }
    let _daemon = Daemon::start(&home);
    let ended = || {
        let text = std::fs::read_to_string(home.user().join(".petasos/cron/jobs.json"));
        let file: Value = serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
        let all = file["jobs"].as_array().cloned().unwrap_or_default();
        all.iter().filter(|job| job["last_status"] == "succeeded").count()
    };
    until("each of them is in the file while the scheduler runs", || ended() == 6);
}

#[test]
fn s118_what_another_program_refused_for_good_is_listed() {
    let home = Home::temp();
    home.write(".petasos/scripts/good.sh", "echo the house stands\n");
    home.write(".petasos/.env", "OPS_SECRET=the-secret-of-the-test\n");
    let (gone, heard) = topics(410);
    let config = format!(
        "gateway:\n  webhooks_out:\n    - name: ops\n      url: {gone}/hook\n      secret_env: \
         OPS_SECRET\n      events: [account_state]\n"
    );
    home.write(".petasos/config.yaml", config);
    let words = ["every 1h", "--script", "good.sh", "--no-agent", "--deliver", "webhook:ops"];
    let id = made(&home, &words);
    cron(&home, &["run", &id]);
    let runs = cron(&home, &["logs", "--json"]).json();
    let run = &runs["runs"][0];
    let told = cron(&home, &["logs", &id]).stdout;
    let named = format!("run {}", run["run_id"].as_str().unwrap_or("?"));
    assert!(told.contains(&named) && told.contains("The newest run:"), "{told}");
    assert_eq!(
        (&run["state"], &run["delivery"]),
        (&json!("succeeded"), &json!("failed")),
        "{runs}"
    );
    assert_eq!(heard.lock().expect("nobody panics").len(), 1, "410 is told once");
    let listed = petasos(&home).run(&["gateway", "outbox", "list"]);
    assert!(listed.stdout.contains("410") && listed.stdout.contains("ops"), "{}", listed.stdout);
}
