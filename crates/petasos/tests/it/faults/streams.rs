//! Many streams at once: how long the first byte takes, what memory that needs, and that nobody who
//! reads slowly or goes away holds anybody up.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::model::{Model, Piece, event, finish, stream};
use super::{figure, sized};
use crate::serve::{KEY, Server};

/// Words of an answer, and how long after each other they come.
const WORDS: usize = 40;
const APART: Duration = Duration::from_millis(50);
/// Of so many clients one goes away, and one reads slowly.
const ODD: usize = 20;
/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// How a client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    Well,
    Slowly,
    /// Goes away after the first word.
    Barely,
}

/// What a client saw.
struct Saw {
    reads: Reads,
    first: Duration,
    whole: Duration,
    words: usize,
    done: bool,
}

fn answer() -> Vec<Piece> {
    let mut pieces = vec![Piece::Bytes(stream())];
    for number in 0..WORDS {
        let word = json!({ "role": "assistant", "content": format!("word{number} ") });
        pieces.push(Piece::Bytes(event(&word, None)));
        pieces.push(Piece::Pause(APART));
    }
    pieces.push(Piece::Bytes(finish("stop")));
    pieces
}

fn read(mut reader: BufReader<TcpStream>, reads: Reads, begun: Instant) -> Saw {
    let mut saw = Saw { reads, first: Duration::MAX, whole: Duration::ZERO, words: 0, done: false };
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            break;
        }
        if line.starts_with("data: ") && saw.first == Duration::MAX {
            saw.first = begun.elapsed();
        }
        saw.words += line.matches("word").count();
        saw.done |= line.contains("[DONE]");
        match reads {
            Reads::Barely if saw.words > 0 => return saw,
            // The pace of a slow reader, not a wait for anybody.
            Reads::Slowly => std::thread::sleep(Duration::from_millis(20)),
            _ => {}
        }
    }
    saw.whole = begun.elapsed();
    saw
}

/// Memory of a process in MB: now, and the most it ever had.
fn memory(pid: u32) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let number = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let kilobytes =
            line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kilobytes.unwrap_or_default() / 1024
    };
    (number("VmRSS:"), number("VmHWM:"))
}

fn percentile(mut times: Vec<Duration>, hundredth: usize) -> u128 {
    times.sort_unstable();
    let at = (times.len() * hundredth / 100).min(times.len().saturating_sub(1));
    times.get(at).copied().unwrap_or_default().as_millis()
}

#[test]
fn s112_many_streams_at_once_starve_nobody() {
    let count = sized(200, 500);
    let model = Model::new(|_| answer());
    let home = Home::temp();
    let limits =
        "gateway:\n  max_concurrent_sessions: 1000\n  api_server:\n    max_concurrent_runs: 0\n";
    model.is_used_by(&home, limits);
    let server = Server::start(&home, &["serve", "--port", "0"], &[("API_SERVER_KEY", KEY)]);
    let (idle, _) = memory(server.child.id());
    let together = Arc::new(Barrier::new(count));
    let server = Arc::new(server);
    let clients: Vec<JoinHandle<Saw>> = (0..count)
        .map(|number| {
            let (server, together) = (Arc::clone(&server), Arc::clone(&together));
            std::thread::spawn(move || {
                let reads = match number % ODD {
                    0 => Reads::Barely,
                    1 => Reads::Slowly,
                    _ => Reads::Well,
                };
                let body = json!({
                    "stream": true, "messages": [{ "role": "user", "content": format!("n{number}") }],
                });
                together.wait();
                let begun = Instant::now();
                read(server.open("POST", "/v1/chat/completions", "", &body), reads, begun)
            })
        })
        .collect();
    let saw: Vec<Saw> =
        clients.into_iter().map(|client| client.join().expect("a client ends")).collect();
    for one in saw.iter().filter(|one| one.reads != Reads::Barely) {
        assert!(one.done && one.words == WORDS, "{:?}: {} words", one.reads, one.words);
    }
    // Whoever went away lets go of everything.
    let late = Instant::now() + PATIENCE;
    loop {
        let (_, ready) = server.ask("GET", "/ready", KEY, &Value::Null);
        if ready["runs"] == 0 {
            break;
        }
        assert!(Instant::now() < late, "runs go on: {ready}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let (after, peak) = memory(server.child.id());
    let first: Vec<Duration> = saw.iter().map(|one| one.first).collect();
    let well = saw.iter().filter(|one| one.reads == Reads::Well);
    let whole: Vec<Duration> = well.map(|one| one.whole).collect();
    let figures = format!(
        "{count} streams of {WORDS} words: first byte median {} ms, p99 {} ms; whole answer p99 {} ms \
         (the model takes {} ms); memory {idle} MB idle, {peak} MB at most, {after} MB after",
        percentile(first.clone(), 50),
        percentile(first, 99),
        percentile(whole, 99),
        APART.as_millis() * WORDS as u128,
    );
    figure("streams", &figures);
}
