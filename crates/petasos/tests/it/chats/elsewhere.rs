//! Chats whose commands run in a container or on another machine.

use petasos_testkit::Home;
use serde_json::json;

use super::{files_with, told_in_order};
use crate::bot_api::{BotApi, TOKEN};
use crate::loopback::{Loopback, Say};
use crate::serve::Server;

#[expect(clippy::disallowed_methods, reason = "a service tells its place by variables")]
fn service(test: &str, component: &str, names: &[&str]) -> Option<Vec<String>> {
    let told: Option<Vec<String>> = names.iter().map(|name| std::env::var(name).ok()).collect();
    if told.is_none() {
        petasos_testkit::skip(test, component, "it does not run");
    }
    told
}

fn gateway(home: &Home, docker: &str) -> Server {
    let variables = [
        ("TELEGRAM_BOT_TOKEN", TOKEN),
        ("TELEGRAM_ALLOWED_USERS", "7"),
        ("DOCKER_HOST", docker),
        ("WEBHOOK_ENABLED", "true"),
        ("WEBHOOK_PORT", "0"),
        ("WEBHOOK_SECRET", "the-secret-of-the-test"),
        ("NO_COLOR", "1"),
    ];
    Server::start(home, &["gateway", "run"], &variables)
}

/// Makes files where commands run, and sends them: one that may go, a link that leads away, and one
/// that is somewhere else altogether.
fn maker() -> Loopback {
    let make = "mkdir -p /tmp/made && echo 'made over there' > /tmp/made/letter.txt && \
                ln -sf /etc/passwd /tmp/made/link.txt";
    told_in_order(vec![
        Say::Calls(vec![("terminal", json!({ "command": make }))]),
        Say::Text(
            "Here it is.\n\nMEDIA:/tmp/made/letter.txt\nMEDIA:/tmp/made/link.txt\nMEDIA:/etc/hostname",
        ),
    ])
}

fn arrives(terminal: &str, docker: &str) {
    let (model, api) = (maker(), BotApi::new());
    let home = model.home();
    let more = format!("approvals:\n  mode: \"off\"\nterminal:\n{terminal}");
    home.write(".petasos/config.yaml", format!("{}{}{more}", model.config(), api.config()));
    let _running = gateway(&home, docker);
    api.message(1, 7, "write me a letter", None);
    let form = api.first("sendDocument");
    assert!(form.contains("made over there") && form.contains("letter.txt"), "{form:.600}");
    api.until("words about the others", |calls| {
        calls.iter().filter(|it| it.1.to_string().contains("file not sent")).count() == 2
    });
    let sent = api.calls().iter().map(|it| it.1.to_string()).collect::<String>();
    assert!(!sent.contains("root:x:0"), "what a link leads to is not sent");
    assert!(files_with(&home.agent(), b"root:x:0").is_empty(), "nor fetched");
}

#[test]
fn s56_a_file_that_was_made_in_a_container_arrives() {
    let name = "a_file_that_was_made_in_a_container_arrives";
    let Some(told) = service(name, "docker", &["PETASOS_TEST_DOCKER_DOCKER_HOST"]) else { return };
    let place = "  backend: docker\n  docker_image: petasos-test:latest\n  \
                 container_persistent: false\n";
    arrives(place, &told[0]);
}

#[test]
fn s56_a_file_that_was_made_over_ssh_arrives() {
    let name = "a_file_that_was_made_over_ssh_arrives";
    let wanted = ["HOST", "PORT", "USER", "KEY", "CONFIG"];
    let wanted = wanted.map(|end| format!("PETASOS_TEST_SSHD_SSH_{end}"));
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let Some(told) = service(name, "sshd", &wanted) else { return };
    let [host, port, user, key, config] = told.as_slice() else { return };
    let place = format!(
        "  backend: ssh\n  ssh_host: {host}\n  ssh_port: {port}\n  ssh_user: {user}\n  \
         ssh_key: {key}\n  ssh_config: {config}\n"
    );
    arrives(&place, "unix:///nonexistent");
}

#[test]
fn a_picture_that_came_is_where_commands_run() {
    let name = "a_picture_that_came_is_where_commands_run";
    let Some(told) = service(name, "docker", &["PETASOS_TEST_DOCKER_DOCKER_HOST"]) else { return };
    let model = told_in_order(vec![Say::Text("a dot")]);
    let api = BotApi::new();
    let home = model.home();
    let more = "approvals:\n  mode: \"off\"\nterminal:\n  backend: docker\n  docker_image: \
                petasos-test:latest\n  container_persistent: false\n";
    home.write(".petasos/config.yaml", format!("{}{}{more}", model.config(), api.config()));
    let _running = gateway(&home, &told[0]);
    api.photo(1, 7, "what is this?");
    api.until("an answer", |calls| calls.iter().any(|it| it.1["text"] == "a dot"));
    let asked = model.asked().iter().map(|it| it["messages"].to_string()).collect::<String>();
    assert!(asked.contains("for commands,") && asked.contains("is /tmp/"), "{asked:.900}");
}
