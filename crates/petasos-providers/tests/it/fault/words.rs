//! What a person reads when a question fails: whose words, where, and what was tried.

use serde_json::json;

use super::scene::{Scene, Setup, alone, closed};
use super::server::{Act, answer, error};

async fn line(main: Vec<Act>) -> String {
    Scene::new(alone(main)).await.ask().await.unwrap_err().line
}

#[tokio::test]
async fn the_provider_s_own_words_and_address_reach_the_person() {
    let cases = [
        (400, "`foo` is not a known field"),
        (403, "Country, region, or territory not supported"),
        (404, "route /v2 has moved"),
        (402, "Your balance is 0.00 USD"),
    ];
    for (status, words) in cases {
        let body = json!({"error": {"message": format!("{words}\n\nkey-main-0001")}});
        let line = line(vec![answer(status, &[], &body.to_string())]).await;
        assert!(line.contains(words), "{line}");
        assert!(line.contains("at http://127.0.0.1:"), "{line}");
        assert!(line.contains(&format!("({status})")), "{line}");
        assert!(!line.contains("key-main-0001") && !line.contains('\n'), "{line}");
    }
    let long = json!({"error": {"message": "word ".repeat(1_000)}}).to_string();
    let line = line(vec![answer(400, &[], &long)]).await;
    assert!(line.chars().count() < 600, "{}", line.chars().count());
}

#[tokio::test]
async fn a_redirect_and_a_closed_port_are_told_apart_from_silence() {
    let redirect = answer(307, &[("location", "https://elsewhere.test/v1")], "");
    let redirected = line(vec![redirect]).await;
    assert!(redirected.contains("redirects elsewhere"), "{redirected}");
    assert!(redirected.contains("https://elsewhere.test/v1"), "{redirected}");
    let scene = Scene::new(Setup { main_at: Some(closed().await), ..Setup::default() }).await;
    let refused = scene.ask().await.unwrap_err().line;
    assert!(refused.contains("cannot be reached"), "{refused}");
    assert!(refused.to_lowercase().contains("connection refused"), "{refused}");
}

#[tokio::test]
async fn after_a_chain_every_candidate_says_why_it_failed() {
    let unpaid = answer(402, &[], r#"{"error":{"message":"no credit left"}}"#);
    let setup =
        Setup { main: vec![unpaid], spare: vec![error(401)], has_spare: true, ..Setup::default() };
    let scene = Scene::new(setup).await;
    let line = scene.ask().await.unwrap_err().line;
    for part in ["no credit left", "`absent` has no key", "did not accept the credential (401)"] {
        assert!(line.contains(part), "{part} is missing: {line}");
    }
}
