//! Getting one page: polite, bounded, under the public-only rule, with validators where it was kept.

use std::time::Duration;

use petasos_contract::Settings;
use petasos_net::{HeaderMap, Method, Net, NetOptions, Reach, Request, Url};

use crate::cache::Kept;
use crate::fault::WebError;

const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml, application/pdf;q=0.9, application/json;q=0.8, text/*;q=0.8, */*;q=0.1";
const FIRST_BYTE: Duration = Duration::from_secs(15);
const WHOLE: Duration = Duration::from_secs(45);
const TEXT_BYTES_MAX: usize = 5 << 20;
const PDF_BYTES_MAX: usize = 30 << 20;
const RETRY_AFTER_MAX: u64 = 20;

/// What a server gave.
pub(crate) struct Fetched {
    pub(crate) url: Url,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) control: String,
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
    pub(crate) bytes: Vec<u8>,
    /// Whether an encrypted address led to one that is not.
    pub(crate) downgraded: bool,
}

/// The way out for pages and providers of one snapshot.
pub(crate) fn net(settings: &Settings) -> std::sync::Arc<Net> {
    settings.derived(|settings| Net::new(NetOptions::from_settings(settings)))
}

/// Gets a page; 304 comes back as it is when `known` was given.
pub(crate) async fn get(net: &Net, url: &Url, known: Option<&Kept>) -> Result<Fetched, WebError> {
    let first = once(net, url, known).await?;
    let wait = match first {
        Ok(fetched) => return Ok(fetched),
        Err(wait) => wait,
    };
    // Asked to come back soon: once, and no more.
    tokio::time::sleep(Duration::from_secs(wait)).await;
    once(net, url, known).await?.map_err(|_| {
        WebError::new("rate_limited", format!("{} asks to be left alone for a while", host(url)))
    })
}

fn host(url: &Url) -> &str {
    url.host_str().unwrap_or_default()
}

/// The page, or after how many seconds to ask again.
async fn once(
    net: &Net,
    url: &Url,
    known: Option<&Kept>,
) -> Result<Result<Fetched, u64>, WebError> {
    let mut request =
        Request::new(Method::GET, url.clone()).first_byte(FIRST_BYTE).header("accept", ACCEPT)?;
    request.reach = Reach::PublicOnly;
    if let Some(kept) = known {
        if let Some(etag) = &kept.etag {
            request = request.header("if-none-match", etag)?;
        }
        if let Some(modified) = &kept.modified {
            request = request.header("if-modified-since", modified)?;
        }
    }
    let reply = net.send(request).await?;
    let text = |name: &str| header(&reply.headers, name);
    let (status, content_type) = (reply.status, text("content-type").unwrap_or_default());
    if matches!(status, 429 | 503) {
        let wait = text("retry-after").and_then(|after| after.trim().parse::<u64>().ok());
        return match wait.filter(|wait| *wait <= RETRY_AFTER_MAX) {
            Some(wait) => Ok(Err(wait)),
            None if status == 429 => {
                let error =
                    WebError::new("rate_limited", format!("{} asks for fewer requests", host(url)));
                Err(match wait {
                    Some(wait) => error.with("retry_after_s", wait),
                    None => error,
                })
            }
            None => Err(refused(url, status)),
        };
    }
    let downgraded = url.scheme() == "https" && reply.url.scheme() == "http";
    let fetched = Fetched {
        url: reply.url.clone(),
        status,
        control: text("cache-control").unwrap_or_default(),
        etag: text("etag"),
        modified: text("last-modified"),
        bytes: Vec::new(),
        downgraded,
        content_type,
    };
    if status == 304 {
        return Ok(Ok(fetched));
    }
    if !(200..300).contains(&status) {
        return Err(refused(url, status));
    }
    let is_pdf = fetched.content_type.contains("pdf")
        || fetched.url.path().to_ascii_lowercase().ends_with("pdf");
    let most = if is_pdf { PDF_BYTES_MAX } else { TEXT_BYTES_MAX };
    let bytes = reply.bytes(most, WHOLE).await?.to_vec();
    Ok(Ok(Fetched { bytes, ..fetched }))
}

fn refused(url: &Url, status: u16) -> WebError {
    let host = host(url);
    let error = match status {
        401 | 403 | 407 | 451 => WebError::new(
            "blocked_site",
            format!("{host} does not show this page to programs ({status})"),
        ),
        404 | 410 => WebError::new("not_found", format!("{host} has no such page ({status})")),
        _ => WebError::new("upstream", format!("{host} answered {status}")),
    };
    error.with("status", status)
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}
