//! `petasos serve` from outside: what it refuses to start with, tokens, and turns over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::petasos;

pub(crate) const KEY: &str = "key-of-the-test-0123456789";

/// The program as a server; it ends with the test.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// What it said when it was ready.
    pub(crate) line: String,
}

impl Server {
    /// Starts it and waits until it says where it listens.
    pub(crate) fn start(home: &Home, words: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::started(home, words, variables, Stdio::inherit())
    }

    /// The same with what it says on the side led elsewhere.
    #[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
    pub(crate) fn started(
        home: &Home,
        words: &[&str],
        variables: &[(&str, &str)],
        stderr: Stdio,
    ) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_petasos"))
            .args(words)
            .env_clear()
            .env("HOME", home.user())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(variables.iter().copied())
            .current_dir(home.workspace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the program starts");
        let (told, ready) = std::sync::mpsc::channel();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = stdout.read_line(&mut line);
            told.send(read.map(|_| line)).unwrap_or_default();
        });
        let line = ready.recv_timeout(Duration::from_mins(2));
        let line = line.unwrap_or_else(|_| {
            child.kill().unwrap_or_default();
            unreachable!("{words:?} is not ready after two minutes")
        });
        let line = line.expect("a line");
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| unreachable!("no address in {line:?}")).to_owned();
        Self { child, address, line }
    }

    /// One request; status and body.
    pub(crate) fn ask(&self, method: &str, path: &str, key: &str, body: &Value) -> (u16, Value) {
        let mut socket = TcpStream::connect(&self.address).expect("a connection");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {key}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.set_read_timeout(Some(Duration::from_mins(5))).expect("a limit");
        socket.write_all(head.as_bytes()).expect("sent");
        let mut text = String::new();
        socket.read_to_string(&mut text).expect("an answer");
        let status = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    /// A request whose answer is read as it comes, head first; with these further header lines.
    pub(crate) fn open(
        &self,
        method: &str,
        path: &str,
        more: &str,
        body: &Value,
    ) -> BufReader<TcpStream> {
        let mut socket = TcpStream::connect(&self.address).expect("a connection");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {KEY}\r\nContent-Type: application/json\r\n{more}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(head.as_bytes()).expect("sent");
        BufReader::new(socket)
    }

    /// Ends it as a power cut does.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ended");
    }

    pub(crate) fn say(&self, key: &str, text: &str) -> (u16, Value) {
        let body = json!({ "messages": [{ "role": "user", "content": text }] });
        self.ask("POST", "/v1/chat/completions", key, &body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

#[test]
fn s109_t18_without_a_key_or_with_a_bad_one_it_does_not_start() {
    let home = Home::temp();
    let none = petasos(&home).run(&["serve", "--port", "0"]);
    assert_eq!(none.code, Some(78), "{}", none.stderr);
    assert!(none.stderr.contains("petasos serve token create"), "{}", none.stderr);
    let short = petasos(&home).with("API_SERVER_KEY", "short-key").run(&["serve", "--port", "0"]);
    assert_eq!(short.code, Some(78), "{}", short.stderr);
    assert!(!short.stderr.contains("short-key"), "{}", short.stderr);
    home.write(".petasos/config.yaml", "terminal:\n  sandbox: off\n");
    let open = petasos(&home)
        .with("API_SERVER_KEY", KEY)
        .run(&["serve", "--port", "0", "--host", "0.0.0.0"]);
    assert_eq!(open.code, Some(78), "{}", open.stderr);
    assert!(open.stderr.contains("allow_unsandboxed"), "{}", open.stderr);
}

#[test]
fn s110_a_port_that_is_taken_ends_the_start_at_once() {
    let home = Home::temp();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let refused =
        petasos(&home).with("API_SERVER_KEY", KEY).run(&["serve", "--port", port.as_str()]);
    assert_eq!(refused.code, Some(78), "{}", refused.stderr);
    assert!(refused.stderr.contains("cannot listen"), "{}", refused.stderr);
}

#[test]
fn a_token_is_shown_once_and_let_in_until_it_is_taken_back() {
    let model = Loopback::saying(vec![Say::Text("Hello over HTTP.")]);
    let home = model.home();
    let made = petasos(&home).run(&["serve", "token", "create", "laptop", "--scopes", "chat"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let token = made.stdout.trim().to_owned();
    assert!(token.starts_with("pts_") && token.len() > 40, "{token}");
    let listed = petasos(&home).run(&["serve", "token", "list"]);
    assert!(
        listed.stdout.contains("laptop") && !listed.stdout.contains(&token),
        "{}",
        listed.stdout
    );
    let twice = petasos(&home).run(&["serve", "token", "create", "laptop"]);
    assert_eq!(twice.code, Some(1));
    let odd = petasos(&home).run(&["serve", "token", "create", "x", "--scopes", "everything"]);
    assert_eq!(odd.code, Some(2), "{}", odd.stderr);
    let server = Server::start(&home, &["serve", "--port", "0"], &[]);
    let (status, said) = server.say(&token, "hello");
    assert_eq!(
        (status, &said["choices"][0]["message"]["content"]),
        (200, &"Hello over HTTP.".into()),
        "{said}"
    );
    assert_eq!(server.ask("GET", "/metrics", &token, &Value::Null).0, 403);
    let gone = petasos(&home).run(&["serve", "token", "revoke", "laptop"]);
    assert_eq!(gone.code, Some(0), "{}", gone.stderr);
    assert_eq!(server.say(&token, "hello").0, 401);
}

#[test]
fn a_turn_is_unattended_and_confined() {
    let command = |command: &str| Say::Calls(vec![("terminal", json!({ "command": command }))]);
    let model = Loopback::saying(vec![
        command("echo inside > made.txt; echo outside > ../outside.txt; ls"),
        command("git push --force"),
        Say::Text("done"),
    ]);
    let home = model.home();
    // The folder of the test is below the temp folder, which a confined command may write.
    let temp = home.workspace().join("temp").display().to_string();
    std::fs::create_dir(&temp).expect("a folder");
    let variables = [("API_SERVER_KEY", KEY), ("TMPDIR", temp.as_str())];
    let server = Server::start(&home, &["serve", "--port", "0"], &variables);
    let (status, said) = server.say(KEY, "try");
    assert_eq!(
        (status, &said["choices"][0]["message"]["content"]),
        (200, &"done".into()),
        "{said}"
    );
    assert!(home.workspace().join("made.txt").exists());
    let asked = model.asked().last().expect("a request").to_string();
    if asked.contains("workspace (") {
        assert!(!home.user().join("outside.txt").exists(), "confined to the workspace: {asked}");
    } else {
        petasos_testkit::skip("a turn over HTTP", "sandbox", "this machine confines nothing");
    }
    assert!(asked.contains("nobody") || asked.contains("consent"), "{asked}");
    let (_, listed) = server.ask("GET", "/api/sessions", KEY, &Value::Null);
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn the_gateway_serves_it_too_where_it_is_enabled() {
    let model = Loopback::saying(vec![Say::Text("through the gateway")]);
    let home = model.home();
    let variables =
        [("API_SERVER_KEY", KEY), ("API_SERVER_ENABLED", "true"), ("API_SERVER_PORT", "0")];
    let server = Server::start(&home, &["gateway", "run"], &variables);
    let (status, said) = server.say(KEY, "hello");
    assert_eq!(
        (status, &said["choices"][0]["message"]["content"]),
        (200, &"through the gateway".into()),
        "{said}"
    );
    let refused = petasos(&home)
        .with("API_SERVER_KEY", "short")
        .with("API_SERVER_ENABLED", "true")
        .with("PETASOS_HOME", &home.user().join("other").display().to_string())
        .run(&["gateway", "run"]);
    assert_eq!(refused.code, Some(78), "{}", refused.stderr);
}

#[test]
fn a_webhook_is_rehearsed_listed_and_taken() {
    let model = Loopback::saying(vec![Say::Text("noted")]);
    let home = model.home();
    let routes = "platforms:\n  webhook:\n    enabled: true\n    extra:\n      port: 0\n      routes:\n        \
                  ci:\n          prompt: \"Look at {title} and {gone}\"\n";
    home.write(".petasos/config.yaml", format!("{}{routes}", model.config()));
    let program = || petasos(&home).with("WEBHOOK_SECRET", "a-secret-of-the-test");
    let listed = program().run(&["webhook", "list", "--json"]).json();
    assert_eq!((&listed["enabled"], &listed["routes"]), (&true.into(), &json!(["ci"])), "{listed}");
    let tried =
        program().input(r#"{"title":"x"}"#).run(&["webhook", "test", "ci", "--json"]).json();
    assert_eq!(tried["missing"], json!(["gone"]), "{tried}");
    let unsigned = petasos(&home).run(&["webhook", "list"]);
    assert_eq!(unsigned.code, Some(1), "a route without a secret: {}", unsigned.stdout);
    let variables = [("API_SERVER_KEY", KEY), ("WEBHOOK_SECRET", "a-secret-of-the-test")];
    let server = Server::start(&home, &["serve", "--port", "0"], &variables);
    assert!(server.line.contains("/webhooks"), "{}", server.line);
    assert!(model.asked().is_empty(), "a rehearsal runs nothing");
}
