//! JSON over HTTP, as most platforms speak it: one call, its answer, and what a failure means.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::Secret;
use petasos_net::{
    Credential, Method, Net, NetError, Origin, Request, Scheme, Scope, Url, checked_url,
};
use serde_json::Value;

use crate::platform::{LinkError, SendError};
use crate::render::add;

/// The largest answer that is read.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// A vendor's interface.
#[derive(Clone)]
pub(crate) struct Api {
    net: Arc<Net>,
    base: Url,
    credential: Option<Credential>,
}

/// The address is not shown: some vendors put their key into it.
impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("host", &self.base.host_str()).finish_non_exhaustive()
    }
}

/// An answer: its status, its body, and how long to wait when it says so.
#[derive(Debug)]
pub(crate) struct ApiAnswer {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) retry_after: Option<Duration>,
}

impl ApiAnswer {
    pub(crate) fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Api {
    /// The interface below this address, with a key that goes nowhere else.
    pub(crate) fn new(
        net: &Arc<Net>,
        base: &str,
        key: Option<(Secret, Scheme)>,
        owner: &str,
    ) -> Result<Self, String> {
        let slashed = if base.ends_with('/') { base.to_owned() } else { format!("{base}/") };
        let base = checked_url(&slashed).map_err(|error| error.to_string())?;
        let origin = Origin::of(&base).ok_or_else(|| format!("`{base}` is no web address"))?;
        let credential = key.map(|(secret, scheme)| Credential {
            owner: owner.to_owned(),
            secret,
            scope: Scope::exactly(origin),
            scheme,
        });
        Ok(Self { net: Arc::clone(net), base, credential })
    }

    /// The address of a path below ours.
    pub(crate) fn url(&self, path: &str) -> Result<Url, NetError> {
        self.base.join(path).map_err(|error| {
            NetError::Url(petasos_net::UrlRefused::Unreadable { problem: error.to_string() })
        })
    }

    /// A request below our address, with our key.
    pub(crate) fn request(&self, method: Method, path: &str) -> Result<Request, NetError> {
        Ok(Request::new(method, self.url(path)?).credential(self.credential.clone()))
    }

    /// A request with our key to an address that the vendor itself named: below our own address, or
    /// on one of these hosts of theirs. Anywhere else the key does not go.
    pub(crate) fn keyed(
        &self,
        method: Method,
        url: &str,
        hosts: &[&str],
    ) -> Result<Request, String> {
        let url = checked_url(url).map_err(|error| error.to_string())?;
        let origin = Origin::of(&url).ok_or("the file has no address")?;
        let ours = Origin::of(&self.base).as_ref() == Some(&origin);
        let theirs =
            url.scheme() == "https" && url.host_str().is_some_and(|host| hosts.contains(&host));
        if !ours && !theirs {
            return Err("the file lies with somebody else".to_owned());
        }
        let credential = self.credential.clone();
        let credential = credential.map(|own| Credential { scope: Scope::exactly(origin), ..own });
        Ok(Request::new(method, url).credential(credential))
    }

    /// The way out, for whoever reads a stream.
    pub(crate) fn net(&self) -> &Arc<Net> {
        &self.net
    }

    /// Calls a method with a JSON body and reads the JSON answer.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        within: Duration,
    ) -> Result<ApiAnswer, NetError> {
        let mut request = self.request(method, path)?.first_byte(within);
        if let Some(body) = body {
            request = request.header("content-type", "application/json")?.body(body.to_string());
        }
        self.answer(request, within).await
    }

    /// Sends a request and reads the JSON answer.
    pub(crate) async fn answer(
        &self,
        request: Request,
        within: Duration,
    ) -> Result<ApiAnswer, NetError> {
        let reply = self.net.send(request).await?;
        let status = reply.status;
        let header = reply.headers.get("retry-after").and_then(|value| value.to_str().ok());
        let retry_after = header
            .and_then(|text| text.parse::<f64>().ok())
            .map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0)));
        let bytes = reply.bytes(ANSWER_BYTES_MAX, within.max(Duration::from_secs(30))).await?;
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| {
            Value::String(String::from_utf8_lossy(&bytes).chars().take(500).collect())
        });
        Ok(ApiAnswer { status, body, retry_after })
    }

    /// The bytes behind an address, streamed into a file and never held whole.
    pub(crate) async fn download(
        &self,
        request: Request,
        to: &std::path::Path,
        bytes_max: u64,
    ) -> Result<u64, String> {
        use std::io::Write as _;
        const IDLE: Duration = Duration::from_secs(30);
        let mut reply = self.net.send(request).await.map_err(|error| error.to_string())?;
        if reply.status != 200 {
            return Err(format!("the server answered {}", reply.status));
        }
        let mut open = std::fs::OpenOptions::new();
        open.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
        let mut file = open.open(to).map_err(|error| error.to_string())?;
        let streamed = async {
            let mut count = 0_u64;
            while let Some(piece) = reply.chunk(IDLE).await.map_err(|error| error.to_string())? {
                count += piece.len() as u64;
                if count > bytes_max {
                    return Err(format!("it is larger than {bytes_max} bytes"));
                }
                file.write_all(&piece).map_err(|error| error.to_string())?;
            }
            Ok(count)
        };
        let streamed = streamed.await;
        if streamed.is_err() {
            // What came of it is of no use to anybody.
            std::fs::remove_file(to).unwrap_or_default();
        }
        streamed
    }
}

/// A failed call, for a message that was to be sent.
pub(crate) fn send_error(error: &NetError) -> SendError {
    if error.is_unsent() {
        SendError::Transient(error.to_string())
    } else {
        SendError::Ambiguous(error.to_string())
    }
}

/// A failed call, for a connection.
pub(crate) fn link_error(error: &NetError) -> LinkError {
    LinkError::Lost(error.to_string())
}

/// A status that every vendor means alike; what is special to one is looked at before.
pub(crate) fn of_status(answer: &ApiAnswer, said: &str) -> SendError {
    let text = format!("{} {said}", answer.status);
    match answer.status {
        429 => {
            SendError::RateLimited { after: answer.retry_after.unwrap_or(Duration::from_secs(5)) }
        }
        401 => SendError::Auth(text),
        413 => SendError::TooLong(text),
        400..=499 => SendError::Unreachable(text),
        // The server had it; whether it did anything nobody knows.
        502 | 503 => SendError::Transient(text),
        _ => SendError::Ambiguous(text),
    }
}

/// A path segment.
pub(crate) fn segment(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            add(&mut out, format_args!("%{byte:02X}"));
        }
    }
    out
}

/// A form with files, as browsers send it.
pub(crate) fn multipart(
    fields: &[(&str, &str)],
    file: (&str, &str, &str, &[u8]),
) -> (String, Vec<u8>) {
    let (field, name, mime, bytes) = file;
    let digest: u64 = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let edge = format!("petasos{digest:016x}");
    let clean = |text: &str| text.replace(['"', '\r', '\n'], "_");
    let mut body = Vec::new();
    for (name, value) in fields {
        body.extend_from_slice(
            format!(
                "--{edge}\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n{value}\r\n",
                clean(name)
            )
            .as_bytes(),
        );
    }
    body.extend_from_slice(
        format!(
            "--{edge}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{}\"\r\nContent-Type: {mime}\r\n\r\n",
            clean(name)
        )
        .as_bytes(),
    );
    body.extend_from_slice(bytes);
    body.extend_from_slice(format!("\r\n--{edge}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={edge}"), body)
}
