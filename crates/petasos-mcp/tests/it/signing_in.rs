//! Signing in: discovery, registration, PKCE, refresh under a lock, and a refresh that is refused.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::BoxFuture;
use petasos_mcp::client::State;
use petasos_mcp::client::oauth::{Browser, LoginOptions, kept, login};
use petasos_net::{Follow, Method, Request, checked_url};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::kit::{Kit, view};
use crate::web::{Asked, Told, Web};

/// A server with an authorisation server on the same address.
#[derive(Default)]
struct Guarded {
    issued: usize,
    /// The only token that is let in.
    good: String,
    refreshes: usize,
    refresh_refused: bool,
    challenges: HashMap<String, String>,
}

fn form(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn answer(base: &str, state: &Mutex<Guarded>, asked: &Asked) -> Told {
    let mut state = state.lock();
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    match path {
        "/.well-known/oauth-protected-resource" | "/.well-known/oauth-protected-resource/mcp" => {
            Told::json(
                200,
                &json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] }),
            )
        }
        "/.well-known/oauth-authorization-server" => Told::json(
            200,
            &json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
            }),
        ),
        "/register" => Told::json(
            201,
            &json!({
                "client_id": "made-up", "redirect_uris": asked.body["redirect_uris"], "client_name": "x",
            }),
        ),
        "/authorize" => {
            let query = form(query);
            assert_eq!(query.get("code_challenge_method").map(String::as_str), Some("S256"));
            state.challenges.insert("the-code".to_owned(), query["code_challenge"].clone());
            let target =
                format!("http://localhost:1/callback?code=the-code&state={}", query["state"]);
            Told { status: 302, ..Told::default() }.with("location", &target)
        }
        "/token" => token(&mut state, &form(&asked.text)),
        "/mcp" => {
            let shown = asked.header("authorization").unwrap_or_default();
            if shown == format!("Bearer {}", state.good) {
                return asked.usual();
            }
            let metadata =
                format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource\"");
            Told { status: 401, ..Told::default() }.with("www-authenticate", &metadata)
        }
        _ => Told { status: 404, ..Told::default() },
    }
}

fn token(state: &mut Guarded, asked: &HashMap<String, String>) -> Told {
    match asked.get("grant_type").map(String::as_str) {
        Some("authorization_code") => {
            assert!(
                asked.contains_key("code_verifier") && state.challenges.contains_key("the-code")
            );
        }
        Some("refresh_token") => {
            state.refreshes += 1;
            // A refresh token works once.
            if state.refresh_refused
                || asked["refresh_token"] != format!("refresh-{}", state.issued)
            {
                return Told::json(400, &json!({ "error": "invalid_grant" }));
            }
        }
        other => panic!("{other:?}"),
    }
    state.issued += 1;
    state.good = format!("token-{}", state.issued);
    Told::json(
        200,
        &json!({
            "access_token": state.good, "token_type": "Bearer", "expires_in": 3600,
            "refresh_token": format!("refresh-{}", state.issued),
        }),
    )
}

struct Headless(Arc<petasos_net::Net>);

impl Browser for Headless {
    fn visit<'a>(&'a self, link: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let mut request = Request::new(Method::GET, checked_url(link).unwrap());
            request.follow = Follow::Nowhere;
            let reply = self.0.send(request).await.map_err(|error| error.to_string())?;
            Ok(reply.headers["location"].to_str().unwrap().to_owned())
        })
    }
}

#[tokio::test]
async fn a_sign_in_lasts_through_refreshes_and_says_when_it_is_over() {
    let kit = Kit::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let state = Arc::new(Mutex::new(Guarded::default()));
    let shared = Arc::clone(&state);
    let own = base.clone();
    let web = Web::serve_on(listener, move |asked| answer(&own, &shared, asked));
    let entry: Value = json!({ "url": web.url(), "auth": "oauth", "timeout": 10 });
    let servers = kit.start(&[("web", entry.clone())]).await;
    assert!(matches!(view(&servers, "web").state, State::NeedsAuth(_)), "{servers:?}");

    let spec = kit.spec("web", &entry);
    let options = LoginOptions {
        challenge: servers.challenge("web"),
        redirect: "http://localhost:1/callback".to_owned(),
        metadata_url: None,
    };
    let browser = Headless(Arc::clone(&kit.around.net));
    login(&spec, &kit.around, &options, &browser).await.unwrap();
    assert!(kept(&spec, &kit.around).exists());
    let file = kit.home.agent().join("mcp-tokens/web.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    servers.reconnect("web");
    crate::kit::eventually("it is let in", || view(&servers, "web").state == State::Ready).await;
    assert!(kit.echo("web", "x").await.contains("heard"));

    // The token is revoked; two connections find out at once, one of them refreshes.
    let twin = kit.start(&[("web", entry.clone())]).await;
    state.lock().good = "revoked".to_owned();
    let (first, second) = tokio::join!(kit.echo("web", "x"), kit.echo("web", "y"));
    assert!(first.contains("heard") && second.contains("heard"), "{first} {second}");
    assert!(
        kit.home.agent().join("mcp-tokens/web.previous.json").exists(),
        "one generation is kept"
    );
    drop(twin);

    state.lock().good = "revoked".to_owned();
    state.lock().refresh_refused = true;
    let servers = kit.start(&[("web", entry)]).await;
    assert!(matches!(view(&servers, "web").state, State::NeedsAuth(_)), "{servers:?}");
    assert!(file.exists(), "tokens are not thrown away because a server refuses them");
}
