//! From nothing to the first answer: what a person has to press, with a server of this machine, a
//! pasted key, a code on another device and a page in the browser.

use petasos_testkit::Home;
use serde_json::json;

use super::pane::{Pane, Start};
use crate::loopback::{Loopback, Say};
use crate::vendor::{self, Asked, Reply, Vendors};

const ASKED: &str = "pasted key or URL";
const KEY: &str = "sk-or-v1-0123456789abcdef0123456789abcdef";

fn start(variables: &str) -> Start<'_> {
    Start { arguments: "", variables, ..Start::default() }
}

#[test]
fn a_server_that_is_found_needs_one_enter() {
    let model = Loopback::saying(vec![Say::Text("ready"), Say::Text("hello there")]);
    let home = Home::temp();
    let place = model.url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let variables = format!("OLLAMA_HOST={place}");
    let Some(pane) = Pane::open("found server", &home, &start(&variables)) else { return };
    pane.see("1. ollama double (local server at ");
    pane.see(ASKED);
    pane.press(&["Enter"]);
    pane.see("double answers; saved in");
    pane.ready_after("sandbox off");
    assert_eq!(pane.pressed(), (1, 0, 0), "one Enter to the chat");
    pane.enter("hi");
    pane.ready_after("hello there");
    let (.., others) = pane.pressed();
    assert!(others <= 4, "to the first answer: {others} keys beyond Enter");
    let saved = std::fs::read_to_string(home.agent().join("config.yaml")).expect("a file");
    assert!(saved.contains("ollama") && saved.contains(&place), "{saved}");
}

#[test]
fn a_pasted_key_needs_one_paste_and_two_enters() {
    let home = Home::temp();
    let vendors = Vendors::answering(&home, |asked, _| vendor::model(asked, "hello by key"));
    let variables = vendors.variables();
    let Some(pane) = Pane::open("pasted key", &home, &start(&variables)) else { return };
    pane.see(ASKED);
    pane.paste(KEY);
    pane.press(&["Enter"]);
    pane.see("Model (Enter takes");
    pane.press(&["Enter"]);
    pane.see("answers; saved in");
    pane.ready_after("sandbox off");
    assert_eq!(pane.pressed(), (2, 1, 0), "one paste and two Enters to the chat");
    pane.enter("hi");
    pane.ready_after("hello by key");
    let said = vendors.asked("/api/v1/chat/completions");
    let own = |one: &Asked| one.host == "openrouter.ai" && one.authorization == KEY;
    assert!(!said.is_empty() && said.iter().all(own), "{said:?}");
    let kept = std::fs::read_to_string(home.agent().join(".env")).expect("a file");
    assert!(kept.contains("OPENROUTER_API_KEY"), "{kept}");
}

fn wrong_key(_: &Asked, _: usize) -> Reply {
    let error = json!({ "error": { "message": "No auth credentials found", "code": 401 } });
    (401, error.to_string())
}

#[test]
fn a_key_that_does_not_answer_is_not_stored() {
    let home = Home::temp();
    let vendors = Vendors::answering(&home, wrong_key);
    let variables = vendors.variables();
    let Some(pane) = Pane::open("wrong key", &home, &start(&variables)) else { return };
    pane.see(ASKED);
    pane.paste(KEY);
    pane.press(&["Enter"]);
    let screen = pane.see("Nothing was saved.");
    assert!(screen.contains("No auth credentials found"), "in the provider's words: {screen}");
    pane.enter("q");
    pane.see("[ended with 1]");
    assert!(!home.agent().join(".env").exists() && !home.agent().join("config.yaml").exists());
}

fn device(asked: &Asked, before: usize) -> Reply {
    match asked.path.as_str() {
        "/api/oauth/device/code" => {
            let code = json!({ "device_code": "dc-1", "user_code": "ABCD-EFGH", "interval": 1,
                "verification_uri": "https://portal.nousresearch.com/device", "expires_in": 600 });
            (200, code.to_string())
        }
        "/api/oauth/token" if before == 0 => {
            (400, json!({ "error": "authorization_pending" }).to_string())
        }
        "/api/oauth/token" => {
            let token = json!({ "access_token": "at-device-0123456789", "refresh_token": "rt-1",
                "token_type": "Bearer", "expires_in": 3600, "scope": "inference:invoke" });
            (200, token.to_string())
        }
        _ => vendor::model(asked, "hello by device"),
    }
}

#[test]
fn a_code_on_another_device_leads_to_the_chat() {
    let home = Home::temp();
    let vendors = Vendors::answering(&home, device);
    let variables = vendors.variables();
    let Some(pane) = Pane::open("device login", &home, &start(&variables)) else { return };
    pane.see(ASKED);
    pane.enter("login nous");
    pane.see("Open https://portal.nousresearch.com/device and enter the code ABCD-EFGH");
    pane.see("Model (Enter takes");
    pane.press(&["Enter"]);
    pane.see("answers; saved in");
    pane.ready_after("sandbox off");
    pane.enter("hi");
    pane.ready_after("hello by device");
    let said = vendors.asked("/v1/chat/completions");
    assert!(said.iter().all(|one| one.authorization == "at-device-0123456789"), "{said:?}");
    assert!(said.iter().all(|one| one.host == "inference-api.nousresearch.com"), "{said:?}");
    let config = std::fs::read_to_string(home.agent().join("config.yaml")).expect("a file");
    assert!(config.contains("provider: nous") && !config.contains("at-device"), "{config}");
}

fn denied(asked: &Asked, before: usize) -> Reply {
    match asked.path.as_str() {
        "/api/oauth/token" => (400, json!({ "error": "access_denied" }).to_string()),
        _ => device(asked, before),
    }
}

#[test]
fn a_login_that_is_refused_is_told_and_asked_again() {
    let home = Home::temp();
    let vendors = Vendors::answering(&home, denied);
    let variables = vendors.variables();
    let Some(pane) = Pane::open("refused login", &home, &start(&variables)) else { return };
    pane.see(ASKED);
    pane.enter("login nous");
    pane.see("refused on the other device");
    pane.until("the question again", |screen| screen.matches(ASKED).count() == 2);
    pane.enter("login openrouter");
    pane.see("`openrouter` has no login; type its name to give a key");
    pane.enter("q");
    pane.see("[ended with 1]");
    assert!(!home.agent().join("config.yaml").exists());
}

fn browser(asked: &Asked, _: usize) -> Reply {
    if asked.path != "/v1/oauth/token" {
        return vendor::model(asked, "hello by browser");
    }
    let token = json!({ "access_token": "sk-ant-oat01-0123456789abcdef", "refresh_token": "rt-1",
        "token_type": "Bearer", "expires_in": 3600 });
    (200, token.to_string())
}

#[test]
fn a_page_in_the_browser_leads_to_the_chat() {
    let home = Home::temp();
    let vendors = Vendors::answering(&home, browser);
    let variables = vendors.variables();
    let Some(pane) = Pane::open("browser login", &home, &start(&variables)) else { return };
    pane.see(ASKED);
    pane.enter("login anthropic");
    let screen = pane.see("code_challenge_method=S256");
    let address = screen.split("https://claude.ai/oauth/authorize?").nth(1).expect("an address");
    let state = address.split("state=").nth(1).expect("a state");
    let end = state.find(|sign: char| sign == '&' || sign.is_whitespace()).expect("its end");
    pane.enter(&format!("code-1#{}", state.get(..end).expect("a state")));
    pane.see("Model (Enter takes");
    pane.press(&["Enter"]);
    pane.see("answers; saved in");
    pane.ready_after("sandbox off");
    pane.enter("hi");
    pane.ready_after("hello by browser");
    let exchanged = vendors.asked("/v1/oauth/token");
    assert!(exchanged.iter().all(|one| one.host == "console.anthropic.com"), "{exchanged:?}");
    assert!(exchanged.iter().any(|one| one.body.contains("code-1")), "{exchanged:?}");
    let said = vendors.asked("/v1/messages");
    let bearer = |one: &Asked| one.authorization == "sk-ant-oat01-0123456789abcdef";
    assert!(!said.is_empty() && said.iter().all(bearer), "{said:?}");
}
