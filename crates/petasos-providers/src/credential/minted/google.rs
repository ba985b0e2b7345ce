//! What Google takes for a token: the signed word of a service account, or the login that
//! `gcloud auth application-default login` left.

use std::path::PathBuf;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use petasos_contract::{Secret, Settings};
use serde_json::{Value, json};

use super::{Ask, MintError, variable};
use crate::credential::borrowed::{Unreadable, json as read_json};
use crate::credential::now_ms;
use crate::credential::usable::fingerprint;

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const BY_SIGNATURE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const LIFETIME_S: u64 = 3600;

/// The question that gets a token for this machine's account.
pub(super) fn ask(endpoint: &str, settings: &Settings) -> Result<Ask, MintError> {
    let path = place(settings);
    let unusable = |problem: String| Unreadable { path: path.clone(), problem };
    let Some(file) = read_json(&path)? else {
        return Err(MintError::Missing(format!("there is no key file at `{}`", path.display())));
    };
    let text = |name: &str| {
        let found = file.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        found.ok_or_else(|| unusable(format!("`{name}` is missing")))
    };
    let form = match text("type")? {
        "service_account" => {
            let claims = Claims { issuer: text("client_email")?, audience: endpoint };
            let signed = claims.signed(text("private_key")?, file.get("private_key_id"));
            let signed = signed.map_err(unusable)?;
            vec![("grant_type", Secret::new(BY_SIGNATURE)), ("assertion", signed)]
        }
        "authorized_user" => vec![
            ("grant_type", Secret::new("refresh_token")),
            ("client_id", Secret::new(text("client_id")?)),
            ("client_secret", Secret::new(text("client_secret")?)),
            ("refresh_token", Secret::new(text("refresh_token")?)),
        ],
        other => return Err(unusable(format!("keys of type `{other}` are not understood")).into()),
    };
    let secret = text("private_key").or_else(|_| text("refresh_token"))?;
    let account = format!("google {}", fingerprint(&Secret::new(secret)));
    Ok(Ask { provider: "vertex", url: endpoint.to_owned(), form, account })
}

fn place(settings: &Settings) -> PathBuf {
    let usual = ".config/gcloud/application_default_credentials.json";
    variable(settings, "GOOGLE_APPLICATION_CREDENTIALS")
        .map_or_else(|| settings.user_home().join(usual), PathBuf::from)
}

struct Claims<'a> {
    issuer: &'a str,
    audience: &'a str,
}

impl Claims<'_> {
    /// The claims with the account's signature.
    fn signed(&self, pem: &str, key_id: Option<&Value>) -> Result<Secret, String> {
        let now = now_ms() / 1000;
        let head = json!({ "alg": "RS256", "typ": "JWT", "kid": key_id });
        let body = json!({
            "iss": self.issuer, "scope": SCOPE, "aud": self.audience,
            "iat": now, "exp": now + LIFETIME_S,
        });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(&head), part(&body));
        let key = KeyPair::from_pkcs8(&der(pem)?)
            .map_err(|error| format!("`private_key` is no RSA key: {error}"))?;
        let mut signature = vec![0; key.public_modulus_len()];
        key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
            .map_err(|_| "`private_key` cannot sign".to_owned())?;
        Ok(Secret::new(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))))
    }
}

/// The bytes between the lines that mark a private key.
fn der(pem: &str) -> Result<Vec<u8>, String> {
    let lines = pem.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
    STANDARD
        .decode(lines.collect::<String>())
        .map_err(|_| "`private_key` is not in PEM form".to_owned())
}
