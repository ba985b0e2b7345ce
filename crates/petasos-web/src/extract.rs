//! One call of `web_extract`: up to five pages beside each other, answered in order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use petasos_contract::{CallContext, wait};
use petasos_net::{Url, checked_url};
use serde_json::{Map, Value, json};

use crate::address::secret_free;
use crate::cache::{self, Cache, Kept};
use crate::fault::WebError;
use crate::fetch::{self, Fetched};
use crate::kind::{self, Kind};
use crate::sources::Sources;
use crate::{charset, cut, feed, html, pdf, tables};

const PAGES_MAX: usize = 5;
const PAGE_TIME: Duration = Duration::from_secs(45);
const CHARS_USUAL: usize = 15_000;
const CHARS_RANGE: std::ops::RangeInclusive<usize> = 2_000..=500_000;
const STORED_CHARS_MAX: usize = 2_000_000;

/// Titles of pages that check for robots.
const CHALLENGES: [&str; 5] = [
    "just a moment",
    "attention required",
    "verify you are human",
    "checking your browser",
    "captcha",
];

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct ExtractAsk {
    /// Addresses.
    pub urls: Vec<String>,
    /// How much of each page is shown.
    pub char_limit: Option<usize>,
    /// Whether kept pages are passed over.
    pub refresh: bool,
}

/// Reads the pages.
pub async fn extract(
    ask: &ExtractAsk,
    sources: &Arc<Sources>,
    cx: &CallContext,
) -> Result<Map<String, Value>, WebError> {
    if ask.urls.is_empty() || ask.urls.len() > PAGES_MAX {
        let text = format!("`urls` holds {} addresses; give one to {PAGES_MAX}", ask.urls.len());
        return Err(WebError::new("bad_argument", text));
    }
    // A key in one address refuses the whole call: the model must see that it tried.
    for url in &ask.urls {
        secret_free(url, cx).map_err(|text| WebError::new("blocked_policy", text))?;
    }
    let usual = cx.settings.get("web.extract_char_limit").and_then(Value::as_u64);
    let usual = usual.and_then(|chars| usize::try_from(chars).ok()).unwrap_or(CHARS_USUAL);
    let chars = ask.char_limit.unwrap_or(usual).clamp(*CHARS_RANGE.start(), *CHARS_RANGE.end());
    let work = join_all(ask.urls.iter().map(|url| async move {
        let deadline = Instant::now() + PAGE_TIME;
        match wait::until(deadline, "a page", Box::pin(page(url, ask.refresh, cx))).await {
            Ok(read) => read,
            Err(_) => Err(WebError::new("timeout", "the page took longer than 45 s")),
        }
    }));
    let pages = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => return Err(WebError::new("cancelled", "the call was cancelled")),
        pages = work => pages,
    };
    let all_failed = pages.iter().all(Result::is_err);
    let first_error = pages.iter().find_map(|page| page.as_ref().err()).cloned();
    let results: Vec<Value> = ask
        .urls
        .iter()
        .zip(pages)
        .map(|(url, page)| shown(url, page, chars, (sources, cx)))
        .collect();
    let mut answer = Map::new();
    answer.insert("results".to_owned(), results.into());
    if let Some(error) = first_error.filter(|_| all_failed) {
        answer.insert("error".to_owned(), error.message.into());
        answer.insert("error_type".to_owned(), error.kind.into());
    }
    Ok(answer)
}

/// A page that was read, and whether it came from the cache.
struct Page {
    kept: Kept,
    stored: Option<String>,
    is_cached: bool,
    warnings: Vec<&'static str>,
}

async fn page(given: &str, refresh: bool, cx: &CallContext) -> Result<Page, WebError> {
    let url = address(given)?;
    let cache = Cache::of(&cx.settings);
    let known = if refresh { None } else { cache.find(url.as_str()) };
    if let Some(kept) = known.as_ref().filter(|kept| kept.fresh_until > cache::now()) {
        let stored = cache.keep(kept).map(|path| path.display().to_string());
        return Ok(Page { kept: kept.clone(), stored, is_cached: true, warnings: Vec::new() });
    }
    let fetched = fetch::get(&fetch::net(&cx.settings), &url, known.as_ref()).await?;
    if fetched.status == 304
        && let Some(mut kept) = known
    {
        kept.fresh_until = cache::fresh_until(&fetched.control).unwrap_or_default();
        let stored = cache.keep(&kept).map(|path| path.display().to_string());
        return Ok(Page { kept, stored, is_cached: true, warnings: Vec::new() });
    }
    let fresh = cache::fresh_until(&fetched.control);
    let (kept, warnings) = read(url.as_str(), fetched, fresh).await?;
    let stored = match fresh {
        Some(_) => cache.keep(&kept).map(|path| path.display().to_string()),
        None => None,
    };
    Ok(Page { kept, stored, is_cached: false, warnings })
}

/// Reads an address as people write them.
fn address(given: &str) -> Result<Url, WebError> {
    let given = given.trim();
    let given = given.replace(":// ", "://");
    let spelled = if given.contains("://") { given } else { format!("https://{given}") };
    let url =
        checked_url(&spelled).map_err(|error| WebError::new("bad_argument", error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        let text = format!("`{}:` addresses are not read; use http or https", url.scheme());
        return Err(WebError::new("blocked_address", text));
    }
    Ok(url)
}

async fn read(
    url: &str,
    fetched: Fetched,
    fresh: Option<u64>,
) -> Result<(Kept, Vec<&'static str>), WebError> {
    let kind = kind::of(&fetched.content_type, &fetched.bytes);
    let declared =
        fetched.content_type.split(';').find_map(|part| part.trim().strip_prefix("charset="));
    let declared = declared.map(|label| label.trim_matches('"').to_owned());
    let mut kept = Kept {
        url: url.to_owned(),
        final_url: fetched.url.to_string(),
        content_type: fetched.content_type.clone(),
        etag: fetched.etag.clone(),
        modified: fetched.modified.clone(),
        fresh_until: fresh.unwrap_or_default(),
        downgraded: fetched.downgraded,
        ..Kept::default()
    };
    let mut warnings = Vec::new();
    if kind == Kind::Pdf {
        kept.text = pdf::read(fetched.bytes).await?;
        return Ok((kept, warnings));
    }
    if kind == Kind::Media {
        let text = format!(
            "this is {} of {} bytes and no text; vision_analyze reads pictures, browser_navigate downloads files",
            fetched.content_type,
            fetched.bytes.len()
        );
        return Err(WebError::new("unsupported", text));
    }
    let text = charset::decode(&fetched.bytes, declared.as_deref());
    match kind {
        Kind::Html => document(&mut kept, text, fetched.url).await?,
        Kind::Feed => match feed::read(&text) {
            Some((title, list)) => (kept.title, kept.text) = (Some(title), list),
            None => kept.text = text,
        },
        Kind::Sitemap => kept.text = feed::sitemap(&text),
        Kind::Json => {
            let as_feed =
                serde_json::from_str(&text).ok().and_then(|value| feed::read_json(&value));
            match as_feed {
                Some((title, list)) => (kept.title, kept.text) = (Some(title), list),
                None => kept.text = tables::json(&text),
            }
        }
        Kind::Csv => kept.text = tables::csv(&text),
        Kind::Text | Kind::Pdf | Kind::Media => kept.text = text,
    }
    if kept.text.chars().count() > STORED_CHARS_MAX {
        kept.text = kept.text.chars().take(STORED_CHARS_MAX).collect();
        warnings.push("the page was cut at 2 000 000 characters");
    }
    if kept.text.trim().is_empty() {
        return Err(WebError::new("no_result", "the page holds no text"));
    }
    Ok((kept, warnings))
}

/// Reads a document into what is kept of it.
async fn document(kept: &mut Kept, text: String, base: Url) -> Result<(), WebError> {
    let parsed = tokio::task::spawn_blocking(move || html::read(&text, &base)).await;
    let document = parsed.map_err(|_| WebError::new("upstream", "the page could not be read"))?;
    let title = document.meta.title.clone().unwrap_or_default().to_lowercase();
    let is_short = document.markdown.chars().count() < 1500;
    if is_short && CHALLENGES.iter().any(|words| title.contains(words)) {
        return Err(WebError::new(
            "blocked_site",
            "the site checks for robots and shows nothing here",
        ));
    }
    if document.needs_scripts {
        let text = "the page is empty without its scripts; open it with browser_navigate";
        return Err(WebError::new("no_result", text));
    }
    kept.title = document.meta.title;
    kept.byline = document.meta.byline;
    kept.published = document.meta.published;
    kept.lang = document.meta.lang;
    kept.text = document.markdown;
    Ok(())
}

fn shown(
    url: &str,
    page: Result<Page, WebError>,
    chars: usize,
    (sources, cx): (&Arc<Sources>, &CallContext),
) -> Value {
    let page = match page {
        Ok(page) => page,
        Err(error) => {
            let mut told = Map::new();
            told.insert("url".to_owned(), url.into());
            told.insert("title".to_owned(), Value::Null);
            told.insert("content".to_owned(), "".into());
            told.insert("error".to_owned(), error.message.into());
            told.insert("error_type".to_owned(), error.kind.into());
            told.extend(error.extra);
            return Value::Object(told);
        }
    };
    let kept = page.kept;
    let cut = cut::cut(&kept.text, chars, page.stored.as_deref());
    let mut told = json!({ "url": url, "title": kept.title, "content": cut.text, "error": null,
        "source_id": sources.number(&cx.session, &kept.final_url), "provider": "native" });
    let Some(object) = told.as_object_mut() else { return told };
    if kept.final_url != url {
        object.insert("final_url".to_owned(), kept.final_url.into());
    }
    object.insert("content_type".to_owned(), kept.content_type.into());
    for (key, value) in
        [("published", kept.published), ("byline", kept.byline), ("lang", kept.lang)]
    {
        if let Some(value) = value {
            object.insert(key.to_owned(), value.into());
        }
    }
    if page.is_cached {
        object.insert("cached".to_owned(), true.into());
    }
    if kept.downgraded {
        object.insert("downgraded".to_owned(), true.into());
    }
    if let Some(next_line) = cut.next_line {
        object.insert("chars_total".to_owned(), kept.text.chars().count().into());
        object.insert("next_line".to_owned(), next_line.into());
        object.insert("stored_path".to_owned(), page.stored.into());
    }
    if !page.warnings.is_empty() {
        object.insert("warnings".to_owned(), json!(page.warnings));
    }
    told
}
