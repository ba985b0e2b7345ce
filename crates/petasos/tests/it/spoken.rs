//! Words that are spoken to the program, and what it makes where its commands run.

use std::path::Path;

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::bot_api::{BotApi, TOKEN};
use crate::loopback::{Loopback, Say};
use crate::making::painter;
use crate::petasos;
use crate::serve::Server;
use crate::vendor::{Asked, Reply, Vendors};

#[expect(clippy::disallowed_methods, reason = "the service tells its place by a variable")]
fn service(test: &str, name: &str) -> Option<String> {
    let value = std::env::var(format!("PETASOS_TEST_SPEECH_{name}")).ok();
    if value.is_none() {
        petasos_testkit::skip(test, "speech", "the service is not running");
    }
    value
}

/// Speech of espeak-ng as a voice message of a chat.
fn opus(home: &Home, text: &str) -> Option<Vec<u8>> {
    if !["espeak-ng", "ffmpeg"].iter().all(|name| Path::new("/usr/bin").join(name).is_file()) {
        petasos_testkit::skip("a voice message", "espeak-ng", "it is not installed");
        return None;
    }
    let file = home.user().join("said.ogg").display().to_string();
    let line = format!(
        "espeak-ng -v en-us -s 140 --stdout '{text}' | ffmpeg -v error -y -i - -ac 1 -c:a libopus \
         -b:a 32k {file}"
    );
    #[expect(clippy::disallowed_methods, reason = "a test speaks")]
    let ran = std::process::Command::new("sh").args(["-c", &line]).status().expect("a shell");
    assert!(ran.success());
    Some(std::fs::read(file).expect("it was said"))
}

fn gateway(home: &Home, config: &str) -> Server {
    home.write(".petasos/config.yaml", config);
    let variables = [
        ("TELEGRAM_BOT_TOKEN", TOKEN),
        ("TELEGRAM_ALLOWED_USERS", "7"),
        // Its line says when it is ready.
        ("WEBHOOK_ENABLED", "true"),
        ("WEBHOOK_PORT", "0"),
        ("WEBHOOK_SECRET", "the-secret-of-the-test"),
    ];
    Server::start(home, &["gateway", "run"], &variables)
}

fn told(model: &Loopback) -> String {
    model.asked().last().map(|asked| asked["messages"].to_string()).unwrap_or_default()
}

/// E135: a voice message in Opus is heard by a real recogniser, shown in its chat, and answered.
#[test]
fn e135_a_voice_message_is_really_heard_and_shown_in_its_chat() {
    let test = "e135_a_voice_message_is_really_heard_and_shown_in_its_chat";
    let (Some(python), Some(script)) =
        (service(test, "SPEECH_PYTHON"), service(test, "SPEECH_HEAR"))
    else {
        return;
    };
    let (model, api) = (Loopback::saying(vec![Say::Text("done")]), BotApi::new());
    let home = model.home();
    let Some(voice) = opus(&home, "Open the window and close the door.") else { return };
    let hears = format!(
        "stt:\n  provider: moonshine\n  providers:\n    moonshine:\n      type: command\n      \
         command: {python} {script} {{input_path}}\n"
    );
    let _gateway = gateway(&home, &format!("{}{}{hears}", model.config(), api.config()));
    api.voice(1, 7, voice);
    let sent = api.sent(2);
    let echo = sent[0]["text"].as_str().unwrap_or_default().to_lowercase();
    assert!(echo.contains("🎙") && echo.contains("open the window and close the door"), "{echo}");
    assert_eq!(sent[1]["text"], "done");
    let told = told(&model).to_lowercase();
    assert!(told.contains("[spoken] open the window and close the door"), "{told:.900}");
    assert!(told.contains("cache/audio/"), "the file is told: {told:.900}");
}

/// E135: where nobody listens the turn has the file and its length, and no advice.
#[test]
fn e135_where_nobody_listens_the_length_of_a_voice_message_is_told() {
    let (model, api) = (Loopback::saying(vec![Say::Text("done")]), BotApi::new());
    let home = model.home();
    let Some(voice) = opus(&home, "Open the window and close the door.") else { return };
    let off = "stt:\n  enabled: false\n";
    let _gateway = gateway(&home, &format!("{}{}{off}", model.config(), api.config()));
    api.voice(1, 7, voice);
    assert_eq!(api.sent(1)[0]["text"], "done");
    let messages = model.asked()[0]["messages"].as_array().cloned().unwrap_or_default();
    let said = messages.last().map(Value::to_string).unwrap_or_default();
    assert!(said.contains("[voice message of ") && said.contains("cache/audio/"), "{said}");
    assert!(!said.contains("stt") && !said.contains("install"), "{said}");
}

/// E13: speech and films are where commands run, too, and private here.
#[test]
#[expect(clippy::disallowed_methods, reason = "the service tells its address by a variable")]
fn e13_speech_and_films_are_where_commands_run() {
    let test = "e13_speech_and_films_are_where_commands_run";
    let Ok(host) = std::env::var("PETASOS_TEST_DOCKER_DOCKER_HOST") else {
        return petasos_testkit::skip(test, "docker", "no engine");
    };
    if !Path::new("/usr/bin/espeak-ng").is_file() {
        return petasos_testkit::skip(test, "espeak-ng", "it is not installed");
    }
    let (url, _asked) = painter();
    let look =
        json!({ "command": "head -c 4 /tmp/audio_*.wav; head -c 12 /tmp/video_*.mp4 | tail -c 8" });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("text_to_speech", json!({ "text": "the kettle boils" }))]),
        Say::Calls(vec![("video_generate", json!({ "prompt": "a kite rises" }))]),
        Say::Calls(vec![("terminal", look)]),
        Say::Text("done"),
    ]);
    let home = model.home();
    let more = format!(
        "tts:\n  provider: espeak\nvideo_gen:\n  provider: deepinfra\n  deepinfra:\n    base_url: \
         {url}\nplatform_toolsets:\n  cli: [tts, video_gen, terminal]\nterminal:\n  backend: \
         docker\n  docker_image: petasos-test:latest\n  container_persistent: false\n"
    );
    home.write(".petasos/config.yaml", format!("{}{more}", model.config()));
    home.write(".petasos/.env", "DEEPINFRA_API_KEY=di-0123456789abcdef\n");
    let ran = petasos(&home).with("DOCKER_HOST", &host).run(&["run", "--yolo", "speak and film"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = told(&model);
    for part in
        [r#"agent_path\":\"/tmp/audio_"#, r#"agent_path\":\"/tmp/video_"#, "RIFF", "ftypisom"]
    {
        assert!(told.contains(part), "{part}: {told:.4000}");
    }
    for shelf in ["audio", "videos"] {
        let kept = std::fs::read_dir(home.agent().join("cache").join(shelf)).expect("a cache");
        for file in kept.flatten() {
            let about = file.metadata().expect("it").permissions();
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&about) & 0o777, 0o600);
        }
    }
}

/// A bitmap of this many dots a side that no format makes small.
fn noise(side: u32) -> Vec<u8> {
    let size = side * side * 3;
    let mut bytes = b"BM".to_vec();
    bytes.extend((54 + size).to_le_bytes());
    bytes.extend(b"\0\0\0\0\x36\0\0\0\x28\0\0\0");
    bytes.extend(side.to_le_bytes());
    bytes.extend(side.to_le_bytes());
    bytes.extend(b"\x01\0\x18\0");
    bytes.extend([0; 24]);
    let mut state = 0x2545_f491_u32;
    bytes.extend((0..size).map(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    }));
    bytes
}

/// E127: a model that finds a picture too large is shown it once more, smaller, and never again.
#[test]
fn e127_a_picture_that_is_found_too_large_is_shown_once_more() {
    let large = noise(900);
    for (answers, wanted) in [(1, "red and blue"), (2, "too large")] {
        let look = json!({ "image_url": "large.bmp", "question": "which colours?" });
        let mut refusals = answers;
        let seeing = Loopback::answering(move |_| {
            refusals -= 1;
            if refusals >= 0 { Say::Fail(413) } else { Say::Text("red and blue") }
        });
        let model =
            Loopback::saying(vec![Say::Calls(vec![("vision_analyze", look)]), Say::Text("ok")]);
        let home = model.home();
        let blind = format!(
            "{}  supports_vision: false\nauxiliary:\n  vision:\n    base_url: {}\n    model: \
             eyes\n    api_key: sk-eyes-0123456789\n",
            model.config(),
            seeing.url
        );
        home.write(".petasos/config.yaml", blind);
        home.write("work/large.bmp", &large);
        assert_eq!(petasos(&home).run(&["run", "look"]).code, Some(0));
        assert!(told(&model).contains(wanted), "{wanted}: {}", told(&model));
        let asked = seeing.asked();
        assert_eq!(asked.len(), 2, "{wanted}");
        let sizes: Vec<usize> = asked.iter().map(|body| body.to_string().len()).collect();
        assert!(sizes[1] < sizes[0], "{wanted}: {sizes:?}");
    }
}

/// The place where voices are published: a voice, and a page in the place of another one.
fn voices(asked: &Asked, _: usize) -> Reply {
    let is_known =
        asked.host == "huggingface.co" && asked.path.contains("/en/en_US/lessac/medium/");
    match asked.path.rsplit('.').next() {
        Some("json") => (200, json!({ "audio": { "sample_rate": 22_050 } }).to_string()),
        Some("onnx") if is_known => (200, "the weights of a voice".to_owned()),
        _ => (200, "<html>sign in first</html>".to_owned()),
    }
}

/// E9.1: a voice comes when its person says so, and only then.
#[test]
fn e134_a_voice_for_piper_is_fetched_when_its_person_says_so() {
    let home = Home::temp();
    let vendors = Vendors::answering(&home, voices);
    let proxy = vendors.proxy();
    let setup = |words: &[&str]| {
        let program =
            proxy.iter().fold(petasos(&home), |program, (name, value)| program.with(name, value));
        program.run(&[&["setup", "voice"], words].concat())
    };
    let model =
        "/rhasspy/piper-voices/resolve/v1.0.0/en/en_US/lessac/medium/en_US-lessac-medium.onnx";
    let unsaid = setup(&[]);
    assert!(
        unsaid.code == Some(1) && unsaid.stderr.contains("huggingface.co"),
        "{}",
        unsaid.stderr
    );
    assert!(vendors.asked(model).is_empty(), "nobody was asked");
    let odd = setup(&["--yes", "--model", "../../x-y-low"]);
    assert!(odd.code == Some(1) && odd.stderr.contains("no voice of Piper"), "{}", odd.stderr);
    let page = setup(&["--yes", "--model", "de_DE-thorsten-low"]);
    assert!(page.code == Some(1) && page.stderr.contains("is no model"), "{}", page.stderr);
    assert!(!home.agent().join("models/piper").exists(), "nothing half stays");
    let done = setup(&["--yes", "--json"]).json();
    let path = home.agent().join("models/piper/en_US-lessac-medium.onnx");
    assert_eq!(done["path"], path.display().to_string(), "{done}");
    assert_eq!(std::fs::read_to_string(&path).expect("a model"), "the weights of a voice");
    assert!(path.with_extension("onnx.json").is_file());
    let config = std::fs::read_to_string(home.agent().join("config.yaml")).expect("a file");
    assert!(config.contains("en_US-lessac-medium.onnx"), "{config}");
    assert_eq!(vendors.asked(model).len(), 1);
}

/// E9: a program that speaks for us sees no key, neither in its arguments nor around it.
#[test]
fn e9_no_key_reaches_a_program_that_speaks() {
    const KEY: &str = "sk-paint-0123456789abcdef";
    let home = Home::temp();
    let dump = home.user().join("seen");
    home.write(
        ".petasos/config.yaml",
        format!(
            "approvals:\n  mode: off\ntts:\n  provider: mine\n  providers:\n    mine:\n      \
             type: command\n      output_format: wav\n      command: (env; cat \
             /proc/$PPID/cmdline /proc/$$/cmdline) > {0}; printf 'RIFF____WAVEfmt ' > {{output_path}}\n",
            dump.display()
        ),
    );
    home.write(".petasos/.env", format!("OPENAI_API_KEY={KEY}\nELEVENLABS_API_KEY={KEY}\n"));
    let args = json!({ "text": "hello" }).to_string();
    let program = petasos(&home).with("XAI_API_KEY", KEY).with("GROQ_API_KEY", KEY);
    let said = program.run(&["tools", "call", "text_to_speech", &args]);
    assert_eq!(said.json()["success"], true, "{}{}", said.stdout, said.stderr);
    let seen = String::from_utf8_lossy(&std::fs::read(dump).expect("it ran")).into_owned();
    assert!(seen.contains("PATH=") && !seen.contains(KEY), "{seen}");
}
