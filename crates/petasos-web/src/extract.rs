//! One call of `web_extract`: up to five pages beside each other, answered in order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use petasos_contract::{CallContext, wait};
use petasos_net::{Url, checked_url};
use serde_json::{Map, Value};

use crate::address::secret_free;
use crate::cache::{self, Cache, Kept};
use crate::fault::WebError;
use crate::fetch::{self, Fetched};
use crate::kind::{self, Kind};
use crate::reader::{self, ReaderDef};
use crate::render::Renderer;
use crate::shown::shown;
use crate::sources::Sources;
use crate::{charset, feed, html, tables};

const PAGES_MAX: usize = 5;
const PAGE_TIME: Duration = Duration::from_secs(45);
const CHARS_USUAL: usize = 15_000;
const CHARS_RANGE: std::ops::RangeInclusive<usize> = 2_000..=500_000;
pub(crate) const STORED_CHARS_MAX: usize = 2_000_000;

/// Words in the titles of pages that want to know whether a person is there.
const CHALLENGES: [&str; 8] = [
    "just a moment",
    "attention required",
    "access denied",
    "verify you are human",
    "are you a robot",
    "checking your browser",
    "security check",
    "captcha",
];

/// Whether a page with this title checks for robots instead of showing its content.
pub fn is_challenge(title: &str) -> bool {
    let title = title.to_lowercase();
    CHALLENGES.iter().any(|words| title.contains(words))
}

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

/// What reading needs besides the way out.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// What is known of pages.
    pub sources: &'a Arc<Sources>,
    /// Whoever runs a page's scripts.
    pub renderer: Option<&'a dyn Renderer>,
}

/// Reads the pages.
pub async fn extract(
    ask: &ExtractAsk,
    reading: Reading<'_>,
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
    let chosen = reader::choose(&cx.settings).chosen;
    let chosen = chosen.map_err(|why| WebError::new("missing_setup", why))?;
    let work = join_all(ask.urls.iter().map(|url| async move {
        let deadline = Instant::now() + PAGE_TIME;
        match wait::until(
            deadline,
            "a page",
            Box::pin(page(url, ask.refresh, (reading, chosen), cx)),
        )
        .await
        {
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
        .map(|(url, page)| shown(url, page, chars, (reading.sources, cx)))
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
pub(crate) struct Page {
    pub(crate) kept: Kept,
    pub(crate) stored: Option<String>,
    pub(crate) is_cached: bool,
    pub(crate) warnings: Vec<&'static str>,
}

async fn page(
    given: &str,
    refresh: bool,
    (reading, chosen): (Reading<'_>, Option<&ReaderDef>),
    cx: &CallContext,
) -> Result<Page, WebError> {
    let url = address(given)?;
    let cache = Cache::of(&cx.settings);
    let known = if refresh { None } else { cache.find(url.as_str()) };
    let by = chosen.map(|reader| reader.service.id);
    let fits = |kept: &&Kept| by.is_none() || kept.provider.as_deref() == by;
    if let Some(kept) = known.as_ref().filter(fits).filter(|kept| kept.fresh_until > cache::now()) {
        let stored = cache.keep(kept).map(|path| path.display().to_string());
        return Ok(Page { kept: kept.clone(), stored, is_cached: true, warnings: Vec::new() });
    }
    let kept = match chosen {
        Some(reader) => Read::of(through(reader, &url, cx).await?),
        None => match ours(&url, known, reading, cx).await {
            // What we may not or cannot read is asked for once elsewhere, where there is a key.
            Err(error) if is_for_others(&error) => match reader::second(&cx.settings) {
                Some(reader) => Read::of(through(reader, &url, cx).await.map_err(|_| error)?),
                None => return Err(error),
            },
            read => read?,
        },
    };
    let stored = if kept.keeps { cache.keep(&kept.kept) } else { None };
    let stored = stored.map(|path| path.display().to_string());
    let Read { kept, is_cached, warnings, .. } = kept;
    Ok(Page { kept, stored, is_cached, warnings })
}

/// What was read, and whether it may be kept.
struct Read {
    kept: Kept,
    keeps: bool,
    is_cached: bool,
    warnings: Vec<&'static str>,
}

impl Read {
    fn of(kept: Kept) -> Self {
        Self { kept, keeps: true, is_cached: false, warnings: Vec::new() }
    }
}

/// Sites that shut programs out, and pages that are empty without scripts.
fn is_for_others(error: &WebError) -> bool {
    let by_rule = error.message.contains("robots.txt");
    (error.kind == "blocked_site" && !by_rule) || error.extra.contains_key(NEEDS_SCRIPTS)
}

const NEEDS_SCRIPTS: &str = "needs_scripts";

/// Through a service of somebody else.
async fn through(reader: &ReaderDef, url: &Url, cx: &CallContext) -> Result<Kept, WebError> {
    let page = reader::read(reader, url.as_str(), cx).await?;
    Ok(Kept {
        url: url.to_string(),
        final_url: page.final_url.unwrap_or_else(|| url.to_string()),
        content_type: "text/markdown".to_owned(),
        title: page.title,
        byline: page.byline,
        published: page.published,
        lang: page.lang,
        text: page.text,
        fresh_until: cache::fresh_until("").unwrap_or_default(),
        provider: Some(reader.service.id.to_owned()),
        ..Kept::default()
    })
}

/// By ourselves: fetched, and rendered where that is needed and possible.
async fn ours(
    url: &Url,
    known: Option<Kept>,
    reading: Reading<'_>,
    cx: &CallContext,
) -> Result<Read, WebError> {
    let (net, hosts) = (fetch::net(&cx.settings), &reading.sources.hosts);
    hosts.ask(&net, url, cx).await?;
    let place = hosts.wait(url, cx).await;
    // What was rendered has nothing to be compared with.
    let known = known.filter(|kept| !kept.rendered && kept.provider.is_none());
    let fetched = fetch::get(&net, url, known.as_ref()).await?;
    drop(place);
    let fresh = cache::fresh_until(&fetched.control);
    if fetched.status == 304
        && let Some(mut kept) = known
    {
        kept.fresh_until = fresh.unwrap_or_default();
        return Ok(Read { is_cached: true, ..Read::of(kept) });
    }
    let (kept, warnings) = match read(url.as_str(), fetched, fresh, (reading, cx)).await {
        Err(error) if error.extra.contains_key(NEEDS_SCRIPTS) => (
            rendered(url, fresh, reading, cx).await.map_err(|why| why.unwrap_or(error))?,
            Vec::new(),
        ),
        read => read?,
    };
    Ok(Read { keeps: fresh.is_some(), warnings, ..Read::of(kept) })
}

/// The page after its scripts ran; `None` where nothing runs them.
async fn rendered(
    url: &Url,
    fresh: Option<u64>,
    reading: Reading<'_>,
    cx: &CallContext,
) -> Result<Kept, Option<WebError>> {
    let wanted = cx.settings.get("web.js_fallback").and_then(Value::as_bool).unwrap_or(true);
    let renderer = reading.renderer.filter(|renderer| wanted && renderer.is_there(cx));
    let page = renderer.ok_or(None)?.render(url.as_str(), cx).await.map_err(Some)?;
    let base = Url::parse(&page.url).unwrap_or_else(|_| url.clone());
    let mut kept = Kept {
        url: url.to_string(),
        final_url: base.to_string(),
        content_type: "text/html".to_owned(),
        fresh_until: fresh.unwrap_or_default(),
        rendered: true,
        ..Kept::default()
    };
    document(&mut kept, page.html, base).await.map_err(Some)?;
    if kept.text.trim().is_empty() {
        let text = "the page is empty even after its scripts ran";
        return Err(Some(WebError::new("no_result", text)));
    }
    Ok(kept)
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
    (reading, cx): (Reading<'_>, &CallContext),
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
    if kind == Kind::Media {
        let text = format!(
            "this is {} of {} bytes and no text; vision_analyze reads pictures, browser_navigate downloads files",
            fetched.content_type,
            fetched.bytes.len()
        );
        return Err(WebError::new("unsupported", text));
    }
    let text = match kind {
        Kind::Pdf => reading.sources.pdf(&fetched.bytes, cx).await?,
        _ => charset::decode(&fetched.bytes, declared.as_deref()),
    };
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
    let title = document.meta.title.as_deref().unwrap_or_default();
    let is_short = document.markdown.chars().count() < 1500;
    if is_short && is_challenge(title) {
        return Err(WebError::new(
            "blocked_site",
            "the site checks for robots and shows nothing here",
        ));
    }
    if document.needs_scripts {
        let text = "the page is empty without its scripts; open it with browser_navigate";
        if !kept.rendered {
            return Err(WebError::new("no_result", text).with(NEEDS_SCRIPTS, true));
        }
    }
    kept.title = document.meta.title;
    kept.byline = document.meta.byline;
    kept.published = document.meta.published;
    kept.lang = document.meta.lang;
    kept.text = document.markdown;
    Ok(())
}
