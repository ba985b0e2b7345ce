//! Logging in with a code on another device, probing local servers, exchanging a GitHub token.

use std::time::Duration;

use petasos_contract::Secret;
use petasos_net::{Allowed, Net, Scope};
use petasos_providers::credential::copilot::Exchange;
use petasos_providers::credential::login::RefreshToken;
use petasos_providers::credential::oauth::{
    DeviceFlow, LoginError, Pkce, Polled, Variant, poll, start,
};
use petasos_providers::local;

use crate::token_server::TokenServer;

fn flow(url: &str) -> DeviceFlow {
    DeviceFlow {
        code_url: format!("{url}/code"),
        token_url: format!("{url}/token"),
        client_id: "test".to_owned(),
        scope: "all".to_owned(),
        variant: Variant::Standard,
        hosts: Scope::new([Allowed::Loopback]),
    }
}

const CODE: &str = r#"{"device_code":"dc-1","user_code":"ABCD","verification_uri":"https://x.test/device","interval":2}"#;

#[tokio::test]
async fn a_device_login_waits_slows_down_and_ends() {
    let server = TokenServer::start().await;
    let (net, flow) = (Net::default(), flow(&server.url));
    server.say(200, CODE);
    let code = start(&flow, &net).await.unwrap();
    assert_eq!((code.user_code.as_str(), code.interval), ("ABCD", Duration::from_secs(2)));
    server.say(400, r#"{"error":"authorization_pending"}"#);
    server.say(400, r#"{"error":"slow_down"}"#);
    server.say(200, r#"{"access_token":"at-1","refresh_token":"rt-1","expires_in":60}"#);
    assert_eq!(poll(&flow, &code, &net).await, Ok(Polled::Pending));
    assert_eq!(poll(&flow, &code, &net).await, Ok(Polled::SlowDown));
    let Ok(Polled::Done(login)) = poll(&flow, &code, &net).await else { panic!("not done") };
    assert_eq!(
        (login.access, login.refresh),
        (Some(Secret::new("at-1")), Some(RefreshToken::new("rt-1")))
    );
    let bodies = server.ledger.lock().unwrap().bodies.join("\n");
    assert!(bodies.contains("client_id=test&scope=all") && bodies.contains("device_code=dc-1"));
}

#[tokio::test]
async fn a_device_login_that_was_refused_or_ran_out_says_so() {
    let server = TokenServer::start().await;
    let (net, flow) = (Net::default(), flow(&server.url));
    server.say(200, CODE);
    let code = start(&flow, &net).await.unwrap();
    for (error, wanted) in
        [("access_denied", LoginError::Denied), ("expired_token", LoginError::Expired)]
    {
        server.say(400, &format!(r#"{{"error":"{error}"}}"#));
        assert_eq!(poll(&flow, &code, &net).await, Err(wanted));
    }
    server.say(500, "<html>");
    assert!(matches!(poll(&flow, &code, &net).await, Err(LoginError::Unexpected { .. })));
}

#[tokio::test]
async fn chatgpts_own_variant_takes_not_found_for_not_yet() {
    let server = TokenServer::start().await;
    let flow = DeviceFlow { variant: Variant::Codex, ..flow(&server.url) };
    let net = Net::default();
    server.say(200, r#"{"device_auth_id":"da-1","user_code":"WXYZ","interval":"1"}"#);
    let code = start(&flow, &net).await.unwrap();
    assert_eq!(code.interval, Duration::from_secs(3), "never more often than that");
    server.say(404, "");
    server.say(403, "");
    assert_eq!(poll(&flow, &code, &net).await, Ok(Polled::Pending));
    assert_eq!(poll(&flow, &code, &net).await, Ok(Polled::Pending));
}

#[tokio::test]
async fn a_browser_login_shows_a_proof_and_refuses_a_stranger_s_code() {
    let login = Pkce::anthropic().unwrap();
    assert!(login.authorize_url.starts_with("https://claude.ai/oauth/authorize?"));
    assert!(login.authorize_url.contains("code_challenge_method=S256"));
    assert_ne!(login.authorize_url, Pkce::anthropic().unwrap().authorize_url);
    let error = login.finish("code#other", &Net::default()).await.unwrap_err();
    assert_eq!(error, LoginError::WrongState);
}

#[tokio::test]
async fn a_github_token_is_exchanged_at_its_own_host_only() {
    let server = TokenServer::start().await;
    let net = Net::default();
    let github = Secret::new("gho_0123456789");
    let here = Exchange {
        url: format!("{}/v2/token", server.url),
        scope: Scope::new([Allowed::Loopback]),
    };
    server.say(200, r#"{"token":"tid=1","expires_at":4102444800,"endpoints":{"api":"https://api.x.githubcopilot.com"}}"#);
    let login = here.ask(&github, &net).await.unwrap();
    assert_eq!(login.base_url.as_deref(), Some("https://api.x.githubcopilot.com"));
    let away = Exchange { url: here.url.clone(), ..Exchange::default() };
    let before = server.ledger.lock().unwrap().bodies.len();
    assert!(away.ask(&github, &net).await.is_err());
    assert_eq!(server.ledger.lock().unwrap().bodies.len(), before);
}

#[tokio::test]
async fn a_local_server_is_found_by_its_models_and_a_silent_one_costs_a_moment() {
    let server = TokenServer::start().await;
    let net = Net::default();
    server.say(200, r#"{"object":"list","data":[{"id":"small"},{"id":"large"}]}"#);
    let within = Duration::from_millis(500);
    let found =
        local::probe_one(&net, "vllm", &format!("{}/v1", server.url), within).await.unwrap();
    assert_eq!(found.models, ["small", "large"]);
    server.say(200, "<html>a web site</html>");
    assert_eq!(local::probe_one(&net, "vllm", &format!("{}/v1", server.url), within).await, None);
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let started = std::time::Instant::now();
    assert_eq!(local::probe_one(&net, "vllm", &url, Duration::from_millis(100)).await, None);
    assert!(started.elapsed() < Duration::from_secs(3));
}
