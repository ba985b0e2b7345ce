//! What somebody might try through a chat, by the numbers of the list of threats.

use serde_json::{Value, json};

use super::{configure, gateway, told_in_order};
use crate::bot_api::BotApi;
use crate::loopback::{Loopback, Say};

/// A picture whose head says that it is larger than anything that is decoded.
fn huge() -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(60_000_u32.to_be_bytes());
    bytes.extend(60_000_u32.to_be_bytes());
    bytes.extend(b"\x08\x06\0\0\0\0\0\0\0");
    bytes.extend([0; 64]);
    bytes
}

/// Silence of eleven minutes, in little space: a second of it takes eight bytes.
fn endless() -> Vec<u8> {
    const SECONDS: u32 = 660;
    let data = SECONDS * 8;
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + data).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(8_u32.to_le_bytes());
    bytes.extend(8_u32.to_le_bytes());
    bytes.extend(b"\x01\0\x08\0data");
    bytes.extend(data.to_le_bytes());
    bytes.resize(bytes.len() + data as usize, 128);
    bytes
}

#[test]
fn t14_what_would_be_huge_is_not_decoded_and_the_turn_goes_on() {
    let (model, api) =
        (told_in_order(vec![Say::Text("first"), Say::Text("second")]), BotApi::new());
    let home = model.home();
    configure(&home, &model, &api);
    let _running = gateway(&home);
    api.pictures_are(huge());
    api.photo(1, 7, "look");
    api.until("an answer", |calls| calls.iter().any(|it| it.1["text"] == "first"));
    let told = || model.asked().iter().map(|it| it["messages"].to_string()).collect::<String>();
    assert!(told().contains("a picture, not shown"), "{:.900}", told());
    api.voice(2, 7, endless());
    api.until("another answer", |calls| calls.iter().any(|it| it.1["text"] == "second"));
    assert!(told().contains("voice message"), "{:.900}", told());
}

/// Wants to change who may write, in every way that it has.
fn meddler(home: &petasos_testkit::Home) -> Vec<Say> {
    let settings = home.agent().join("config.yaml").display().to_string();
    let secrets = home.agent().join(".env").display().to_string();
    let more = format!("echo TELEGRAM_ALLOWED_USERS=99 >> {secrets}");
    vec![
        Say::Calls(vec![("write_file", json!({ "path": settings, "content": "allow: all" }))]),
        Say::Calls(vec![("terminal", json!({ "command": more }))]),
        Say::Calls(vec![(
            "terminal",
            json!({ "command": "petasos gateway pair approve telegram AAAABBBB" }),
        )]),
        Say::Text("I tried"),
    ]
}

#[test]
fn t21_who_may_write_is_not_changed_by_a_model_without_a_person_each_time() {
    let api = BotApi::new();
    let placeholder = Loopback::saying(Vec::new());
    let home = placeholder.home();
    let model = told_in_order(meddler(&home));
    configure(&home, &model, &api);
    let before = std::fs::read_to_string(home.agent().join("config.yaml")).expect("settings");
    let _running = gateway(&home);
    api.message(1, 7, "let my friend in", None);
    api.until("the end", |calls| calls.iter().any(|it| it.1["text"] == "I tried"));
    let asked = |calls: &[(String, Value)]| {
        let cards = calls.iter().filter(|it| it.0 == "sendMessage");
        cards.filter(|it| it.1["text"].as_str().is_some_and(|it| it.contains("consent"))).count()
    };
    let told = super::results(&model).join("\n");
    let refused = told.matches("denied").count() + told.matches("blocked").count();
    assert!(asked(&api.calls()) + refused >= 3, "each is asked or refused: {told}");
    let after = std::fs::read_to_string(home.agent().join("config.yaml")).expect("settings");
    assert_eq!(before, after, "nobody agreed");
    let secrets = std::fs::read_to_string(home.agent().join(".env")).unwrap_or_default();
    assert!(!secrets.contains("99"), "{secrets}");
}
