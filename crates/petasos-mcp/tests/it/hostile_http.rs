//! Servers at an address that misbehave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use petasos_mcp::client::State;
use serde_json::json;

use crate::kit::{Kit, view};
use crate::web::{Asked, Told, Web};

#[tokio::test]
async fn a_reply_that_drips_is_given_up_in_time() {
    let kit = Kit::new();
    let web = Web::serve(|asked| Told { drip: Some(300), ..asked.usual() }).await;
    let begun = Instant::now();
    let entry = json!({ "url": web.url(), "connect_timeout": 1, "skip_preflight": true });
    let servers = kit.start(&[("slow", entry)]).await;
    let State::Failed(why) = view(&servers, "slow").state else { panic!("{servers:?}") };
    assert!(why.contains("did not start within 1 s"), "{why}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_call_whose_reply_drips_ends_at_its_deadline_and_others_go_on() {
    let kit = Kit::new();
    let slow = Web::serve(|asked| match asked.rpc() {
        "tools/call" => Told { drip: Some(100), ..asked.usual() },
        _ => asked.usual(),
    })
    .await;
    let good = Web::serve(Asked::usual).await;
    let entries = [
        ("slow", json!({ "url": slow.url(), "timeout": 1 })),
        ("good", json!({ "url": good.url() })),
    ];
    let servers = kit.start(&entries).await;
    let begun = Instant::now();
    let (late, soon) = tokio::join!(kit.echo("slow", "x"), kit.echo("good", "x"));
    assert!(late.contains("did not answer within 1"), "{late}");
    assert!(
        soon.contains("heard")
            && begun.elapsed() < petasos_testkit::pace::fair(Duration::from_secs(5)),
        "{soon}"
    );
    assert_eq!(view(&servers, "good").state, State::Ready);
}

#[tokio::test]
async fn a_web_page_is_told_apart_and_not_asked_again() {
    let kit = Kit::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let web = Web::serve(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Told { status: 200, ..Told::default() }.with("content-type", "text/html")
    })
    .await;
    let servers = kit.start(&[("page", json!({ "url": web.url() }))]).await;
    let state = view(&servers, "page").state.to_string();
    assert!(state.contains("web page"), "{state}");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_expired_session_is_made_anew_within_the_call() {
    let kit = Kit::new();
    let sessions = Arc::new(AtomicUsize::new(0));
    let made = Arc::clone(&sessions);
    let web = Web::serve(move |asked| match asked.rpc() {
        "initialize" => {
            let session = made.fetch_add(1, Ordering::Relaxed) + 1;
            asked.usual().with("mcp-session-id", &format!("session-{session}"))
        }
        // The first session is forgotten as soon as it is used for a call.
        "tools/call" if asked.header("mcp-session-id").as_deref() == Some("session-1") => {
            Told { status: 404, ..Told::default() }
        }
        _ => asked.usual(),
    })
    .await;
    let servers = kit.start(&[("web", json!({ "url": web.url(), "timeout": 10 }))]).await;
    assert!(kit.echo("web", "x").await.contains("heard"));
    assert_eq!(sessions.load(Ordering::Relaxed), 2);
    assert_eq!(view(&servers, "web").state, State::Ready);
}

#[tokio::test]
async fn what_a_server_answers_to_a_call_is_told_at_once_and_asked_once() {
    let json = ("content-type", "application/json");
    let huge = Told { status: 200, body: vec![b'1'; 17 * 1024 * 1024], ..Told::default() };
    let event = [&b"data: "[..], &vec![b'1'; 17 * 1024 * 1024]].concat();
    let endless = Told { status: 200, body: event, ..Told::default() };
    let answers = [
        (Told { status: 500, ..Told::default() }, "HTTP status 500", true),
        (Told { status: 403, ..Told::default() }, "HTTP status 403", false),
        (
            Told { status: 200, body: b"{".to_vec(), ..Told::default() }.with(json.0, json.1),
            "its answer is of no use",
            true,
        ),
        (huge.with(json.0, json.1), "larger than 16777216 bytes", true),
        (endless.with(json.0, "text/event-stream"), "the limit for one message", false),
    ];
    for (answer, expected, unknown) in answers {
        let (kit, calls) = (Kit::new(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&calls);
        let web = Web::serve(move |asked| match asked.rpc() {
            "tools/call" => {
                count.fetch_add(1, Ordering::Relaxed);
                answer.clone()
            }
            _ => asked.usual(),
        })
        .await;
        let _servers = kit.start(&[("web", json!({ "url": web.url(), "timeout": 60 }))]).await;
        let begun = Instant::now();
        let text = kit.echo("web", "x").await;
        assert!(text.contains(expected), "{expected}: {text}");
        assert_eq!(text.contains(r#""outcome":"unknown""#), unknown, "{text}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{expected}: {:?}", begun.elapsed());
        assert_eq!(calls.load(Ordering::Relaxed), 1, "{expected}");
    }
}

#[tokio::test]
async fn a_wanted_sign_in_is_a_state_and_a_result() {
    let kit = Kit::new();
    let web = Web::serve(|_| {
        Told { status: 401, ..Told::default() }.with("www-authenticate", "Bearer scope=\"mcp\"")
    })
    .await;
    let servers = kit.start(&[("web", json!({ "url": web.url() }))]).await;
    assert!(matches!(view(&servers, "web").state, State::NeedsAuth(_)), "{servers:?}");
    assert_eq!(servers.challenge("web").as_deref(), Some("Bearer scope=\"mcp\""));
    let late = Web::serve(|asked| match asked.rpc() {
        "tools/call" => Told { status: 401, ..Told::default() },
        _ => asked.usual(),
    })
    .await;
    let _servers = kit.start(&[("late", json!({ "url": late.url() }))]).await;
    let text = kit.echo("late", "x").await;
    assert!(text.contains("needs_reauth") && text.contains("petasos mcp login late"), "{text}");
}

#[tokio::test]
async fn nonsense_and_endless_events_are_bounded() {
    let kit = Kit::new();
    let web = Web::serve(|asked| match asked.rpc() {
        "tools/call" => Told { status: 200, body: vec![b'x'; 20 * 1024 * 1024], ..Told::default() }
            .with("content-type", "text/event-stream"),
        _ => asked.usual(),
    })
    .await;
    let broken = Web::serve(|asked| match asked.rpc() {
        "tools/call" => Told { status: 200, body: b"{\"nonsense".to_vec(), ..Told::default() }
            .with("content-type", "application/json"),
        _ => asked.usual(),
    })
    .await;
    let entry = |url: String| json!({ "url": url, "timeout": 5 });
    let entries = [("endless", entry(web.url())), ("broken", entry(broken.url()))];
    let _servers = kit.start(&entries).await;
    for server in ["endless", "broken"] {
        let text = kit.echo(server, "x").await;
        assert!(text.contains("error") && text.len() < 2000, "{server}: {text}");
    }
}

#[tokio::test]
async fn headers_of_the_user_go_to_the_server_and_nowhere_else() {
    let kit = Kit::new();
    let elsewhere = Web::serve(|asked| {
        assert!(asked.header("x-key").is_none() && asked.header("authorization").is_none());
        asked.usual()
    })
    .await;
    let target = elsewhere.url().replace("127.0.0.1", "localhost");
    let web = Web::serve(move |asked| match asked.rpc() {
        "tools/call" => {
            assert_eq!(asked.header("x-key").as_deref(), Some("secret"));
            Told { status: 307, ..Told::default() }.with("location", &target)
        }
        _ => asked.usual(),
    })
    .await;
    let entry =
        json!({ "url": web.url(), "headers": { "X-Key": "secret", "Authorization": "Bearer t" } });
    let _servers = kit.start(&[("web", entry)]).await;
    assert!(kit.echo("web", "x").await.contains("heard"));
}

#[tokio::test]
async fn a_sign_in_over_the_old_transport_is_refused_by_name() {
    let kit = Kit::new();
    let entry = json!({ "url": "http://127.0.0.1:9/sse", "transport": "sse", "auth": "oauth" });
    let servers = kit.start(&[("old", entry)]).await;
    let state = format!("{:?}", view(&servers, "old").state);
    assert!(state.contains("leave out `transport: sse`"), "{state}");
}
