//! Many calls and many turns in one process: memory, descriptors and times stay flat.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::model::{Asked, Model, Piece, calls, text};
use super::started::{descriptors, gone, is_running, memory, program, ran};
use super::{figure, sized, spread};

/// What a process holds at one moment.
struct Holding {
    memory: u64,
    descriptors: usize,
}

impl Holding {
    fn of(pid: u32) -> Self {
        Self { memory: memory(pid, "VmRSS:"), descriptors: descriptors(pid) }
    }

    /// Panics when it grew by more than a working set does.
    fn stayed(&self, since: &Self, what: &str) {
        assert!(
            self.descriptors <= since.descriptors + 16,
            "{what}: descriptors grew from {} to {}",
            since.descriptors,
            self.descriptors
        );
        assert!(
            self.memory <= since.memory + 24,
            "{what}: memory grew from {} to {} MB",
            since.memory,
            self.memory
        );
    }
}

struct Client {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let line = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        writeln!(self.to, "{line}").expect("it listens");
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).expect("a line"), 0, "it ended early");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer["id"] == self.next {
                return answer;
            }
        }
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({ "name": name, "arguments": arguments }))
    }
}

/// Call number `n` of a mixed day.
fn call(n: usize) -> (&'static str, Value) {
    let file = format!("f{}.txt", n % 40);
    match n % 6 {
        0 | 3 => ("write_file", json!({ "path": file, "content": format!("{n}\n").repeat(50) })),
        1 => ("terminal", json!({ "command": format!("echo {n}; seq 1 200") })),
        2 => ("search_files", json!({ "pattern": format!("{n}"), "path": "." })),
        4 => ("read_file", json!({ "path": format!("f{}.txt", (n - 1) % 40) })),
        _ if n % 48 == 5 => ("terminal", json!({ "command": "seq 1 100000" })),
        _ if n % 30 == 29 => ("terminal", json!({ "command": "true", "background": true })),
        _ => ("terminal", json!({ "command": "true" })),
    }
}

#[test]
fn thousands_of_calls_leave_memory_and_descriptors_flat() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "approvals: {mode: 'off'}\n");
    let mut command = program(&home, &["mcp", "serve"]);
    let temp = home.workspace().join("../temp");
    std::fs::create_dir(&temp).expect("a folder");
    command.env("TMPDIR", &temp).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
    let from = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut client = Client { to: child.stdin.take().expect("a pipe"), from, next: 0 };
    let start = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
                        "clientInfo": { "name": "soak", "version": "1" } });
    client.ask("initialize", &start);
    let total: usize = sized(600, 20_000);
    let warm = total / 4;
    let mut early: Option<Holding> = None;
    let (mut first, mut last, mut refused) = (Vec::new(), Vec::new(), 0);
    for n in 0..total {
        let (name, arguments) = call(n);
        let begun = Instant::now();
        let answer = client.call(name, &arguments);
        let took = begun.elapsed().as_millis();
        refused += usize::from(answer["result"]["isError"] == true);
        assert!(answer["error"].is_null(), "call {n}: {answer}");
        if n < warm {
            first.push(took);
        } else if n >= total - warm {
            last.push(took);
        }
        if n == warm {
            early = Some(Holding::of(child.id()));
        }
    }
    let (early, late) = (early.expect("a quarter"), Holding::of(child.id()));
    drop(client);
    child.wait().expect("it ends with its input");
    late.stayed(&early, "calls");
    gone(home.user(), "the soak");
    assert!(refused * 20 < total, "{refused} of {total} calls were refused");
    let kept = walk(&temp);
    assert!(kept < 300_000_000, "{kept} bytes stay in the temporary folder");
    figure(
        "calls in one process",
        &format!(
            "{total} calls, memory {} -> {} MB, descriptors {} -> {}; first quarter {}, last {}; \
             {refused} refused; {kept} bytes left in the temporary folder",
            early.memory,
            late.memory,
            early.descriptors,
            late.descriptors,
            spread(first),
            spread(last)
        ),
    );
}

/// The bytes below a folder.
fn walk(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(facts) if facts.is_dir() => walk(&entry.path()),
            Ok(facts) => facts.len(),
            Err(_) => 0,
        })
        .sum()
}

fn work(asked: &Asked) -> Vec<Piece> {
    match asked.results() {
        0 => calls(&[(
            "terminal",
            json!({ "command": format!("seq 1 {}", 100 + asked.number % 50) }),
        )]),
        _ => text(&"words and more words ".repeat(20)),
    }
}

#[test]
fn a_long_chat_stays_small_and_quick() {
    let model = Model::new(work);
    let home = Home::temp();
    model
        .is_used_by(&home, "approvals: {mode: 'off'}\nmodels: {double: {context_length: 64000}}\n");
    let turns: usize = sized(48, 2_000);
    let mut command = program(&home, &["chat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let feeder = std::thread::spawn(move || {
        for turn in 0..turns {
            writeln!(input, "turn {turn}").expect("it listens");
        }
    });
    let until = |asked: usize| {
        let begun = Instant::now();
        while model.asked() < asked {
            let runs = is_running(child.id());
            assert!(runs || model.asked() >= asked, "it ended after {} requests", model.asked());
            assert!(begun.elapsed() < Duration::from_mins(30), "it stopped");
            std::thread::sleep(Duration::from_millis(5));
        }
        Holding::of(child.id())
    };
    let early = until(turns / 2);
    let late = until(turns * 2 - 1);
    feeder.join().expect("the feeder");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    late.stayed(&early, "a chat");
    let times = model.times();
    let gaps = |from: usize, to: usize| {
        let pairs = times[from..to].windows(2);
        spread(pairs.map(|pair| pair[1].duration_since(pair[0]).as_millis()).collect())
    };
    let quarter = times.len() / 4;
    assert_eq!(ran(&home, &["sessions", "verify"]).code, Some(0));
    figure(
        "turns in one chat",
        &format!(
            "{turns} turns, memory {} -> {} MB, descriptors {} -> {}; between requests at first {}, \
             at last {}",
            early.memory,
            late.memory,
            early.descriptors,
            late.descriptors,
            gaps(0, quarter),
            gaps(times.len() - quarter, times.len()),
        ),
    );
}

#[test]
fn a_conversation_is_resumed_many_times() {
    let model = Model::new(work);
    let home = Home::temp();
    model
        .is_used_by(&home, "approvals: {mode: 'off'}\nmodels: {double: {context_length: 64000}}\n");
    let mut times = Vec::new();
    let turns = sized(6, 500);
    for turn in 0..turns {
        let words = format!("turn {turn}");
        let resume = if turn == 0 { &["run"][..] } else { &["run", "--resume", "latest"] };
        let ended = ran(&home, &[resume, &[&words]].concat());
        assert_eq!(ended.code, Some(0), "turn {turn}: {}", ended.stderr);
        times.push(ended.took.as_millis());
    }
    assert_eq!(ran(&home, &["sessions", "verify"]).code, Some(0));
    let half = times.len() / 2;
    let late = times.split_off(half);
    figure(
        "resumed turns",
        &format!("{turns}; first half {}, second {}", spread(times), spread(late)),
    );
}
