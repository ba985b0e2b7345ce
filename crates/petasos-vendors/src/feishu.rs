//! Documents and their comments at Feishu, or Lark as it is called elsewhere.

use std::time::{Duration, Instant};

use petasos_contract::{Secret, Settings};
use petasos_net::{Method, Scheme};
use serde_json::{Value, json};

use crate::fault::VendorError;
use crate::service::{Sent, Service, variable};
use crate::text::{cut, query};

/// What is said when there is no app.
pub const NEEDS: &str = "needs FEISHU_APP_ID and FEISHU_APP_SECRET";

/// A token is renewed so long before its end.
const EARLY: Duration = Duration::from_mins(5);
const CONTENT_CHARS_MAX: usize = 90_000;
const COMMENT_CHARS_MAX: usize = 10_000;
/// Codes of a token that is not taken any more.
const STALE: [i64; 3] = [99_991_661, 99_991_663, 99_991_668];
/// The code of a comment that takes no answers.
const NO_REPLIES: i64 = 1_069_302;

/// The token of a snapshot's app, while it holds.
#[derive(Debug, Default)]
struct Held(tokio::sync::Mutex<Option<(Secret, Instant)>>);

/// An app that can be asked.
#[derive(Debug)]
pub struct Feishu {
    bare: Service,
    app: String,
    secret: Secret,
    held: std::sync::Arc<Held>,
}

/// A page of a list.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// How many.
    pub size: Option<u64>,
    /// Where it begins, as the page before said.
    pub token: Option<String>,
}

impl Page {
    fn size(&self) -> String {
        self.size.unwrap_or(100).clamp(1, 100).to_string()
    }
}

/// Whether there is an app.
pub fn is_set_up(settings: &Settings) -> bool {
    Feishu::open(settings).is_ok()
}

/// The host that is asked.
pub fn host(settings: &Settings) -> Option<String> {
    Feishu::open(settings).ok().map(|it| it.bare.host().to_owned())
}

/// A token of a file, a comment or the like: letters and digits.
pub fn token<'a>(name: &str, text: &'a str) -> Result<&'a str, VendorError> {
    let text = text.trim();
    let fits = !text.is_empty()
        && text.len() <= 128
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if fits {
        return Ok(text);
    }
    let hint = "the part of the document's address behind the last `/`";
    Err(VendorError::argument(format!("`{name}` is letters and digits: {hint}")))
}

impl Feishu {
    /// The app of a snapshot.
    pub fn open(settings: &Settings) -> Result<Self, VendorError> {
        let (id, secret) =
            (variable(settings, "FEISHU_APP_ID"), variable(settings, "FEISHU_APP_SECRET"));
        let (Some(id), Some(secret)) = (&id, &secret) else {
            let missing: Vec<&str> =
                [("FEISHU_APP_ID", id.is_none()), ("FEISHU_APP_SECRET", secret.is_none())]
                    .iter()
                    .filter_map(|(name, is_missing)| is_missing.then_some(*name))
                    .collect();
            return Err(VendorError::setup(NEEDS, &missing));
        };
        let domain = variable(settings, "FEISHU_DOMAIN");
        let domain = domain.as_ref().map_or("feishu", |domain| domain.expose().trim());
        let base = match domain {
            "feishu" => "https://open.feishu.cn".to_owned(),
            "lark" => "https://open.larksuite.com".to_owned(),
            "open.feishu.cn" | "open.larksuite.com" => format!("https://{domain}"),
            "https://open.feishu.cn" | "https://open.larksuite.com" => domain.to_owned(),
            other => {
                let text =
                    format!("FEISHU_DOMAIN `{}` is neither `feishu` nor `lark`", cut(other, 60));
                return Err(VendorError::new("missing_setup", text));
            }
        };
        let base = settings.text("services.endpoints.feishu").map_or(base, str::to_owned);
        Ok(Self {
            bare: Service::new("Feishu", &base, settings)?,
            app: id.expose().trim().to_owned(),
            secret: secret.clone(),
            held: settings.derived(|_| Held::default()),
        })
    }

    /// The token of the app; two calls at once ask for one.
    async fn key(&self, fresh: bool) -> Result<Secret, VendorError> {
        let mut held = self.held.0.lock().await;
        if let Some((token, end)) = held.as_ref()
            && !fresh
            && Instant::now() + EARLY < *end
        {
            return Ok(token.clone());
        }
        let body = json!({ "app_id": self.app, "app_secret": self.secret.expose() });
        let path = "/open-apis/auth/v3/tenant_access_token/internal";
        let answer = self.bare.json(Method::POST, path, Sent::json(&body)).await?;
        let token = answer.get("tenant_access_token").and_then(Value::as_str);
        let Some(token) = token.filter(|_| code(&answer) == 0) else {
            let text = format!(
                "Feishu refuses FEISHU_APP_ID or FEISHU_APP_SECRET ({}): check both",
                code(&answer)
            );
            return Err(VendorError::new("auth", text));
        };
        let seconds = answer.get("expire").and_then(Value::as_u64).unwrap_or(7200);
        let token = Secret::new(token);
        *held = Some((token.clone(), Instant::now() + Duration::from_secs(seconds)));
        Ok(token)
    }

    /// The `data` of an answer; a token that is not taken any more is renewed once.
    async fn ask(&self, method: Method, path: &str, sent: Sent) -> Result<Value, VendorError> {
        let mut fresh = false;
        loop {
            let key = self.key(fresh).await?;
            let service = self.bare.clone().with_key(key, Scheme::Bearer);
            let answer = service.ask(method.clone(), path, sent.clone()).await?;
            // Failures come with a code of their own, whatever their status is.
            let told = service.parsed(&answer).ok().filter(|told| told.get("code").is_some());
            let Some(told) = told else { return Err(service.failure(&answer)) };
            match code(&told) {
                0 => return Ok(told.get("data").cloned().unwrap_or(Value::Null)),
                stale if STALE.contains(&stale) && !fresh => fresh = true,
                other => return Err(refused(other, &told, answer.status)),
            }
        }
    }

    /// The words of a document.
    pub async fn document(&self, doc: &str) -> Result<Value, VendorError> {
        let doc = token("doc_token", doc)?;
        let path = format!("/open-apis/docx/v1/documents/{doc}/raw_content");
        let data = self.ask(Method::GET, &path, Sent::default()).await?;
        let content = data.get("content").and_then(Value::as_str).unwrap_or_default();
        Ok(json!({ "success": true, "content": cut(content, CONTENT_CHARS_MAX) }))
    }

    /// The comments of a file.
    pub async fn comments(
        &self,
        file: &str,
        kind: &str,
        whole: bool,
        page: &Page,
    ) -> Result<Value, VendorError> {
        let query = query([
            ("file_type", Some(kind.to_owned())),
            ("is_whole", whole.then(|| "true".to_owned())),
            ("page_size", Some(page.size())),
            ("page_token", page.token.clone()),
        ]);
        let path =
            format!("/open-apis/drive/v1/files/{}/comments{query}", token("file_token", file)?);
        self.ask(Method::GET, &path, Sent::default()).await
    }

    /// The answers to a comment.
    pub async fn replies(
        &self,
        file: &str,
        comment: &str,
        kind: &str,
        page: &Page,
    ) -> Result<Value, VendorError> {
        let query = query([
            ("file_type", Some(kind.to_owned())),
            ("page_size", Some(page.size())),
            ("page_token", page.token.clone()),
        ]);
        let (file, comment) = (token("file_token", file)?, token("comment_id", comment)?);
        let path = format!("/open-apis/drive/v1/files/{file}/comments/{comment}/replies{query}");
        self.ask(Method::GET, &path, Sent::default()).await
    }

    /// Comments on a whole file.
    pub async fn comment(&self, file: &str, kind: &str, words: &str) -> Result<Value, VendorError> {
        let path = format!(
            "/open-apis/drive/v1/files/{}/comments{}",
            token("file_token", file)?,
            query([("file_type", Some(kind.to_owned()))])
        );
        let body = json!({ "reply_list": { "replies": [{ "content": content(words)? }] } });
        let data = self.ask(Method::POST, &path, Sent::json(&body)).await?;
        Ok(json!({ "success": true, "data": data }))
    }

    /// Answers a comment.
    pub async fn reply(
        &self,
        file: &str,
        comment: &str,
        kind: &str,
        words: &str,
    ) -> Result<Value, VendorError> {
        let (file, comment) = (token("file_token", file)?, token("comment_id", comment)?);
        let path = format!(
            "/open-apis/drive/v1/files/{file}/comments/{comment}/replies{}",
            query([("file_type", Some(kind.to_owned()))])
        );
        let body = json!({ "content": content(words)? });
        let data = self.ask(Method::POST, &path, Sent::json(&body)).await?;
        Ok(json!({ "success": true, "data": data }))
    }
}

fn content(words: &str) -> Result<Value, VendorError> {
    let words = words.trim();
    if words.is_empty() {
        return Err(VendorError::argument("`content` is empty: say what to write"));
    }
    if words.chars().count() > COMMENT_CHARS_MAX {
        return Err(VendorError::new("too_large", "`content` is longer than 10,000 characters"));
    }
    Ok(json!({ "elements": [{ "type": "text_run", "text_run": { "text": words } }] }))
}

fn code(answer: &Value) -> i64 {
    answer.get("code").and_then(Value::as_i64).unwrap_or(-1)
}

fn refused(code: i64, told: &Value, status: u16) -> VendorError {
    let words = told.get("msg").and_then(Value::as_str).unwrap_or_default();
    let kind = match code {
        // Too many requests, in the words of two of its services.
        99_991_400 | 1_061_045 => "rate_limited",
        _ => "upstream",
    };
    let error = VendorError::new(kind, format!("Feishu refuses this (code {code})"))
        .with("code", code)
        .with("status", status)
        .with("detail", cut(words, 300));
    if code == NO_REPLIES {
        let hint = "this comment takes no answers: use feishu_drive_add_comment for a new one";
        return error.with("hint", hint);
    }
    error
}
