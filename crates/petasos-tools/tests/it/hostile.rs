//! Servers of the person's own that have turned against them: endless, silent, dripping, malformed.
//! Every tool ends in time, with a sentence, and nothing is held in memory without a limit.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::Bench;

/// How a server answers everybody.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// Bytes without an end.
    Endless(&'static str),
    /// These bytes, and the end.
    Says(&'static str),
    /// A line, again and again, forever.
    Repeats(&'static str),
}

fn endlessly(peer: &mut TcpStream, piece: &[u8]) {
    let many: Vec<u8> = piece.iter().copied().cycle().take(64 << 10).collect();
    while peer.write_all(&many).is_ok() {}
}

fn served(mut peer: TcpStream, manner: Manner, greets: bool) {
    let mut reader = BufReader::new(peer.try_clone().unwrap());
    if greets {
        if peer.write_all(b"* OK ready\r\n").is_err() {
            return;
        }
        // A mail server hears a command before it misbehaves.
        let mut line = String::new();
        if reader.read_line(&mut line).is_err() {
            return;
        }
    } else {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                break;
            }
            if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
    }
    match manner {
        Manner::Endless(head) => {
            if peer.write_all(head.as_bytes()).is_ok() {
                endlessly(&mut peer, b"x");
            }
        }
        // Whoever was asked may be gone.
        Manner::Says(text) => peer.write_all(text.as_bytes()).unwrap_or_default(),
        Manner::Repeats(line) => endlessly(&mut peer, line.as_bytes()),
    }
}

/// A server of this manner; gives its port.
fn server(manner: Manner, greets: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for peer in listener.incoming().flatten() {
            std::thread::spawn(move || served(peer, manner, greets));
        }
    });
    port
}

const MANNERS: [Manner; 9] = [
    Manner::Endless("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[\""),
    Manner::Endless("HTTP/1.1 207 Multi-Status\r\ncontent-type: application/xml\r\n\r\n<a>"),
    Manner::Endless("HTTP/1.1 200 OK\r\nx-long: "),
    Manner::Says(""),
    Manner::Says("HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n[]"),
    Manner::Says("HTTP/1.1 207 Multi-Status\r\nconnection: close\r\n\r\n<a><b><c></a>"),
    Manner::Says("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"entity_id\": [[[[[[[["),
    Manner::Says(
        "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\nconnection: close\r\n\r\n",
    ),
    Manner::Says("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n\u{feff}null"),
];

fn ends(bench: &Bench, tool: &str, args: &Value, what: &str) {
    let begun = Instant::now();
    let told = bench.run(tool, args);
    let text = told.to_string();
    assert!(begun.elapsed() < Duration::from_secs(50), "{tool} {what}: {:?}", begun.elapsed());
    assert!(told["error_type"].is_string(), "{tool} {what}: {text}");
    assert!(text.len() < 4000, "{tool} {what}: {}", text.len());
    assert!(!text.contains("a-secret"), "{tool} {what}: {text}");
}

#[test]
fn a_house_that_turns_hostile_ends_in_a_sentence() {
    for manner in MANNERS {
        let url = format!("http://127.0.0.1:{}", server(manner, false));
        let known = [("HASS_URL", url.as_str()), ("HASS_TOKEN", "a-secret-of-the-house")];
        let bench = Bench::set_up(&json!({}), &known);
        let what = format!("{manner:?}");
        ends(&bench, "ha_get_state", &json!({ "entity_id": "light.a" }), &what);
        ends(&bench, "ha_list_services", &json!({}), &what);
        ends(&bench, "ha_list_entities", &json!({ "area": "kitchen" }), &what);
    }
    assert!(crate::bench::memory_peak() < 1 << 30, "{}", crate::bench::memory_peak());
}

#[test]
fn a_calendar_server_that_turns_hostile_ends_in_a_sentence() {
    for manner in MANNERS {
        let url = format!("http://127.0.0.1:{}/", server(manner, false));
        let settings = json!({ "dav": { "url": url, "user": "ada" } });
        let bench = Bench::set_up(&settings, &[("DAV_PASSWORD", "a-secret-of-ada")]);
        let what = format!("{manner:?}");
        let days = json!({ "from": "2026-01-01", "to": "2026-02-01" });
        ends(&bench, "calendar_list", &json!({}), &what);
        ends(&bench, "calendar_events", &days, &what);
        ends(&bench, "contacts", &json!({ "query": "ada" }), &what);
    }
    assert!(crate::bench::memory_peak() < 1 << 30, "{}", crate::bench::memory_peak());
}

#[test]
fn a_mail_server_that_turns_hostile_ends_in_a_sentence() {
    for manner in [
        Manner::Says(""),
        Manner::Says("a1 OK {999999999999}\r\n"),
        Manner::Says("* 1 FETCH (BODY[] {29999999}\r\n"),
        Manner::Says("a1 NO \u{1b}[2J go away\r\n"),
        Manner::Endless("* OK "),
        Manner::Repeats("* OK still here\r\n"),
        Manner::Repeats("* 1 FETCH (BODY[] {3}\r\nabc)\r\n"),
        Manner::Repeats("+ go on\r\n"),
    ] {
        // Nothing encrypted is spoken here: the connection itself is what fails, or what it says.
        let port = server(manner, true);
        let settings = json!({ "mail": { "address": "ada@x.test", "imap_host": "127.0.0.1",
            "imap_port": port, "smtp_host": "127.0.0.1", "smtp_port": port } });
        let bench = Bench::set_up(&settings, &[("MAIL_PASSWORD", "a-secret-of-ada")]);
        let what = format!("{manner:?}");
        ends(&bench, "mail_search", &json!({ "query": "x" }), &what);
        ends(&bench, "mail_send", &json!({ "to": ["b@x.test"], "body": "x" }), &what);
    }
    assert!(crate::bench::memory_peak() < 1 << 30, "{}", crate::bench::memory_peak());
}
