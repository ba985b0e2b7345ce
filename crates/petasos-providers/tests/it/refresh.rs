//! Renewing logins: two processes at once, refusals, and what is left on disk.

use std::path::Path;
use std::time::Duration;

use petasos_contract::Secret;
use petasos_net::{Allowed, Method, Net, Request, Scope, Url};
use petasos_providers::credential::borrowed::ClaudeCode;
use petasos_providers::credential::login::{Login, RefreshToken};
use petasos_providers::credential::refresh::{RefreshError, Why, refresh};
use petasos_providers::credential::spec::{Holder, Renewal, Style};
use petasos_providers::credential::store::{AuthFile, update, write_private};
use serde_json::json;

use crate::token_server::TokenServer;

const ROUNDS: u64 = 200;
const VARIABLE: &str = "PETASOS_TEST_RENEWAL";

fn renewal(holder: Holder, urls: &[String]) -> Renewal {
    Renewal {
        provider: "nous".to_owned(),
        holder,
        token_urls: urls.to_vec(),
        client_id: "test".to_owned(),
        style: Style::Form,
        scope: Scope::new([Allowed::Loopback]),
        timeout: Duration::from_secs(10),
    }
}

fn stored(home: &Path, url: &str) -> Renewal {
    let holder = Holder::Store { home: home.to_owned(), provider: "nous".to_owned() };
    renewal(holder, &[format!("{url}/token")])
}

async fn log_in(home: &Path) {
    let (access, refresh) = (Some(Secret::new("at-000000")), Some(RefreshToken::new("rt-000000")));
    let login = Login { access, refresh, ..Login::default() };
    update(home, |file| file.set_login("nous", &login)).await.unwrap();
}

/// The other end of the test below: meets its twin, renews, reports, two hundred times.
#[tokio::test]
#[ignore = "helper process: started by two_processes_renew_one_login_without_losing_it"]
#[expect(clippy::disallowed_methods, reason = "the parent test hands over an address and a folder")]
async fn a_process_that_renews() {
    let Ok(place) = std::env::var(VARIABLE) else { return };
    let (url, home) = place.split_once('|').unwrap();
    let (net, renewal) = (Net::default(), stored(Path::new(home), url));
    let post = async |path: &str, body: String| {
        let request =
            Request::new(Method::POST, Url::parse(&format!("{url}{path}")).unwrap()).body(body);
        net.send(request).await.unwrap().bytes(100, Duration::from_secs(5)).await.unwrap();
    };
    let mut seen = Secret::new("at-000000");
    for _ in 0..ROUNDS {
        post("/meet", "x".to_owned()).await;
        let login = refresh(&renewal, Some(&seen), Why::Refused, &net).await.unwrap();
        seen = login.access.unwrap();
        post("/report", seen.expose().to_owned()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "two processes are what is tested")]
async fn two_processes_renew_one_login_without_losing_it() {
    let server = TokenServer::start().await;
    let home = tempfile::tempdir().unwrap();
    log_in(home.path()).await;
    let place = format!("{}|{}", server.url, home.path().display());
    // A build that runs meanwhile replaces this program on disk; the link leads to the one running.
    let running = Path::new("/proc/self/exe");
    let program =
        if running.exists() { running.to_owned() } else { std::env::current_exe().unwrap() };
    let child = || {
        let mut command = tokio::process::Command::new(&program);
        command.args(["--exact", "refresh::a_process_that_renews", "--ignored"]);
        command.env(VARIABLE, &place).kill_on_drop(true).output()
    };
    let (one, two) = tokio::join!(child(), child());
    for output in [one.unwrap(), two.unwrap()] {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let ledger = server.ledger.lock().unwrap();
    assert_eq!((ledger.granted, ledger.reused), (ROUNDS, 0));
    let expected: Vec<String> =
        (1..=ROUNDS).flat_map(|round| vec![format!("at-{round:06}"); 2]).collect();
    assert_eq!(ledger.reports, expected, "both hold the same token after every round");
    let kept = AuthFile::read(home.path()).unwrap().login("nous").unwrap();
    assert_eq!((kept.refresh, kept.generation), (Some(RefreshToken::new("rt-000200")), ROUNDS));
}

#[tokio::test]
async fn a_token_that_still_lives_is_not_renewed_unless_it_was_refused() {
    let server = TokenServer::start().await;
    let home = tempfile::tempdir().unwrap();
    log_in(home.path()).await;
    let (net, renewal) = (Net::default(), stored(home.path(), &server.url));
    let seen = Secret::new("at-000000");
    let kept = refresh(&renewal, Some(&seen), Why::Expiring, &net).await.unwrap();
    assert_eq!((kept.access, server.ledger.lock().unwrap().granted), (Some(seen.clone()), 0));
    let new = refresh(&renewal, Some(&seen), Why::Refused, &net).await.unwrap();
    assert_eq!(new.access, Some(Secret::new("at-000001")));
    let previous = std::fs::read_to_string(home.path().join("auth.json.previous")).unwrap();
    assert!(previous.contains("rt-000000"), "the generation before is kept");
}

#[tokio::test]
async fn a_passing_failure_leaves_the_tokens_alone_and_a_final_one_is_remembered() {
    let server = TokenServer::start().await;
    let home = tempfile::tempdir().unwrap();
    log_in(home.path()).await;
    let (net, renewal) = (Net::default(), stored(home.path(), &server.url));
    let seen = Secret::new("at-000000");
    let login = || AuthFile::read(home.path()).unwrap().login("nous").unwrap();
    for (status, body) in [(503, "busy"), (429, "{}"), (200, "<html>")] {
        server.say(status, body);
        let error = refresh(&renewal, Some(&seen), Why::Refused, &net).await.unwrap_err();
        assert!(!error.needs_person(), "{status}: {error}");
        assert_eq!((login().access, login().dead), (Some(seen.clone()), None));
    }
    server.say(400, r#"{"error":"invalid_grant"}"#);
    let error = refresh(&renewal, Some(&seen), Why::Refused, &net).await.unwrap_err();
    assert!(matches!(error, RefreshError::Rejected { .. }), "{error}");
    let asked = server.ledger.lock().unwrap().bodies.len();
    assert!(refresh(&renewal, Some(&seen), Why::Refused, &net).await.unwrap_err().needs_person());
    assert_eq!(
        server.ledger.lock().unwrap().bodies.len(),
        asked,
        "it fails fast without asking again"
    );
    assert_eq!(login().refresh, Some(RefreshToken::new("rt-000000")), "nothing is thrown away");
}

#[tokio::test]
async fn the_second_place_is_asked_when_the_first_is_out_of_order() {
    let server = TokenServer::start().await;
    let home = tempfile::tempdir().unwrap();
    log_in(home.path()).await;
    server.say(502, "bad gateway");
    let urls = [format!("{}/first", server.url), format!("{}/second", server.url)];
    let renewal = Renewal { token_urls: urls.to_vec(), ..stored(home.path(), &server.url) };
    let login = refresh(&renewal, Some(&Secret::new("at-000000")), Why::Refused, &Net::default())
        .await
        .unwrap();
    assert_eq!(login.access, Some(Secret::new("at-000001")));
}

#[tokio::test]
async fn a_refresh_token_goes_nowhere_but_to_its_token_host() {
    let server = TokenServer::start().await;
    let home = tempfile::tempdir().unwrap();
    log_in(home.path()).await;
    let scope = Scope::new([Allowed::Host("portal.nousresearch.com".to_owned())]);
    let renewal = Renewal { scope, ..stored(home.path(), &server.url) };
    assert!(
        refresh(&renewal, Some(&Secret::new("at-000000")), Why::Refused, &Net::default())
            .await
            .is_err()
    );
    assert!(server.ledger.lock().unwrap().bodies.is_empty());
}

#[tokio::test]
async fn claude_codes_file_is_renewed_in_place_and_keeps_what_we_do_not_know() {
    let server = TokenServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".credentials.json");
    let before = json!({"claudeAiOauth": {"accessToken": "at-000000", "refreshToken": "rt-000000", "expiresAt": 1,
        "scopes": ["user:inference"], "subscriptionType": "max"}, "other": true});
    write_private(&path, &before).unwrap();
    let renewal =
        renewal(Holder::ClaudeCode { path: path.clone() }, &[format!("{}/token", server.url)]);
    refresh(&renewal, Some(&Secret::new("at-000000")), Why::Expiring, &Net::default())
        .await
        .unwrap();
    let after: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(after["claudeAiOauth"]["accessToken"], "at-000001");
    assert_eq!(after["claudeAiOauth"]["subscriptionType"], "max");
    assert_eq!(after["other"], true);
    assert!(!ClaudeCode::read(&path).unwrap().unwrap().login.is_due(1_700_000_000_000, 60_000));
}
