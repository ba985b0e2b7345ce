//! Pictures through the program: what a model is shown, and by whom.

use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::{petasos, run};

/// A bitmap of two dots, one red and one blue.
pub(crate) const BITMAP: [u8; 62] = {
    let mut bytes = [0; 62];
    let head = *b"BM\x3e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x01\0\0\0\x01\0\x18\0";
    let mut at = 0;
    while at < head.len() {
        bytes[at] = head[at];
        at += 1;
    }
    bytes[34] = 8;
    bytes[56] = 255;
    bytes[57] = 255;
    bytes
};

fn last(model: &Loopback) -> Value {
    model.asked().last().expect("a request")["messages"].clone()
}

#[test]
fn a_picture_goes_along_whatever_it_is_called_and_a_bad_one_is_refused() {
    let model = Loopback::saying(vec![Say::Text("two dots")]);
    let home = model.home();
    home.write("work/picture.dat", BITMAP);
    home.write(
        "work/drawing.svg",
        "<svg xmlns='http://www.w3.org/2000/svg' width='4' height='4'/>",
    );
    let asked = ["run", "what is it?", "--image", "picture.dat", "--file", "drawing.svg"];
    let finished = petasos(&home).run(&asked);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(last(&model).to_string().matches("data:image/png;base64,iVBO").count(), 2);
    home.write(
        "work/bomb.png",
        b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\xff\xff\0\0\xff\xff\x08\x06\0\0\0",
    );
    home.write("work/page.png", "<html></html>");
    for bad in ["bomb.png", "page.png"] {
        let refused = petasos(&home).run(&["run", "look", "--image", bad]);
        assert_ne!(refused.code, Some(0), "{bad}");
        assert!(refused.stderr.contains("picture"), "{bad}: {}", refused.stderr);
    }
    assert_eq!(model.asked().len(), 1, "a bad picture is not sent");
}

#[test]
fn e127_a_model_that_sees_is_shown_the_picture_itself() {
    let look = json!({ "image_url": "picture.dat", "question": "which colours?" });
    let model = Loopback::saying(vec![Say::Calls(vec![("vision_analyze", look)]), Say::Text("ok")]);
    let home = model.home();
    home.write("work/picture.dat", BITMAP);
    let finished = petasos(&home).run(&["run", "look at picture.dat"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = last(&model).to_string();
    for part in ["which colours?", "data:image/png;base64,iVBO", r#"\"width\":2"#] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn e127_another_model_looks_for_one_that_does_not_see() {
    let look = json!({ "image_url": "picture.dat", "question": "which colours?" });
    let seeing = Loopback::saying(vec![Say::Text("red beside blue"), Say::Text("a red dot")]);
    let model = Loopback::saying(vec![Say::Calls(vec![("vision_analyze", look)]), Say::Text("ok")]);
    let home = model.home();
    let blind = format!(
        "{}  supports_vision: false\nauxiliary:\n  vision:\n    base_url: {}\n    model: eyes\n    \
         api_key: sk-eyes-0123456789\n",
        model.config(),
        seeing.url
    );
    home.write(".petasos/config.yaml", blind);
    home.write("work/picture.dat", BITMAP);
    let finished = petasos(&home).run(&["run", "look"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = last(&model).to_string();
    assert!(said.contains("red beside blue") && said.contains("eyes"), "{said}");
    assert!(!said.contains("base64"), "{said}");
    assert!(seeing.asked()[0].to_string().contains("data:image/png;base64,iVBO"));
    assert_eq!(
        seeing.asked()[0]["temperature"].as_f64().map(|warm| (warm * 10.0).round()),
        Some(1.0)
    );
    // A picture beside the words becomes words, too, with its place.
    let finished = petasos(&home).run(&["run", "and this?", "--image", "picture.dat"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = last(&model).to_string();
    assert!(said.contains("a red dot") && said.contains("cache/images/image_"), "{said}");
}

#[test]
fn e127_where_nobody_sees_the_tool_says_what_is_missing() {
    let model = Loopback::saying(Vec::new());
    let home = model.home();
    home.write(".petasos/config.yaml", format!("{}  supports_vision: false\n", model.config()));
    let listing = petasos(&home).run(&["tools", "list", "--all", "--json"]).json();
    let tools = listing["tools"].as_array().expect("a list").clone();
    let vision = tools.iter().find(|tool| tool["name"] == "vision_analyze").expect("it is listed");
    assert_eq!(vision["available"], false, "{vision}");
    let why = "needs a model that sees: choose one, or set auxiliary.vision";
    assert!(vision["reason"].to_string().contains(why), "{vision}");
}

#[test]
fn e16_addresses_that_are_not_reached_and_errors_that_are_well_formed() {
    for address in [
        "http://127.0.0.1:9/x.png",
        "http://localhost/x.png",
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:127.0.0.1]/x.png",
        "http://0x7f000001/x.png",
        "http://10.0.0.1/x.png",
        "http://metadata.google.internal/x.png",
        "http://user:pw@example.com/x.png",
        "ftp://example.com/x.png",
        "data:image/png;base64,****",
        "data:image/png;base64,AAAA",
        "nowhere.png",
        "",
    ] {
        let ask = json!({ "image_url": address, "question": "what?" }).to_string();
        let answer = run(&["tools", "call", "vision_analyze", &ask]);
        let text = answer.stdout.clone();
        let kind = ["blocked_address", "bad_argument", "unsupported", "not_found"];
        assert!(kind.iter().any(|kind| text.contains(kind)), "{address}: {text}");
        assert!(text.contains("error"), "{address}: {text}");
    }
}

/// E15: who would answer, and why nobody else, from the choice that a call makes.
#[test]
fn e15_explain_prints_who_would_answer_and_who_was_passed_over() {
    let home = petasos_testkit::Home::temp();
    home.write(".petasos/config.yaml", "image_gen:\n  provider: openai\n  fallback: [fal]\n");
    home.write(".petasos/.env", "OPENAI_API_KEY=sk-paint-0123456789abcdef\n");
    let explain = |tool: &str| {
        let told = petasos(&home).run(&["tools", "explain", tool, "--json"]).json();
        let steps = told["steps"].as_array().expect("steps").clone();
        let provider = steps.into_iter().filter(|step| step["step"] == "provider");
        provider.map(|step| step["detail"].to_string()).collect::<Vec<_>>().join("\n")
    };
    let told = explain("image_generate");
    assert!(told.contains("names `openai`") && told.contains("gpt-image-2-medium"), "{told}");
    assert!(told.contains("names `fal`") && told.contains("FAL_KEY"), "{told}");
    assert!(!told.contains("sk-paint"), "{told}");
    assert!(explain("text_to_speech").contains("tts.provider is not set"));
    assert!(!explain("video_generate").is_empty());
}

/// E3: whatever is listed or checked, nobody is asked anything; every way out leads to one door here.
#[test]
fn e3_no_listing_and_no_check_of_media_opens_a_socket() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let home = petasos_testkit::Home::temp();
    let sections = ["image_gen", "video_gen", "tts", "stt"].map(|section| {
        let provider = if section == "video_gen" { "xai" } else { "openai" };
        format!("{section}:\n  provider: {provider}\n  {provider}:\n    base_url: {url}\n")
    });
    home.write(".petasos/config.yaml", sections.concat());
    let run = |words: &[&str]| {
        let told = petasos(&home)
            .with("OPENAI_API_KEY", "sk-paint-0123456789abcdef")
            .with("XAI_API_KEY", "xai-0123456789abcdef")
            .with("HTTP_PROXY", &url)
            .with("HTTPS_PROXY", &url)
            .with("ALL_PROXY", &url)
            .run(words);
        assert_eq!(told.code, Some(0), "{words:?}: {}", told.stderr);
        told.stdout
    };
    let listed = run(&["tools", "list", "--all"]);
    assert!(listed.contains("image_generate") && listed.contains("xai_video_edit"), "{listed}");
    for tool in
        ["image_generate", "video_generate", "text_to_speech", "vision_analyze", "skill_view"]
    {
        run(&["tools", "explain", tool]);
    }
    run(&["skills", "list"]);
    run(&["skills", "check"]);
    listener.set_nonblocking(true).expect("a listener");
    assert!(listener.accept().is_err(), "somebody was asked");
}

/// E9: after a whole run with pictures and speech no file of the home but `.env`, no output and no
/// message holds a key.
#[test]
fn e9_no_key_is_left_anywhere_after_a_run() {
    const KEY: &str = "sk-paint-0123456789abcdef";
    let (url, asked) = crate::making::painter();
    let model = Loopback::saying(vec![
        Say::Calls(vec![
            ("image_generate", json!({ "prompt": "a red kite" })),
            ("text_to_speech", json!({ "text": "a red kite" })),
        ]),
        Say::Text("done"),
    ]);
    let home = model.home();
    let config = format!(
        "{}image_gen:\n  provider: openai\n  openai:\n    base_url: {url}\ntts:\n  provider: \
         openai\n  openai:\n    base_url: {url}\n",
        model.config()
    );
    home.write(".petasos/config.yaml", config);
    home.write(".petasos/.env", format!("OPENAI_API_KEY={KEY}\n"));
    let told = petasos(&home).run(&["run", "draw and say"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(asked.recv().expect("it was asked").contains(KEY), "the vendor has it");
    assert!(!told.stdout.contains(KEY) && !told.stderr.contains(KEY));
    assert!(!model.asked().iter().any(|body| body.to_string().contains(KEY)));
    let mut waiting = vec![home.user().to_owned()];
    let mut looked = 0;
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if entry.file_name() != ".env" && path.is_file() {
                let bytes = std::fs::read(&path).unwrap_or_default();
                let has = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
                assert!(!has, "{}", path.display());
                looked += 1;
            }
        }
    }
    assert!(looked > 3, "{looked}");
}
