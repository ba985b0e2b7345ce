//! Signing in to a service that is no model provider, and using that login. E19 152.

use std::sync::Arc;

use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{Secret, Settings};
use petasos_net::{Net, Url};
use petasos_providers::Vault;
use petasos_providers::credential::oauth::LoginError;
use petasos_providers::credential::services::{find, logins};
use petasos_providers::credential::store::AuthFile;
use serde_json::json;

use crate::token_server::TokenServer;

fn settings(home: &std::path::Path, url: &str, client: Option<&str>) -> Arc<Settings> {
    let values = json!({ "services": { "endpoints": { "spotify_accounts": url } } });
    let variable = |client: &str| {
        let source = Source::Environment { variable: "SPOTIFY_CLIENT_ID".to_owned() };
        ("SPOTIFY_CLIENT_ID".to_owned(), Variable { value: Secret::new(client), source })
    };
    Arc::new(Settings::new(Parts {
        home: home.to_owned(),
        values: values.as_object().cloned().unwrap(),
        variables: client.map(variable).into_iter().collect(),
        ..Parts::default()
    }))
}

#[tokio::test]
async fn signing_in_asks_for_its_scopes_and_takes_the_browsers_last_address() {
    let server = TokenServer::start().await;
    let home = tempfile::tempdir().unwrap();
    let service = find("spotify").unwrap();
    let without = settings(home.path(), &server.url, None);
    assert!(service.begin(&without).is_none(), "there is no app");
    let settings = settings(home.path(), &server.url, Some("app-1"));
    let (flow, net) = (service.begin(&settings).unwrap().unwrap(), Net::default());
    let page = Url::parse(&flow.authorize_url).unwrap();
    let of =
        |name: &str| page.query_pairs().find(|(key, _)| key == name).map(|it| it.1.into_owned());
    assert_eq!(of("client_id").as_deref(), Some("app-1"));
    assert_eq!(of("code_challenge_method").as_deref(), Some("S256"));
    for (scope, _) in service.scopes {
        assert!(of("scope").unwrap().split(' ').any(|asked| asked == *scope), "{scope}");
    }
    let back = |rest: &str| format!("{}?{rest}", service.redirect);
    for (address, wanted) in [
        (back("error=access_denied"), LoginError::Denied),
        (back("code=c&state=another"), LoginError::WrongState),
        ("not an address".to_owned(), LoginError::WrongState),
    ] {
        assert_eq!(flow.arrived(&address, &net).await, Err(wanted), "{address}");
    }
    assert!(server.ledger.lock().unwrap().bodies.is_empty(), "nothing was exchanged");
    server
        .say(200, r#"{"access_token":"at-000000","refresh_token":"rt-000000","expires_in":3600}"#);
    let state = of("state").unwrap();
    let login = flow.arrived(&back(&format!("code=c-1&state={state}")), &net).await.unwrap();
    Vault::of(&settings).sign_in("spotify", &login).await.unwrap();
    let body = server.ledger.lock().unwrap().bodies[0].clone();
    assert!(
        body.contains("code=c-1")
            && body.contains("code_verifier=")
            && body.contains("client_id=app-1"),
        "{body}"
    );
    assert_eq!(AuthFile::read(home.path()).unwrap().active_provider(), None);
}

#[tokio::test]
async fn e152_a_refused_token_is_renewed_once_whoever_asks() {
    let server = TokenServer::start().await;
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &server.url, Some("app-1"));
    let logins = logins();
    assert!(!logins.is_signed_in("spotify", &settings));
    let missing = logins.access("spotify", &settings, None).await.unwrap_err();
    assert!(missing.contains("petasos auth login spotify"), "{missing}");
    let kept =
        json!({ "access_token": "at-000000", "refresh_token": "rt-000000", "expires_in": 3600 });
    server.say(200, &kept.to_string());
    let flow = find("spotify").unwrap().begin(&settings).unwrap().unwrap();
    let state = Url::parse(&flow.authorize_url).unwrap();
    let state = state.query_pairs().find(|(key, _)| key == "state").unwrap().1.into_owned();
    let address = format!("http://127.0.0.1:43827/spotify/callback?code=c&state={state}");
    let login = flow.arrived(&address, &Net::default()).await.unwrap();
    Vault::of(&settings).sign_in("spotify", &login).await.unwrap();
    assert!(logins.is_signed_in("spotify", &settings));

    let held = logins.access("spotify", &settings, None).await.unwrap();
    assert_eq!(held.expose(), "at-000000", "one that holds is not renewed");
    let (one, two) = tokio::join!(
        logins.access("spotify", &settings, Some(&held)),
        logins.access("spotify", &settings, Some(&held)),
    );
    assert_eq!(one.unwrap(), two.unwrap());
    assert_eq!(server.ledger.lock().unwrap().granted, 1);
}
