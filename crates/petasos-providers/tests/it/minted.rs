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
use petasos_providers::credential::minted::amazon::Places;
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

/// Keys as Amazon's services hand them out.
fn handed_out(expires: &str) -> String {
    json!({"AccessKeyId": "ASIA0001", "SecretAccessKey": "handed-secret-01", "Token": "handed-token",
        "Expiration": expires})
    .to_string()
}

fn amazon(server: &TokenServer) -> Finder {
    let nowhere = Known { name: "nobody", base_url: "http://127.0.0.1:9/v1" };
    let at = || server.url.clone();
    let places = Places { container: at(), machine: at(), trade: format!("{}/{{region}}", at()) };
    Finder::at([nowhere; 4]).with_mints(Mints::at(&at(), &at()).with_amazon(places))
}

fn signs_with(resolved: &Resolved) -> (String, String, Option<String>) {
    let runtime = resolved.outcome.as_ref().unwrap();
    let keys = runtime.aws.as_ref().unwrap().keys.clone().unwrap();
    let token = keys.session_token.map(|token| token.expose().to_owned());
    assert!(runtime.credential.is_none(), "keys sign and never travel");
    (runtime.source.to_string(), keys.access_key_id, token)
}

const LATER: &str = "2100-01-01T00:00:00Z";

#[tokio::test]
async fn a_container_is_handed_keys_for_bedrock_once() {
    let folder = tempfile::tempdir().unwrap();
    let word = folder.path().join("word");
    std::fs::File::create(&word).unwrap().write_all(b"Bearer pod-word\n").unwrap();
    let server = TokenServer::start().await;
    let finder = amazon(&server);
    let relative = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1")];
    let relative = settings(folder.path(), &json!({}), &relative);
    server.say(200, &handed_out(LATER));
    for _ in 0..2 {
        let resolved = resolve(&finder, "bedrock", &relative).await;
        let (source, id, token) = signs_with(&resolved);
        assert_eq!((source.as_str(), id.as_str()), ("aws:container", "ASIA0001"));
        assert_eq!(token.as_deref(), Some("handed-token"));
    }
    let full = format!("{}/role", server.url);
    let full = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", full.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", word.to_str().unwrap()),
    ];
    let full = settings(folder.path(), &json!({}), &full);
    // Keys that are about to end are asked for again.
    for _ in 0..2 {
        server.say(200, &handed_out("2001-01-01T00:00:00Z"));
        signs_with(&resolve(&finder, "auto", &full).await);
    }
    let heads = server.ledger.lock().unwrap().heads.clone();
    assert_eq!(heads.len(), 3, "{heads:?}");
    assert!(heads[0].starts_with("GET /v2/credentials/1 "), "{heads:?}");
    assert!(heads[1].contains("authorization: bearer pod-word"), "{heads:?}");
}

#[tokio::test]
async fn a_stranger_who_names_himself_the_container_agent_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let url = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/keys")];
    let settings = settings(folder.path(), &json!({}), &url);
    let server = TokenServer::start().await;
    let error = resolve(&amazon(&server), "bedrock", &settings).await.outcome.unwrap_err();
    assert_eq!(error.code, "missing_api_key");
    assert!(error.message.contains("no cloud metadata service"), "{}", error.message);
}

#[tokio::test]
async fn a_cluster_trades_its_word_for_keys() {
    let folder = tempfile::tempdir().unwrap();
    let word = folder.path().join("word");
    std::fs::File::create(&word).unwrap().write_all(b"eyJ.cluster.word").unwrap();
    let server = TokenServer::start().await;
    server.say(
        200,
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
         <AccessKeyId>ASIA0002</AccessKeyId><SecretAccessKey>traded</SecretAccessKey>\
         <SessionToken>traded-token</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration>\
         </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>",
    );
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", word.to_str().unwrap()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/petasos"),
        ("AWS_REGION", "eu-west-1"),
    ];
    let settings = settings(folder.path(), &json!({}), &variables);
    let resolved = resolve(&amazon(&server), "bedrock", &settings).await;
    let (source, id, token) = signs_with(&resolved);
    assert_eq!((source.as_str(), id.as_str()), ("aws:web identity", "ASIA0002"));
    assert_eq!(token.as_deref(), Some("traded-token"));
    let ledger = server.ledger.lock().unwrap();
    assert!(ledger.heads[0].starts_with("POST /eu-west-1 "), "{:?}", ledger.heads);
    let body = &ledger.bodies[0];
    assert_eq!(field(body, "WebIdentityToken").as_deref(), Some("eyJ.cluster.word"));
    assert_eq!(field(body, "RoleArn").as_deref(), Some("arn:aws:iam::1:role/petasos"));
}

#[tokio::test]
async fn a_machine_is_asked_last_and_only_where_it_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let server = TokenServer::start().await;
    let finder = amazon(&server);
    let off = settings(folder.path(), &json!({}), &[("AWS_EC2_METADATA_DISABLED", "true")]);
    let error = resolve(&finder, "bedrock", &off).await.outcome.unwrap_err();
    assert_eq!(error.code, "missing_api_key");
    assert!(server.ledger.lock().unwrap().heads.is_empty());
    server.say(200, "session-word");
    server.say(200, "petasos-role\n");
    server.say(200, &handed_out(LATER));
    let plain = settings(folder.path(), &json!({}), &[]);
    let (source, id, _) = signs_with(&resolve(&finder, "bedrock", &plain).await);
    assert_eq!((source.as_str(), id.as_str()), ("aws:instance", "ASIA0001"));
    let heads = server.ledger.lock().unwrap().heads.clone();
    assert!(heads[0].starts_with("PUT /latest/api/token "), "{heads:?}");
    assert!(heads[2].contains("security-credentials/petasos-role "), "{heads:?}");
    assert!(heads[2].contains("x-aws-ec2-metadata-token: session-word"), "{heads:?}");
}
