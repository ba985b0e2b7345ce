//! `http_request` against a server of the test's own, and what it never sends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use petasos_contract::effect::Effect;
use serde_json::{Value, json};

use crate::bench::Bench;

/// A server that answers what its path says and keeps what it was asked.
fn server() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let mut reader = BufReader::new(socket);
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                    break;
                }
                if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
                    length = text.trim().parse().unwrap_or(0);
                }
                head += &line;
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap_or_default();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            kept.lock().unwrap().push(head + &String::from_utf8_lossy(&body));
            let answer = match path.split('?').next().unwrap_or_default() {
                "/json" => {
                    "200 OK\r\ncontent-type: application/json\r\n\r\n{\"a\":[1,2]}".to_owned()
                }
                "/away" => {
                    "302 Found\r\nlocation: http://169.254.169.254/latest\r\n\r\n".to_owned()
                }
                "/moved" => {
                    let to =
                        path.split_once("to=").map(|(_, to)| to.to_owned()).unwrap_or_default();
                    format!("307 Temporary Redirect\r\nlocation: {to}\r\n\r\n")
                }
                "/on" => "302 Found\r\nlocation: /json\r\n\r\n".to_owned(),
                "/long" => {
                    format!("200 OK\r\ncontent-type: text/plain\r\n\r\n{}", "é".repeat(60_000))
                }
                "/bytes" => "200 OK\r\ncontent-type: image/png\r\n\r\n\u{1}".to_owned(),
                _ => "404 Not Found\r\ncontent-type: text/plain\r\n\r\nno such thing".to_owned(),
            };
            let answer =
                format!("HTTP/1.1 {}", answer.replacen("\r\n", "\r\nconnection: close\r\n", 1));
            reader.into_inner().write_all(answer.as_bytes()).unwrap_or_default();
        }
    });
    (port, asked)
}

/// A bench whose user excepts this port.
fn bench(port: u16) -> Bench {
    Bench::with(&json!({
        "security": { "private_hosts": [format!("127.0.0.1:{port}")] },
        "http": { "logins": {
            "shop": { "env": "SHOP_KEY", "hosts": ["shop.example"] },
        } },
    }))
}

#[test]
fn an_answer_is_told_as_what_it_is() {
    let (port, asked) = server();
    let bench = bench(port);
    let ask = |path: &str, more: Value| {
        let mut args = json!({ "url": format!("http://127.0.0.1:{port}{path}") });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bench.run("http_request", &args)
    };
    let told = ask("/json", json!({ "query": { "q": "a b", "n": 2 } }));
    assert_eq!((&told["status"], &told["json"]), (&json!(200), &json!({ "a": [1, 2] })), "{told}");
    assert!(asked.lock().unwrap()[0].starts_with("GET /json?q=a+b&n=2 HTTP/1.1"));
    let posted =
        ask("/thing", json!({ "method": "POST", "json": { "x": 1 }, "headers": { "x-a": "b" } }));
    assert_eq!((&posted["status"], &posted["body"]), (&json!(404), &json!("no such thing")));
    let sent = asked.lock().unwrap()[1].to_lowercase();
    for part in ["post /thing", "content-type: application/json", "x-a: b", "{\"x\":1}"] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
    assert_eq!(ask("/on", json!({}))["redirected"], json!(true));
    assert_eq!(ask("/on", json!({ "follow_redirects": false }))["status"], json!(302));
    let long = ask("/long", json!({}));
    assert_eq!(
        (&long["truncated"], long["body"].as_str().unwrap().chars().count()),
        (&json!(true), 50_000)
    );
    let head = ask("/json", json!({ "method": "HEAD" }));
    assert!(head["json"].is_null() && head["status"] == json!(200), "{head}");
    // E19 17, 18: a redirect to the metadata service is not followed.
    assert_eq!(ask("/away", json!({}))["error_type"], "blocked_address");
}

/// E19 17: what is refused as an address is refused as the target of a redirect.
#[test]
fn a_redirect_into_the_network_is_not_followed() {
    let (port, asked) = server();
    let (inner, reached) = server();
    let bench = bench(port);
    let places = petasos_testkit::addresses::REFUSED.iter().map(|it| format!("http://{it}/"));
    let inner =
        [format!("http://127.0.0.1:{inner}/json"), format!("http://localhost:{inner}/json")];
    let mut tried = 0;
    for place in places.chain(inner) {
        if place.contains([' ', '\\', '\t', '\n']) {
            continue;
        }
        let url = format!("http://127.0.0.1:{port}/moved?to={place}");
        for method in ["GET", "POST"] {
            let told = bench.run("http_request", &json!({ "url": url, "method": method }));
            let is_json = told["json"] == json!({ "a": [1, 2] });
            assert!(told["error"].is_string() && !is_json, "{method} {place}: {told}");
        }
        tried += 1;
    }
    assert!(tried > 20, "{tried}");
    assert!(reached.lock().unwrap().is_empty(), "the other server was reached");
    assert!(!asked.lock().unwrap().is_empty());
}

#[test]
fn keys_and_private_places_are_refused_before_anything_is_sent() {
    let (port, asked) = server();
    let bench = bench(port);
    let here = format!("http://127.0.0.1:{port}/json");
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF";
    for args in [
        json!({ "url": format!("{here}?token=x") }),
        json!({ "url": here, "query": { "api_key": "x" } }),
        json!({ "url": format!("{here}/{key}") }),
        json!({ "url": here, "headers": { "Authorization": "Bearer x" } }),
        json!({ "url": here, "headers": { "x-note": key } }),
        json!({ "url": here, "method": "POST", "body": key }),
        json!({ "url": here, "method": "POST", "json": { "deep": [key] } }),
        json!({ "url": here, "method": "TRACE" }),
        json!({ "url": here, "json": 1, "body": "x" }),
        json!({ "url": "http://10.0.0.1/" }),
        json!({ "url": "http://user:pw@example.com/" }),
        json!({ "url": "file:///etc/passwd" }),
        json!({ "url": here, "auth": "nobody" }),
        json!({ "url": here, "auth": "shop" }),
    ] {
        let told = bench.run("http_request", &args);
        assert!(
            told["error_type"].is_string() && told["success"] == json!(false),
            "{args}: {told}"
        );
        assert!(!told.to_string().contains(key), "{told}");
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
}

#[test]
fn reading_reaches_and_writing_sends() {
    let bench = Bench::new();
    let stated = |method: &str| {
        let args = json!({ "url": "https://api.example/x", "method": method });
        bench.effects("http_request", &args).iter().cloned().collect::<Vec<_>>()
    };
    let reach = || Effect::Reach("api.example".to_owned());
    assert_eq!(stated("GET"), [reach()]);
    let target = "api.example".to_owned();
    assert_eq!(stated("POST"), [reach(), Effect::Send { target }]);
}
