//! Amazon's signature, version 4, over one request: the keys sign and never travel.

use std::time::{Duration, SystemTime};

use petasos_net::client::Request;
use petasos_net::fault::NetError;
use sha2::{Digest, Sha256};

use crate::runtime::AwsKeys;
use crate::transport::assemble::hex;

const SERVICE: &str = "bedrock";

/// Adds the date, the session token and the signature.
pub(super) fn sign(
    request: &mut Request,
    keys: &AwsKeys,
    region: &str,
    now: SystemTime,
) -> Result<(), NetError> {
    let (day, moment) = stamp(now);
    let host = match request.url.port() {
        Some(port) => format!("{}:{port}", request.url.host_str().unwrap_or_default()),
        None => request.url.host_str().unwrap_or_default().to_owned(),
    };
    let digest = hex(&Sha256::digest(&request.body), 32);
    let mut signed = vec![
        ("content-type".to_owned(), "application/json".to_owned()),
        ("host".to_owned(), host),
        ("x-amz-content-sha256".to_owned(), digest.clone()),
        ("x-amz-date".to_owned(), moment.clone()),
    ];
    if let Some(token) = &keys.session_token {
        signed.push(("x-amz-security-token".to_owned(), token.expose().to_owned()));
    }
    let lines: String =
        signed.iter().map(|(name, value)| format!("{name}:{value}\n")).collect::<Vec<_>>().concat();
    let names = signed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    // Every service but S3 escapes the path once more.
    let path = request.url.path().replace('%', "%25");
    let query = request.url.query().unwrap_or_default();
    let method = &request.method;
    let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{digest}");
    let scope = format!("{day}/{region}/{SERVICE}/aws4_request");
    let hashed = hex(&Sha256::digest(canonical), 32);
    let text = format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashed}");
    let mut key = hmac(format!("AWS4{}", keys.secret_access_key.expose()).as_bytes(), &day);
    for part in [region, SERVICE, "aws4_request"] {
        key = hmac(&key, part);
    }
    let signature = hex(&hmac(&key, &text), 32);
    let id = &keys.access_key_id;
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}"
    );
    let mut out = request.clone().header("authorization", &authorization)?;
    for (name, value) in signed.iter().filter(|(name, _)| name != "host") {
        out = out.header(name, value)?;
    }
    *request = out;
    Ok(())
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut block = [0_u8; 64];
    let short = if key.len() > 64 { Sha256::digest(key).to_vec() } else { key.to_vec() };
    for (to, from) in block.iter_mut().zip(&short) {
        *to = *from;
    }
    let inner = block.map(|byte| byte ^ 0x36);
    let outer = block.map(|byte| byte ^ 0x5c);
    let inside = Sha256::new().chain_update(inner).chain_update(text).finalize();
    Sha256::new().chain_update(outer).chain_update(inside).finalize().to_vec()
}

/// The day and the moment, as the signature spells them.
fn stamp(now: SystemTime) -> (String, String) {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let at_ms = u64::try_from(since.as_millis()).unwrap_or(0);
    let text = crate::credential::jwt::format_date(at_ms);
    let plain: String = text.chars().filter(|c| *c != '-' && *c != ':').collect();
    let day: String = plain.chars().take(8).collect();
    let time: String = plain.chars().skip(9).take(6).collect();
    (day.clone(), format!("{day}T{time}Z"))
}

#[cfg(test)]
mod tests {
    use petasos_contract::Secret;

    use super::*;

    #[test]
    fn the_keyed_hash_is_the_standard_one() {
        let known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(&hmac(b"Jefe", "what do ya want for nothing?"), 32), known);
    }

    #[test]
    fn the_signature_is_the_one_that_amazons_own_library_makes() {
        let address = "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-3-5-sonnet-20241022-v2%3A0/converse-stream";
        let url = petasos_net::checked_url(address).unwrap();
        let mut request = Request::new(petasos_net::Method::POST, url).body("{\"messages\":[]}");
        let keys = AwsKeys {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: Some(Secret::new("token-1")),
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_mins(24_015_636);
        sign(&mut request, &keys, "us-east-1", now).unwrap();
        let signed = request.headers["authorization"].to_str().unwrap();
        let known = "8bbfa8994bdfc6ee7a7db8fe2407b2407bba3fa8f43998730fd601f27cfb4926";
        assert!(signed.ends_with(known), "{signed}");
    }

    #[test]
    fn moments_are_spelled_without_separators() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_mins(24_015_636);
        assert_eq!(stamp(now), ("20150830".to_owned(), "20150830T123600Z".to_owned()));
    }
}
