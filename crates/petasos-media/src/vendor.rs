//! A request to a vendor: the key goes to the vendor's own host or to the one that the user wrote
//! down, deadlines hold, and a refusal becomes a word of the closed list.

use std::time::Duration;

use base64::Engine as _;
use petasos_contract::{CallContext, Secret, Settings};
use petasos_net::{
    Allowed, Credential, Method, Origin, Reach, Request, Scheme, Scope, Url, checked_url,
};
use serde_json::Value;

use crate::fault::MediaError;
use crate::source::{download, net};

const DETAIL_CHARS: usize = 300;
const BOUNDARY: &str = "petasos-7d1f0c52a9e84b36";

/// Who is asked, and how it knows who asks.
#[derive(Debug, Clone, Copy)]
pub struct Vendor {
    /// Its name in settings and results.
    pub id: &'static str,
    /// Variables with its key, the first that is set counts.
    pub keys: &'static [&'static str],
    /// Its base address.
    pub base: &'static str,
    /// How the key travels.
    pub header: KeyHeader,
}

/// How a key travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer …`.
    Bearer,
    /// `Authorization: Key …`.
    Key,
    /// A header of its own.
    Named(&'static str),
}

/// What is sent, below the base address.
#[derive(Debug)]
pub struct Outgoing {
    /// The path, perhaps with a query.
    pub path: String,
    /// The body.
    pub body: Body,
}

impl Outgoing {
    /// The same, paid by a login.
    pub(crate) fn signed(self, token: Secret) -> Self {
        let body = match self.body {
            Body::Json(value) => Body::Signed(token, value),
            other => other,
        };
        Self { body, ..self }
    }
}

/// A body.
#[derive(Debug)]
pub enum Body {
    /// None: a GET.
    None,
    /// None: a PUT, as a queue's cancel wants it.
    Put,
    /// None: a DELETE, as other queues want it.
    Delete,
    /// JSON, by POST.
    Json(Value),
    /// The same with the token of a login in the place of a key.
    Signed(Secret, Value),
    /// Fields and files, by POST.
    Form(Vec<(&'static str, String)>, Vec<Upload>),
}

/// A file of a form.
#[derive(Debug)]
pub struct Upload {
    /// The field.
    pub field: &'static str,
    /// Its name there.
    pub name: String,
    /// Its media type.
    pub mime: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The media type.
    pub content_type: String,
    /// The body.
    pub bytes: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Result<Value, String> {
        serde_json::from_slice(&self.bytes).map_err(|error| error.to_string())
    }
}

impl Vendor {
    /// Whether its key pays for conversations, too, so that it says nothing about media.
    pub(crate) fn is_for_chat(&self) -> bool {
        self.keys.iter().any(|key| *key != "FAL_KEY")
    }

    /// The key, when one is set.
    fn key(&self, settings: &Settings) -> Option<Secret> {
        let set = self.keys.iter().filter_map(|name| settings.variable(name));
        set.map(|variable| variable.value.clone()).find(|value| !value.expose().trim().is_empty())
    }

    /// Where it is; `<section>.<id>.base_url` names another place.
    fn base(&self, section: &str, settings: &Settings) -> String {
        let own = settings.text(&format!("{section}.{}.base_url", self.id)).map(str::trim);
        let base = own.filter(|base| !base.is_empty()).unwrap_or(self.base);
        base.trim_end_matches('/').to_owned()
    }

    /// The host that is asked.
    pub fn host(&self, section: &str, settings: &Settings) -> Option<String> {
        let url = Url::parse(&self.base(section, settings)).ok()?;
        url.host_str().map(str::to_owned)
    }

    /// Why it cannot be asked, if so.
    pub fn missing(&self, settings: &Settings) -> Option<String> {
        let names = self.keys.join(" or ");
        self.key(settings).is_none().then(|| format!("{} needs {names}", self.id))
    }

    /// Asks. Nothing is sent twice: whatever is asked here may cost money.
    pub(crate) async fn ask(
        &self,
        section: &str,
        outgoing: Outgoing,
        (most, whole): (usize, Duration),
        cx: &CallContext,
    ) -> Result<Answer, MediaError> {
        let sent = self.sent(section, outgoing, (most, whole), cx);
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(MediaError::cancelled()),
            sent = Box::pin(sent) => sent,
        }
    }

    /// The same for what must be said although the call is over, such as its cancelling.
    pub(crate) async fn sent(
        &self,
        section: &str,
        outgoing: Outgoing,
        (most, whole): (usize, Duration),
        cx: &CallContext,
    ) -> Result<Answer, MediaError> {
        let missing = |why: String| MediaError::new("missing_setup", why);
        let key = match &outgoing.body {
            Body::Signed(token, _) => Some(token.clone()),
            _ => self.key(&cx.settings),
        };
        let key =
            key.ok_or_else(|| missing(format!("{} needs {}", self.id, self.keys.join(" or "))))?;
        let address = format!("{}{}", self.base(section, &cx.settings), outgoing.path);
        let url =
            checked_url(&address).map_err(|error| missing(format!("{}: {error}", self.id)))?;
        let origin =
            Origin::of(&url).ok_or_else(|| missing(format!("{}: no http address", self.id)))?;
        let (scheme, secret) = match self.header {
            KeyHeader::Bearer => (Scheme::Bearer, key),
            KeyHeader::Key => {
                let value = format!("Key {}", key.expose().trim());
                (Scheme::Header("authorization"), Secret::new(value))
            }
            KeyHeader::Named(name) => (Scheme::Header(name), key),
        };
        let credential =
            Credential { owner: self.id.to_owned(), secret, scope: self.scope(origin), scheme };
        let mut request =
            request(url, outgoing.body)?.first_byte(whole).credential(Some(credential));
        // The user chose the host: it may be in their own network.
        request.reach = Reach::Anywhere;
        let net = net(&cx.settings);
        let reply = Box::pin(net.send(request)).await?;
        let header = |name: &str| reply.headers.get(name)?.to_str().ok().map(str::to_owned);
        let (status, retry) = (reply.status, header("retry-after"));
        let content_type = header("content-type").unwrap_or_default();
        let bytes = reply.bytes(most, whole).await?.to_vec();
        self.refused(status, &bytes, retry.and_then(|after| after.trim().parse().ok()))?;
        Ok(Answer { content_type, bytes })
    }

    /// A file that the vendor's answer names: fetched without the key, from public hosts, or from
    /// the very place that the user wrote down.
    pub(crate) async fn fetched(
        &self,
        section: &str,
        address: &str,
        (most, whole): (usize, Duration),
        cx: &CallContext,
    ) -> Result<Vec<u8>, MediaError> {
        let base = Url::parse(&self.base(section, &cx.settings)).ok();
        let joined = base.as_ref().and_then(|base| base.join(address).ok());
        let address = joined.map_or_else(|| address.to_owned(), String::from);
        let url = checked_url(&address)
            .map_err(|error| self.unusable(&format!("its address cannot be used: {error}")))?;
        let is_own = base.and_then(|base| Origin::of(&base)) == Origin::of(&url);
        let reach = if is_own { Reach::Anywhere } else { Reach::PublicOnly };
        download(&url, reach, (most, whole), cx).await
    }

    /// The key goes to the vendor's own host, or to the one that the user wrote down.
    fn scope(&self, origin: Origin) -> Scope {
        let own = Url::parse(self.base).ok().and_then(|url| url.host_str().map(str::to_owned));
        match own {
            Some(host) if origin.domain() == Some(host.as_str()) => {
                Scope::new([Allowed::Host(host)])
            }
            Some(_) | None => Scope::exactly(origin),
        }
    }

    fn refused(&self, status: u16, body: &[u8], retry: Option<u64>) -> Result<(), MediaError> {
        if (200..300).contains(&status) {
            return Ok(());
        }
        let text = String::from_utf8_lossy(body);
        let lower = text.to_lowercase();
        let is_filtered = ["content_policy", "moderation", "safety", "content policy"]
            .iter()
            .any(|word| lower.contains(word));
        let (kind, why) = match status {
            401 | 403 => ("auth", "refused the key; check it"),
            402 => ("quota", "has no credit left"),
            429 if lower.contains("quota") => ("quota", "has no credit left"),
            429 => ("rate_limited", "asks for fewer requests"),
            400 | 422 if is_filtered => ("blocked_policy", "refuses this content"),
            400 | 422 => ("bad_argument", "refuses what it was asked"),
            404 => ("not_found", "has no such model or job"),
            413 => ("too_large", "finds the file too large"),
            _ => ("upstream", "failed"),
        };
        let told = format!("{} {why} ({status})", self.id);
        let mut error = MediaError::new(kind, told).with("status", status);
        let detail = detail(&text);
        if !detail.is_empty() {
            error = error.with("detail", detail);
        }
        if let Some(seconds) = retry.filter(|_| kind == "rate_limited") {
            error = error.with("retry_after_s", seconds);
        }
        Err(error)
    }

    /// An answer that cannot be used.
    pub(crate) fn unusable(&self, what: &str) -> MediaError {
        MediaError::new("upstream", format!("{} gave no usable answer: {}", self.id, detail(what)))
    }
}

/// A vendor's words on one line, cut, without what could pass for markup of ours.
pub(crate) fn detail(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|letter| !letter.is_control()).take(DETAIL_CHARS).collect()
}

fn request(url: Url, body: Body) -> Result<Request, MediaError> {
    Ok(match body {
        Body::None => Request::new(Method::GET, url),
        Body::Put => Request::new(Method::PUT, url),
        Body::Delete => Request::new(Method::DELETE, url),
        Body::Json(value) => Request::new(Method::POST, url)
            .header("content-type", "application/json")?
            .body(value.to_string()),
        Body::Signed(token, value) => signed(Request::new(Method::POST, url), &token)?
            .header("content-type", "application/json")?
            .body(value.to_string()),
        Body::Form(fields, files) => Request::new(Method::POST, url)
            .header("content-type", &format!("multipart/form-data; boundary={BOUNDARY}"))?
            .body(form(&fields, files)),
    })
}

/// What ChatGPT wants to be told beside its token: who asks, and for which account.
fn signed(request: Request, token: &Secret) -> Result<Request, MediaError> {
    let request = request.header("originator", "codex_cli_rs")?;
    let request = request.header("accept", "text/event-stream")?;
    Ok(match account(token.expose()) {
        Some(account) => request.header("chatgpt-account-id", &account)?,
        None => request,
    })
}

/// The account that a token of ChatGPT names.
fn account(token: &str) -> Option<String> {
    let claims = token.split('.').nth(1)?.trim_end_matches('=');
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let account = claims.get("https://api.openai.com/auth")?.get("chatgpt_account_id")?;
    account.as_str().map(str::to_owned)
}

fn form(fields: &[(&'static str, String)], files: Vec<Upload>) -> Vec<u8> {
    let size: usize = files.iter().map(|file| file.bytes.len() + 512).sum();
    let mut body = Vec::with_capacity(size + 1024);
    let plain = |text: &str| text.replace(['"', '\r', '\n'], "_");
    for (name, value) in fields {
        let part = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        );
        body.extend(part.as_bytes());
    }
    for file in files {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\n\
             Content-Type: {}\r\n\r\n",
            file.field,
            plain(&file.name),
            plain(&file.mime)
        );
        body.extend(head.as_bytes());
        body.extend(file.bytes);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}
