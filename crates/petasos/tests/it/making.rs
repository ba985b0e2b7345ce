//! Pictures and films through the program: made, kept, delivered, and looked at; what costs is
//! judged; skills of our own are there without doing anything.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::{petasos, run};

/// A picture of one dot, in base64.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A vendor that answers every request with one picture, or one film where that is asked for, and
/// tells what it was asked.
pub(crate) fn painter() -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (told, asked) = std::sync::mpsc::channel();
    let own = url.clone();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let mut reader = BufReader::new(socket);
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                    break;
                }
                if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
                    length = number.trim().parse().unwrap_or(0);
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap_or_default();
            told.send(format!("{head}\n{}", String::from_utf8_lossy(&body))).unwrap_or_default();
            let film = b"\0\0\0\x18ftypisom\0\0\0\0isommp42";
            let answer = match head.lines().next().unwrap_or_default() {
                line if line.contains("/files/") => {
                    let told = "HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\ncontent-length: 24\r\n\
                        connection: close\r\n\r\n";
                    let bytes = [told.as_bytes(), film].concat();
                    reader.into_inner().write_all(&bytes).unwrap_or_default();
                    continue;
                }
                line if line.contains("/Wan-AI/") => {
                    json!({ "video_url": format!("{own}/files/a.mp4") }).to_string()
                }
                _ => json!({ "created": 1, "data": [{ "b64_json": DOT }] }).to_string(),
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n{answer}",
                answer.len()
            );
            reader.into_inner().write_all(head.as_bytes()).unwrap_or_default();
        }
    });
    (url, asked)
}

fn listed(home: &petasos_testkit::Home, name: &str) -> Value {
    let listing = petasos(home).run(&["tools", "list", "--all", "--json"]).json();
    let tools = listing["tools"].as_array().expect("a list").clone();
    tools.into_iter().find(|tool| tool["name"] == name).expect("it is listed")
}

#[test]
fn e128_a_model_makes_a_picture_that_is_a_file_with_its_tag() {
    let (url, asked) = painter();
    let draw = json!({ "prompt": "a red kite", "aspect_ratio": "panorama" });
    let model =
        Loopback::saying(vec![Say::Calls(vec![("image_generate", draw)]), Say::Text("here it is")]);
    let home = model.home();
    let config = format!(
        "{}image_gen:\n  provider: openai\n  openai:\n    base_url: {url}\n",
        model.config()
    );
    home.write(".petasos/config.yaml", config);
    home.write(".petasos/.env", "OPENAI_API_KEY=sk-paint-0123456789abcdef\n");
    let finished = petasos(&home).run(&["run", "draw a kite"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = model.asked().last().expect("a request")["messages"].to_string();
    for part in ["cache/images/image_", "MEDIA:/", r#"\"width\":1"#, "landscape was taken"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("sk-paint"), "a key is no business of the model");
    let asked = asked.recv().expect("the vendor was asked");
    assert!(asked.contains("sk-paint-0123456789abcdef") && asked.contains("a red kite"));
}

#[test]
fn e1_e6_what_is_missing_is_told_in_words() {
    let model = Loopback::saying(Vec::new());
    let home = model.home();
    home.write(".petasos/.env", "OPENAI_API_KEY=sk-chat-0123456789abcdef\n");
    for (tool, why) in [
        ("image_generate", "needs image_gen.provider"),
        ("video_generate", "needs video_gen.provider"),
        ("xai_video_edit", "needs video_gen.provider: xai"),
        ("xai_video_extend", "needs video_gen.provider: xai"),
    ] {
        let row = listed(&home, tool);
        assert_eq!(row["available"], false, "{row}");
        assert!(row["reason"].to_string().contains(why), "{row}");
    }
    home.write(".petasos/config.yaml", format!("{}video_gen:\n  provider: xai\n", model.config()));
    home.write(".petasos/.env", "XAI_API_KEY=xai-0123456789abcdef\n");
    for tool in ["video_generate", "xai_video_edit", "xai_video_extend"] {
        assert_eq!(listed(&home, tool)["available"], true, "{tool}");
    }
}

#[test]
fn e16_a_source_of_a_picture_is_held_to_the_rules_for_addresses() {
    for address in ["http://127.0.0.1:9/x.png", "http://169.254.169.254/x.png", "nowhere.png"] {
        let ask = json!({ "prompt": "a kite", "image_url": address }).to_string();
        let answer = run(&["tools", "call", "image_generate", &ask]);
        let kinds = ["blocked_address", "not_found"];
        assert!(kinds.iter().any(|kind| answer.stdout.contains(kind)), "{}", answer.stdout);
    }
}

#[test]
fn a_film_is_looked_at_by_its_frames_where_no_model_takes_films() {
    let test = "a_film_is_looked_at_by_its_frames_where_no_model_takes_films";
    if !std::path::Path::new("/usr/bin/ffmpeg").is_file() {
        return petasos_testkit::skip(test, "ffmpeg", "the program is not installed");
    }
    let look = json!({ "video_url": "film.mp4", "question": "which colour comes last?" });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("video_analyze", look)]),
        Say::Text("first red, then blue"),
        Say::Text("blue"),
    ]);
    let home = model.home();
    home.write("work/keep", "");
    let film = home.workspace().join("film.mp4");
    #[expect(clippy::disallowed_methods, reason = "a test makes its film")]
    let made = std::process::Command::new("ffmpeg")
        .args(["-v", "error", "-f", "lavfi", "-i", "color=red:s=64x48:d=1", "-f", "lavfi", "-i"])
        .args(["color=blue:s=64x48:d=2", "-filter_complex", "concat=n=2:v=1:a=0", "-y"])
        .arg(&film)
        .status()
        .expect("ffmpeg runs");
    assert!(made.success());
    let asked = ["run", "-t", "video", "look at the film"];
    let finished = petasos(&home).run(&asked);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let requests = model.asked();
    let looked = requests[1].to_string();
    let frames = looked.matches("data:image/jpeg;base64,").count();
    assert!((10..=12).contains(&frames), "{frames} frames");
    assert!(looked.contains("evenly spaced"), "{looked}");
    let told = requests[2]["messages"].to_string();
    assert!(told.contains("first red, then blue") && told.contains("frames"), "{told}");
}

#[test]
fn a_dozen_skills_come_with_the_program_and_are_called_by_name() {
    let model = Loopback::saying(vec![Say::Text("planned")]);
    let home = model.home();
    let skills = petasos(&home).run(&["skills", "list", "--json"]).json();
    let rows = skills["skills"].as_array().expect("a list");
    let ours = rows.iter().filter(|row| row["place"] == "bundled").count();
    assert!(ours >= 12, "{ours}");
    let finished = petasos(&home).run(&["run", "/skill:plan the garden"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = model.asked()[0]["messages"].to_string();
    assert!(said.contains("A step without `check:` is a wish") && said.contains("the garden"));
    assert!(said.contains("skills/.starter/"), "scripts have their place");
    let status = petasos(&home).run(&["curator", "status", "--json"]).json();
    assert_eq!(status["would"], json!([]), "{status}");
}
