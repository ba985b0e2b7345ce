//! A model server with faults: what a person sees, how often it is asked, and what never runs.

use std::time::Duration;

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::model::{Asked, Model, Piece, call, event, finish, page, stream, text};
use super::started::{Ended, Started, program};
use super::{figure, is_long};

/// A row of the table: a fault, and what must come of it.
struct Row {
    name: &'static str,
    answer: fn(&Asked) -> Vec<Piece>,
    /// Whether another provider stands ready.
    has_spare: bool,
    expect: fn(&Seen) -> Result<(), &'static str>,
}

/// What was seen.
#[derive(Debug)]
struct Seen {
    ended: Ended,
    asked: usize,
    spare: usize,
    /// Whether the half call was carried out.
    ran: bool,
    /// Milliseconds between the first two requests.
    pause: u128,
}

const WORDS: &str = "half of an answer";

fn bytes(parts: &[&[u8]]) -> Vec<Piece> {
    vec![Piece::Bytes(parts.concat())]
}

fn begun() -> Vec<u8> {
    [stream(), event(&json!({ "role": "assistant", "content": WORDS }), None)].concat()
}

/// A call whose arguments break off.
fn half() -> Vec<u8> {
    let function = json!({ "name": "terminal", "arguments": "{\"command\": \"touch RAN; echo " });
    let call = json!({ "index": 0, "id": "c1", "type": "function", "function": function });
    [stream(), event(&json!({ "role": "assistant", "tool_calls": [call] }), None)].concat()
}

/// The fault at first, then an answer.
fn once(asked: &Asked, fault: Vec<Piece>) -> Vec<Piece> {
    if asked.number == 0 { fault } else { text("fine") }
}

fn status(code: u16, headers: &[(&str, &str)]) -> Vec<Piece> {
    let body = json!({ "error": { "message": "the double is unwell", "type": "x" } }).to_string();
    vec![Piece::Bytes(page(code, "application/json", headers, body.as_bytes()))]
}

fn many_calls(count: usize) -> Vec<Piece> {
    let all: Vec<Value> =
        (0..count).map(|index| call(index, &format!("c{index}"), "todo", &json!({}))).collect();
    let delta = event(&json!({ "role": "assistant", "tool_calls": all }), None);
    bytes(&[&stream(), &delta, &finish("tool_calls")])
}

/// Two calls with these ids, then an answer.
fn with_ids(asked: &Asked, ids: [&Value; 2]) -> Vec<Piece> {
    if asked.results() > 0 {
        return text(if asked.results() == 2 { "two results" } else { "lost" });
    }
    let one = |index: usize| {
        let arguments = json!({ "path": format!("{index}.txt") }).to_string();
        json!({ "index": index, "id": ids[index], "type": "function",
                "function": { "name": "read_file", "arguments": arguments } })
    };
    let delta = event(&json!({ "role": "assistant", "tool_calls": [one(0), one(1)] }), None);
    bytes(&[&stream(), &delta, &finish("tool_calls")])
}

fn fine(seen: &Seen) -> Result<(), &'static str> {
    holds(seen.ended.code == Some(0) && seen.ended.stdout == "fine\n", "answered `fine`")
}

fn spare(seen: &Seen) -> Result<(), &'static str> {
    holds(seen.ended.code == Some(0) && seen.ended.stdout == "spare\n", "the spare answered")?;
    holds(seen.ended.stderr.contains("spare"), "the person is told")
}

/// A failure with words, after a bounded number of requests.
fn told(seen: &Seen) -> Result<(), &'static str> {
    holds(seen.ended.code == Some(1), "it failed")?;
    holds(!seen.ended.stderr.trim().is_empty(), "it says why")?;
    holds(seen.asked <= 6, "few requests")
}

fn never_ran(seen: &Seen) -> Result<(), &'static str> {
    holds(!seen.ran, "half a call never runs")?;
    fine(seen)
}

/// The words are not glued together in silence.
fn not_glued(seen: &Seen) -> Result<(), &'static str> {
    holds(seen.ended.stdout.matches(WORDS).count() <= 1, "no glued pieces")?;
    holds(seen.ended.code != Some(0) || seen.ended.stderr.contains("broke"), "a break is told")
}

fn small(seen: &Seen) -> Result<(), &'static str> {
    holds(seen.ended.peak < 400, "memory stays below 400 MB")
}

fn holds(condition: bool, what: &'static str) -> Result<(), &'static str> {
    if condition { Ok(()) } else { Err(what) }
}

const ROWS: &[Row] = &[
    Row {
        name: "first byte late",
        answer: |_| [vec![Piece::Pause(Duration::from_secs(1))], text("fine")].concat(),
        has_spare: false,
        expect: fine,
    },
    Row {
        name: "never a first byte",
        answer: |_| vec![Piece::Stall],
        has_spare: false,
        expect: told,
    },
    Row {
        name: "never a first byte",
        answer: |_| vec![Piece::Stall],
        has_spare: true,
        expect: spare,
    },
    Row {
        name: "stall after some text",
        answer: |_| [bytes(&[&begun()]), vec![Piece::Stall]].concat(),
        has_spare: false,
        expect: not_glued,
    },
    Row {
        name: "stall after some text",
        answer: |_| [bytes(&[&begun()]), vec![Piece::Stall]].concat(),
        has_spare: true,
        expect: |seen| holds(seen.spare > 0, "the spare is asked"),
    },
    Row {
        name: "reset after some text",
        answer: |_| [bytes(&[&begun()]), vec![Piece::Reset]].concat(),
        has_spare: false,
        expect: not_glued,
    },
    Row {
        name: "end without a finish reason",
        answer: |_| bytes(&[&begun()]),
        has_spare: false,
        expect: not_glued,
    },
    Row {
        name: "reset inside arguments",
        answer: |asked| once(asked, [bytes(&[&half()]), vec![Piece::Reset]].concat()),
        has_spare: false,
        expect: never_ran,
    },
    Row {
        name: "end inside arguments",
        answer: |asked| once(asked, bytes(&[&half()])),
        has_spare: false,
        expect: never_ran,
    },
    Row {
        name: "half arguments, tool_calls",
        answer: |asked| once(asked, bytes(&[&half(), &finish("tool_calls")])),
        has_spare: false,
        expect: never_ran,
    },
    Row {
        name: "half arguments, length",
        answer: |asked| once(asked, bytes(&[&half(), &finish("length")])),
        has_spare: false,
        expect: never_ran,
    },
    Row {
        name: "malformed events",
        answer: |_| bytes(&[&stream(), b"data: {\"choices\": [{\n\ndata: }}\n\n"]),
        has_spare: true,
        expect: spare,
    },
    Row {
        name: "a web page",
        answer: |_| vec![Piece::Bytes(page(200, "text/html", &[], b"<html>log in</html>"))],
        has_spare: true,
        expect: spare,
    },
    Row {
        name: "an empty stream",
        answer: |_| bytes(&[&stream()]),
        has_spare: true,
        expect: spare,
    },
    Row {
        name: "429, one second",
        answer: |asked| once(asked, status(429, &[("retry-after", "1")])),
        has_spare: false,
        expect: fine,
    },
    Row {
        name: "429, an hour",
        answer: |_| status(429, &[("retry-after", "3600")]),
        has_spare: true,
        expect: spare,
    },
    Row {
        name: "429, an hour",
        answer: |_| status(429, &[("retry-after", "3600")]),
        has_spare: false,
        expect: |seen| {
            holds(seen.ended.took < Duration::from_mins(2), "nobody waits in vain")?;
            told(seen)
        },
    },
    Row {
        name: "429, a date in the past",
        answer: |asked| {
            once(asked, status(429, &[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")]))
        },
        has_spare: false,
        expect: |seen| {
            holds(seen.pause > 1_000, "there is a pause")?;
            fine(seen)
        },
    },
    Row {
        name: "500 once",
        answer: |asked| once(asked, status(500, &[])),
        has_spare: false,
        expect: fine,
    },
    Row { name: "503 for ever", answer: |_| status(503, &[]), has_spare: true, expect: spare },
    Row { name: "529 for ever", answer: |_| status(529, &[]), has_spare: true, expect: spare },
    Row {
        name: "401",
        answer: |_| status(401, &[]),
        has_spare: false,
        expect: |seen| {
            holds(seen.ended.stderr.contains("the double is unwell"), "its own words are shown")?;
            told(seen)
        },
    },
    Row {
        name: "500 calls in a reply",
        answer: |asked| if asked.results() == 0 { many_calls(500) } else { text("fine") },
        has_spare: false,
        expect: fine,
    },
    Row {
        name: "2,000 calls in a reply",
        answer: |_| many_calls(2_000),
        has_spare: false,
        expect: |seen| {
            holds(seen.ended.stderr.contains("512"), "the limit is named")?;
            told(seen)
        },
    },
    Row {
        name: "equal ids",
        answer: |asked| with_ids(asked, [&json!("same"), &json!("same")]),
        has_spare: false,
        expect: |seen| holds(seen.ended.stdout == "two results\n", "each call has its result"),
    },
    Row {
        name: "missing and empty ids",
        answer: |asked| with_ids(asked, [&Value::Null, &json!("")]),
        has_spare: false,
        expect: |seen| holds(seen.ended.stdout == "two results\n", "each call has its result"),
    },
    Row {
        name: "bytes that are no text",
        answer: |asked| {
            once(asked, bytes(&[
                &stream(),
                b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xff\xfeb\"},\"finish_reason\":null}]}\n\n",
                &finish("stop"),
            ]))
        },
        has_spare: false,
        expect: |seen| holds(seen.ended.code == Some(0), "answered"),
    },
    Row {
        name: "a letter in two packets",
        answer: |_| {
            let mut event = event(&json!({ "content": "fine" }), None);
            let place = event.windows(4).position(|four| four == b"fine").expect("a word");
            event.splice(place..place + 4, "fünf".bytes());
            let (one, two) = event.split_at(place + 2);
            vec![
                Piece::Bytes([stream(), one.to_vec()].concat()),
                Piece::Pause(Duration::from_millis(50)),
                Piece::Bytes([two.to_vec(), finish("stop")].concat()),
            ]
        },
        has_spare: false,
        expect: |seen| holds(seen.ended.stdout == "fünf\n", "the letter is whole"),
    },
    Row {
        name: "arguments 100,000 deep",
        answer: |asked| {
            let deep = "[".repeat(100_000);
            let function = json!({ "name": "todo", "arguments": deep });
            let call = json!({ "index": 0, "id": "c", "type": "function", "function": function });
            let delta = event(&json!({ "tool_calls": [call] }), None);
            once(asked, bytes(&[&stream(), &delta, &finish("tool_calls")]))
        },
        has_spare: false,
        expect: fine,
    },
    Row {
        name: "a redirect to another host",
        answer: |_| status(307, &[("location", "http://127.0.0.2:9/v1/chat/completions")]),
        has_spare: false,
        expect: |seen| {
            holds(seen.ended.stderr.contains("127.0.0.2"), "the target is named")?;
            told(seen)
        },
    },
    Row {
        name: "5 MB of text",
        answer: |_| text(&"word ".repeat(1_000_000)),
        has_spare: false,
        expect: |seen| {
            holds(seen.ended.code == Some(0) && seen.ended.stdout.len() > 4_900_000, "all of it")?;
            small(seen)
        },
    },
];

/// What takes its time, in the long form alone.
const HEAVY: &[Row] = &[
    Row {
        name: "endless text",
        answer: |_| {
            let piece = event(&json!({ "content": "endless words ".repeat(500) }), None);
            vec![Piece::Bytes(stream()), Piece::Many(piece, 1 << 20)]
        },
        has_spare: false,
        expect: |seen| {
            holds(seen.asked <= 2, "it is not asked for more of it")?;
            small(seen)
        },
    },
    Row {
        name: "250 MB without a line end",
        answer: |_| vec![Piece::Bytes(stream()), Piece::Many(vec![b'x'; 1 << 20], 250)],
        has_spare: false,
        expect: |seen| {
            small(seen)?;
            told(seen)
        },
    },
    Row {
        name: "4 MB of headers",
        answer: |_| {
            let line = format!("x-h: {}\r\n", "y".repeat(4_000)).into_bytes();
            vec![Piece::Bytes(b"HTTP/1.1 200 X\r\n".to_vec()), Piece::Many(line, 1_000)]
        },
        has_spare: false,
        expect: |seen| {
            small(seen)?;
            told(seen)
        },
    },
];

fn tried(row: &Row) -> String {
    let (model, other) = (Model::new(row.answer), Model::new(|_| text("spare")));
    let home = Home::temp();
    let spare = format!(
        "  spare:\n    base_url: {}\n    api_key: sk-spare-0123456789\n    model: spare\n\
         fallback_providers: [{{provider: 'custom:spare', model: spare}}]\n",
        other.url
    );
    let spare = if row.has_spare { spare.as_str() } else { "" };
    let more = format!(
        "    stale_timeout_seconds: 3\n{spare}agent: {{api_max_retries: 2}}\n\
         approvals: {{mode: 'off'}}\n"
    );
    model.is_used_by(&home, &more);
    let ended = Started::new(program(&home, &["run", "go"])).end(Duration::from_mins(4));
    let times = model.times();
    let pause = match times[..] {
        [first, second, ..] => second.duration_since(first).as_millis(),
        _ => 0,
    };
    let ran = home.workspace().join("RAN").exists();
    let seen = Seen { ended, asked: model.asked(), spare: other.asked(), ran, pause };
    let spare = if row.has_spare { ", with a spare" } else { "" };
    if let Err(missing) = (row.expect)(&seen) {
        return format!("BROKEN {}{spare}: {missing}: {seen:#?}", row.name);
    }
    let code = seen.ended.code.map_or("killed".to_owned(), |code| code.to_string());
    format!(
        "{}{spare}: {:.1} s, {} + {} requests, exit {code}, {} MB",
        row.name,
        seen.ended.took.as_secs_f64(),
        seen.asked,
        seen.spare,
        seen.ended.peak
    )
}

#[test]
fn every_fault_of_a_model_server_ends_well() {
    let rows: Vec<&Row> = ROWS.iter().chain(if is_long() { HEAVY } else { &[] }).collect();
    // Most of the time is spent waiting, so four go side by side.
    let queue = std::sync::Mutex::new(rows.iter());
    let next = || queue.lock().expect("nobody panics with the queue").next();
    let lines: Vec<String> = std::thread::scope(|scope| {
        let lane = || {
            let mut lines = Vec::new();
            while let Some(row) = next() {
                lines.push(tried(row));
            }
            lines
        };
        let lanes: Vec<_> = (0..4).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("a lane")).collect()
    });
    for line in &lines {
        figure("model server", line);
    }
    let broken: Vec<&String> = lines.iter().filter(|line| line.starts_with("BROKEN")).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}
