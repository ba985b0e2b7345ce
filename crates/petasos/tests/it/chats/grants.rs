//! How far a "yes" in a chat reaches: a session's ends with it, "always" stays in the settings.

use serde_json::{Value, json};

use super::gateway;
use crate::bot_api::BotApi;
use crate::loopback::{Loopback, Say};

/// Deletes a folder when a person says something, and says so afterwards.
fn cleaner() -> Loopback {
    Loopback::answering(|body: &Value| {
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let last = messages.last().map(|it| it["role"].clone()).unwrap_or_default();
        let cleans = messages.iter().rev().find(|it| it["role"] == "user");
        let cleans = cleans.is_some_and(|it| it["content"].to_string().contains("clean"));
        match last.as_str() {
            Some("user") if body["tools"].is_array() && cleans => {
                Say::Calls(vec![("terminal", json!({ "command": "rm -rf build" }))])
            }
            Some("tool") => Say::Text("cleaned"),
            _ => Say::Text("a title"),
        }
    })
}

fn texts(api: &BotApi) -> Vec<String> {
    let sent = api.calls().into_iter().filter(|(method, _)| method == "sendMessage");
    sent.map(|(_, body)| body["text"].as_str().unwrap_or_default().to_owned()).collect()
}

fn count(calls: &[(String, Value)], part: &str) -> usize {
    let has = |body: &Value| body["text"].as_str().is_some_and(|text| text.contains(part));
    calls.iter().filter(|(method, body)| method == "sendMessage" && has(body)).count()
}

#[test]
fn s77_a_grant_of_a_session_ends_with_it_and_one_for_always_is_kept_with_the_comments() {
    let (model, api) = (cleaner(), BotApi::new());
    let home = model.home();
    let more = "# keep me\ncommand_allowlist: []  # and me\napprovals:\n  gateway_timeout: 120\n\
                display:\n  platforms:\n    telegram:\n      streaming: false\n";
    home.write(".petasos/config.yaml", format!("{}{}{more}", model.config(), api.config()));
    let _running = gateway(&home);
    let (mut id, mut cleaned, mut cards) = (0, 0, 0);
    let mut says = |text: &str| {
        id += 1;
        api.message(id, 7, text, None);
    };
    let mut cleans = |answer: Option<&str>, says: &mut dyn FnMut(&str)| {
        says("clean up");
        if let Some(answer) = answer {
            cards += 1;
            api.until("a card", |calls| count(calls, "needs your consent") == cards);
            says(answer);
        }
        cleaned += 1;
        api.until("the end of the turn", |calls| {
            calls.iter().filter(|it| it.1["text"] == "cleaned").count() == cleaned
        });
        assert_eq!(count(&api.calls(), "needs your consent"), cards, "{:#?}", texts(&api));
    };
    cleans(Some("session 1"), &mut says);
    cleans(None, &mut says);
    says("/new now");
    api.until("a new conversation", |calls| count(calls, "New conversation") == 1);
    cleans(Some("always 1"), &mut says);
    // It is about this folder, and lies beside the settings, whose comments nobody touched.
    let granted = std::fs::read_to_string(home.agent().join("grants.json")).expect("grants");
    assert!(granted.contains("recursive delete") && granted.contains("work/build"), "{granted}");
    let kept = std::fs::read_to_string(home.agent().join("config.yaml")).expect("settings");
    assert!(kept.contains("# keep me") && kept.contains("# and me"), "{kept}");
    says("/new now");
    api.until("another conversation", |calls| count(calls, "New conversation") == 2);
    cleans(None, &mut says);
}
