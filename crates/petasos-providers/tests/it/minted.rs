//! Tokens that clouds mint: what is sent for them, and what they open.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use petasos_contract::settings::{Parts, Source as Origin, Variable};
use petasos_contract::{Secret, Settings};
use petasos_net::client::Net;
use petasos_providers::credential::minted::Mints;
use petasos_providers::local::{Finder, Known};
use petasos_providers::resolve::Resolved;
use petasos_providers::{Request, Vault};
use serde_json::{Value, json};

use crate::token_server::TokenServer;

const TOKEN: &str = r#"{"access_token":"minted-token-0001","expires_in":3600}"#;

fn settings(home: &Path, config: &Value, variables: &[(&str, &str)]) -> Arc<Settings> {
    let variable = |(name, value): &(&str, &str)| {
        let source = Origin::Environment { variable: (*name).to_owned() };
        ((*name).to_owned(), Variable { value: Secret::new(*value), source })
    };
    Arc::new(Settings::new(Parts {
        home: home.to_owned(),
        user_home: home.join("user"),
        values: config.as_object().unwrap().clone(),
        variables: variables.iter().map(variable).collect(),
        ..Parts::default()
    }))
}

fn finder(server: &TokenServer) -> Finder {
    let nowhere = Known { name: "nobody", base_url: "http://127.0.0.1:9/v1" };
    Finder::at([nowhere; 4]).with_mints(Mints::at(&server.url, &server.url))
}

async fn resolve(finder: &Finder, provider: &str, settings: &Settings) -> Resolved {
    let request = Request { provider: Some(provider.to_owned()), ..Request::default() };
    let view = Vault::of(settings).view(settings);
    finder.resolve(&request, settings, view, &Net::default()).await
}

fn secret(resolved: &Resolved) -> Option<&str> {
    let runtime = resolved.outcome.as_ref().unwrap();
    runtime.credential.as_ref().map(|credential| credential.secret.expose())
}

fn field(body: &str, name: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(body.as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn key_file(folder: &Path, key: &KeyPair) -> PathBuf {
    let der: Pkcs8V1Der<'_> = key.as_der().unwrap();
    let body = STANDARD.encode(der.as_ref());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    let file = folder.join("account.json");
    let account = json!({"type": "service_account", "client_email": "me@project.test",
        "private_key_id": "k1", "private_key": pem});
    std::fs::File::create(&file).unwrap().write_all(account.to_string().as_bytes()).unwrap();
    file
}

#[tokio::test]
async fn a_service_account_signs_for_a_vertex_token_once() {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let file = key_file(folder.path(), &key);
    let server = TokenServer::start().await;
    server.say(200, TOKEN);
    let variables = [
        ("VERTEX_PROJECT_ID", "shop"),
        ("VERTEX_REGION", "europe-west1"),
        ("GOOGLE_APPLICATION_CREDENTIALS", file.to_str().unwrap()),
    ];
    let settings = settings(folder.path(), &json!({}), &variables);
    let finder = finder(&server);
    for _ in 0..2 {
        let resolved = resolve(&finder, "vertex", &settings).await;
        assert_eq!(secret(&resolved), Some("minted-token-0001"));
        let runtime = resolved.outcome.unwrap();
        assert_eq!(runtime.source.to_string(), "vertex-oauth");
        assert!(runtime.base_url.to_string().starts_with("https://europe-west1-aiplatform."));
    }
    let bodies = server.ledger.lock().unwrap().bodies.clone();
    assert_eq!(bodies.len(), 1, "a living token is not minted again");
    let assertion = field(&bodies[0], "assertion").unwrap();
    let (text, signature) = assertion.rsplit_once('.').unwrap();
    let claims: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text.split('.').nth(1).unwrap()).unwrap())
            .unwrap();
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!("me@project.test"), &json!(server.url)));
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key());
    public.verify(text.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
}

#[tokio::test]
async fn a_person_s_google_login_is_renewed_for_vertex() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("user/.config/gcloud");
    std::fs::create_dir_all(&place).unwrap();
    let login = json!({"type": "authorized_user", "client_id": "c", "client_secret": "cs-0001",
        "refresh_token": "rt-google-1"});
    let file = place.join("application_default_credentials.json");
    std::fs::File::create(file).unwrap().write_all(login.to_string().as_bytes()).unwrap();
    let server = TokenServer::start().await;
    server.say(200, TOKEN);
    let settings = settings(folder.path(), &json!({}), &[("VERTEX_PROJECT_ID", "shop")]);
    let resolved = resolve(&finder(&server), "vertex", &settings).await;
    assert_eq!(secret(&resolved), Some("minted-token-0001"));
    let body = server.ledger.lock().unwrap().bodies[0].clone();
    assert_eq!(field(&body, "refresh_token").as_deref(), Some("rt-google-1"));
}

#[tokio::test]
async fn without_anything_to_mint_from_the_refusal_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let server = TokenServer::start().await;
    let settings = settings(folder.path(), &json!({}), &[("VERTEX_PROJECT_ID", "shop")]);
    let error = resolve(&finder(&server), "vertex", &settings).await.outcome.unwrap_err();
    assert_eq!(error.code, "vertex_auth_missing");
    assert!(error.message.contains("there is no key file at"), "{}", error.message);
    assert!(server.ledger.lock().unwrap().bodies.is_empty());
}

fn azure(folder: &Path) -> Arc<Settings> {
    let config = json!({"model": {"provider": "azure-foundry", "auth_mode": "entra_id",
        "base_url": "https://shop.services.ai.azure.com/openai/v1"}});
    let variables = [
        ("AZURE_TENANT_ID", "tenant-1"),
        ("AZURE_CLIENT_ID", "app-1"),
        ("AZURE_CLIENT_SECRET", "app-secret-0001"),
        // A key that is there is no substitute for what was chosen.
        ("AZURE_FOUNDRY_API_KEY", "azure-key-0001"),
    ];
    settings(folder, &config, &variables)
}

#[tokio::test]
async fn an_application_gets_an_entra_token_and_never_a_key_instead() {
    let folder = tempfile::tempdir().unwrap();
    let server = TokenServer::start().await;
    server.say(200, TOKEN);
    let settings = azure(folder.path());
    let resolved = resolve(&finder(&server), "azure-foundry", &settings).await;
    assert_eq!(secret(&resolved), Some("minted-token-0001"));
    assert_eq!(resolved.outcome.as_ref().unwrap().source.to_string(), "entra_id");
    let body = server.ledger.lock().unwrap().bodies[0].clone();
    assert_eq!(field(&body, "scope").as_deref(), Some("https://ai.azure.com/.default"));

    let refused = TokenServer::start().await;
    refused.say(401, r#"{"error":"invalid_client"}"#);
    let resolved = resolve(&finder(&refused), "azure-foundry", &settings).await;
    let error = resolved.outcome.unwrap_err();
    assert_eq!(error.code, "entra_auth_missing");
    assert!(!error.message.contains("app-secret-0001"), "{}", error.message);
}

#[tokio::test]
async fn a_minted_token_never_follows_an_address_from_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let server = TokenServer::start().await;
    let settings = azure(folder.path());
    let request = Request {
        provider: Some("azure-foundry".to_owned()),
        base_url: Some("https://elsewhere.test/v1".to_owned()),
        ..Request::default()
    };
    let view = Vault::of(&settings).view(&settings);
    let resolved = finder(&server).resolve(&request, &settings, view, &Net::default()).await;
    assert!(resolved.outcome.is_err());
    assert!(server.ledger.lock().unwrap().bodies.is_empty());
}
