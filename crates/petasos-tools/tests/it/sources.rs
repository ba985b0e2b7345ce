//! Pictures and films that a model names: addresses that are not reached, direct and as what somebody
//! redirects to, through every tool that takes a source. Nobody is paid meanwhile.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use petasos_testkit::addresses::REFUSED;
use serde_json::{Value, json};

use crate::bench::Bench;

/// The closed list of words.
const KINDS: &str = "missing_setup bad_argument not_found ambiguous stale covered not_actionable \
    dialog_open blocked_address blocked_policy blocked_site tainted denied timeout cancelled \
    rate_limited quota auth upstream too_large unsupported crashed busy no_result";

/// Redirects `/to/NUMBER` to that row of the table, and counts who asks for anything else.
fn redirecting(table: Vec<&'static str>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let others = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&others);
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut reader = BufReader::new(socket.try_clone().unwrap());
            let mut first = String::new();
            reader.read_line(&mut first).unwrap_or_default();
            let mut line = String::from("x");
            while !line.trim().is_empty() {
                line.clear();
                reader.read_line(&mut line).unwrap_or_default();
            }
            let word = first.split(['/', ' ']).nth(3).unwrap_or_default();
            let row = word.parse::<usize>().ok().and_then(|number| table.get(number));
            let to = row.unwrap_or_else(|| {
                counted.fetch_add(1, Ordering::Relaxed);
                &"nowhere.invalid"
            });
            let told = format!(
                "HTTP/1.1 302 X\r\nlocation: http://{to}/x.png\r\ncontent-length: 0\r\n\
                 connection: close\r\n\r\n"
            );
            socket.write_all(told.as_bytes()).unwrap_or_default();
        }
    });
    (host, others)
}

/// The tools that take a source, with one.
fn calls(source: &str) -> [(&'static str, Value); 5] {
    [
        ("vision_analyze", json!({ "image_url": source, "question": "what?" })),
        ("video_analyze", json!({ "video_url": source, "question": "what?" })),
        ("image_generate", json!({ "prompt": "a kite", "image_url": source })),
        ("image_generate", json!({ "prompt": "a kite", "reference_image_urls": [source] })),
        ("video_generate", json!({ "prompt": "a kite", "image_url": source })),
    ]
}

#[test]
fn e4_e16_e17_no_source_comes_from_an_address_of_the_table() {
    // Names of tests need a resolver of the test's own; those are in the suite of the net.
    let known = |it: &&&str| it.rsplit_once('.').is_none_or(|(_, top)| top != "test");
    let table: Vec<&'static str> = REFUSED.iter().filter(known).copied().collect();
    assert!(table.len() >= 75, "{}", table.len());
    let (host, others) = redirecting(table.clone());
    let url = format!("http://{host}");
    let settings = json!({
        "security": { "private_hosts": [host] },
        "image_gen": { "provider": "openai", "openai": { "base_url": url } },
        "video_gen": { "provider": "fal", "fal": { "base_url": url } },
    });
    let keys = [("OPENAI_API_KEY", "sk-0123456789abcdef"), ("FAL_KEY", "fal-0123456789abcdef")];
    let bench = Bench::set_up(&settings, &keys);
    for (number, address) in table.iter().enumerate() {
        for source in [format!("http://{address}/x.png"), format!("{url}/to/{number}")] {
            for (tool, args) in calls(&source) {
                let told = bench.run(tool, &args);
                let kind = told["error_type"].as_str().unwrap_or_default();
                let why = told["error"].as_str().unwrap_or_default();
                let refused = matches!(kind, "blocked_address" | "bad_argument");
                // A location that is no text leads nowhere.
                assert!(refused || why.contains("not followed"), "{tool} {source}: {told}");
            }
        }
    }
    assert_eq!(others.load(Ordering::Relaxed), 0, "a vendor was asked");
}

/// E4: whatever is wrong with a call, its answer has a sentence and a word of the closed list.
#[test]
fn e4_errors_of_media_and_skills_are_well_formed() {
    let bench = Bench::local(&json!({
        "image_gen": { "provider": "nobody" }, "video_gen": { "provider": "nobody" },
        "tts": { "provider": "nobody" },
    }));
    bench.file("page.png", "<html></html>");
    let odd = ["", " ", "nowhere.png", "page.png", ".", "ftp://a.example/x", "data:,x", "\u{0}"];
    let mut all = Vec::new();
    for source in odd {
        all.extend(calls(source));
    }
    for text in ["", "hello"] {
        all.push(("text_to_speech", json!({ "text": text })));
        all.push(("text_to_speech", json!({ "text": text, "output_path": "../x.wav" })));
        all.push(("image_generate", json!({ "prompt": text })));
        all.push(("video_generate", json!({ "prompt": text })));
        all.push(("xai_video_edit", json!({ "prompt": text, "video_url": "x" })));
        all.push(("xai_video_extend", json!({ "prompt": text, "video_url": "x" })));
    }
    for name in ["", "nothing", "../x", "/etc", "a:b:c", "\u{202e}"] {
        all.push(("skill_view", json!({ "name": name })));
        all.push(("skill_view", json!({ "name": "plan", "file_path": format!("../{name}") })));
        for action in ["create", "edit", "patch", "delete", "write_file", "remove_file"] {
            all.push(("skill_manage", json!({ "action": action, "name": name })));
        }
    }
    let count = all.len();
    for (tool, args) in all {
        let told = bench.run(tool, &args);
        let kind = told["error_type"].as_str().unwrap_or_default();
        assert!(KINDS.split_whitespace().any(|known| known == kind), "{tool} {args}: {told}");
        let why = told["error"].as_str().unwrap_or_default();
        assert!(!why.is_empty() && why.chars().count() <= 400, "{tool} {args}: {told}");
        assert_eq!(told["success"], false, "{tool} {args}: {told}");
    }
    assert!(count > 90, "{count}");
}
