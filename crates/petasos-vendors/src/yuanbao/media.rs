//! Files: the vendor lends a place in its object store, the file goes there, the message names it.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::{digest, hmac};
use bytes::Bytes;
use petasos_contract::Settings;
use petasos_net::Method;
use serde_json::{Value, json};

use super::wire::Message;
use super::{Account, hex, random_hex};
use crate::fault::VendorError;
use crate::service::{Sent, Service};
use crate::text::encoded;

const ASK: &str = "/api/resource/genUploadInfo";
const BYTES_MAX: usize = 50 << 20;
/// How long a signature holds.
const HOLDS_S: u64 = 600;

/// A file that is to be put there.
pub(super) struct Upload<'a> {
    pub(super) account: &'a Account,
    pub(super) name: &'a str,
    pub(super) bytes: &'a [u8],
}

impl Upload<'_> {
    /// Puts it; gives the address that members can read.
    pub(super) async fn put(
        &self,
        service: &Service,
        settings: &Settings,
    ) -> Result<String, VendorError> {
        if self.bytes.len() > BYTES_MAX {
            let why = format!("`{}` is larger than the 50 MB that Yuanbao takes", self.name);
            return Err(VendorError::new("too_large", why));
        }
        let mut sent = Sent::json(&json!({
            "fileName": self.name,
            "fileId": random_hex(16)?,
            "docFrom": "localDoc",
            "docOpenId": "",
        }));
        sent.headers = vec![
            ("x-token", self.account.token.expose().to_owned()),
            ("x-id", self.account.bot.clone()),
            ("x-source", "web".to_owned()),
        ];
        let told = service.json(Method::POST, ASK, sent).await?;
        let data = told.get("data").unwrap_or(&told);
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
        let (bucket, key) = (text("bucketName"), text("location").trim_start_matches('/'));
        if bucket.is_empty() || key.is_empty() {
            return Err(VendorError::new("upstream", "Yuanbao lends no place for the file"));
        }
        let usual = format!("https://{bucket}.cos.accelerate.myqcloud.com");
        let base = settings.text("services.endpoints.yuanbao_files").map_or(usual, str::to_owned);
        let store = Service::new("Yuanbao's file store", &base, settings)?;
        let path = format!("/{}", key.split('/').map(encoded).collect::<Vec<_>>().join("/"));
        let signed = Signed {
            id: text("encryptTmpSecretId"),
            key: text("encryptTmpSecretKey"),
            token: text("encryptToken"),
            host: store.host(),
            kind: kind(self.name),
        };
        let sent = Sent {
            body: Some((signed.kind, Bytes::copy_from_slice(self.bytes))),
            headers: vec![
                ("authorization", signed.authorization(&path)),
                ("x-cos-security-token", signed.token.to_owned()),
            ],
        };
        let answer = store.ask(Method::PUT, &path, sent).await?;
        if !(200..300).contains(&answer.status) {
            return Err(store.failure(&answer));
        }
        let told = text("resourceUrl");
        Ok(if told.is_empty() { format!("{base}{path}") } else { told.to_owned() })
    }
}

/// What a request to the store is signed with: the vendor's borrowed keys, for a few minutes.
struct Signed<'a> {
    id: &'a str,
    key: &'a str,
    token: &'a str,
    host: &'a str,
    kind: &'static str,
}

impl Signed<'_> {
    fn authorization(&self, path: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let time = format!("{now};{}", now + HOLDS_S);
        let sign = |key: &str, text: &str| {
            let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key.as_bytes());
            hex(hmac::sign(&key, text.as_bytes()).as_ref())
        };
        let headers = [
            ("content-type", self.kind),
            ("host", self.host),
            ("x-cos-security-token", self.token),
        ];
        let pairs: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let names = headers.map(|(name, _)| name).join(";");
        let request = format!("put\n{path}\n\n{}\n", pairs.join("&"));
        let algorithm = &digest::SHA1_FOR_LEGACY_USE_ONLY;
        let digest = hex(digest::digest(algorithm, request.as_bytes()).as_ref());
        let signature = sign(&sign(self.key, &time), &format!("sha1\n{time}\n{digest}\n"));
        format!(
            "q-sign-algorithm=sha1&q-ak={}&q-sign-time={time}&q-key-time={time}\
             &q-header-list={names}&q-url-param-list=&q-signature={signature}",
            self.id
        )
    }
}

/// What kind of file a name promises.
fn kind(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("png") => "image/png",
        Some("gif") => "image/gif",
        Some("bmp") => "image/bmp",
        Some("webp") => "image/webp",
        Some("pdf") => "application/pdf",
        Some("txt" | "md") => "text/plain",
        Some("mp3") => "audio/mpeg",
        Some("ogg") => "audio/ogg",
        Some("wav") => "audio/wav",
        Some("mp4") => "video/mp4",
        _ => "application/octet-stream",
    }
}

/// The number that the wire has for a kind of picture.
fn format_of(kind: &str) -> Option<u64> {
    match kind {
        "image/jpeg" => Some(1),
        "image/gif" => Some(2),
        "image/png" => Some(3),
        "image/bmp" => Some(4),
        "image/webp" => Some(255),
        _ => None,
    }
}

/// The file as a part of a message: a picture where it is one.
pub(super) fn element(name: &str, url: &str, bytes: &[u8]) -> Message {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let Some(format) = format_of(kind(name)) else {
        let content = Message::default().text(2, name).text(10, url).count(11, size).text(12, name);
        return super::element("TIMFileElem", &content);
    };
    let original = Message::default().count(1, 1).count(2, size).text(5, url);
    let content = Message::default().text(2, name).count(3, format).message(8, &original);
    super::element("TIMImageElem", &content)
}
