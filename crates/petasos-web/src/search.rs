//! One call of `web_search`: which provider, what it is asked, its pages, and what was asked lately.

use std::time::Duration;

use petasos_contract::{CallContext, Settings};
use serde_json::{Map, Value, json};

use crate::address::secret_free;
use crate::cache::Cache;
use crate::fault::WebError;
use crate::providers::PROVIDERS;
use crate::rows::{Row, cleaned};
use crate::service::{Outgoing, Service};

/// Many rows are asked for in so many pages at most.
const PAGES_MAX: usize = 3;
/// An answer is good for so long.
const FRESH: Duration = Duration::from_mins(15);

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct SearchAsk {
    /// The words.
    pub query: String,
    /// How many rows.
    pub limit: usize,
    /// `day`, `week`, `month` or `year`.
    pub freshness: Option<String>,
    /// How many rows to pass over.
    pub offset: usize,
}

impl SearchAsk {
    /// The query without its `site:` words, and the sites that it wants and does not want.
    pub(crate) fn sites(&self) -> (String, Vec<String>, Vec<String>) {
        let (mut words, mut wanted, mut unwanted) = (Vec::new(), Vec::new(), Vec::new());
        for word in self.query.split_whitespace() {
            match (word.strip_prefix("site:"), word.strip_prefix("-site:")) {
                (Some(site), _) => wanted.push(site.to_owned()),
                (None, Some(site)) => unwanted.push(site.to_owned()),
                (None, None) => words.push(word),
            }
        }
        (words.join(" "), wanted, unwanted)
    }
}

/// A search provider: data, and pure functions.
#[derive(Debug)]
pub struct SearchDef {
    /// Where it is and what it needs.
    pub service: Service,
    /// The most rows of one answer.
    pub rows_max: usize,
    /// Whether further rows can be asked for.
    pub pages: bool,
    /// Its place when none is configured: lower comes first, `None` never.
    pub rank: Option<u8>,
    /// What is sent.
    pub outgoing: fn(&SearchAsk, &Settings) -> Outgoing,
    /// The rows of an answer, or what is wrong with it.
    pub rows: fn(&str) -> Result<Vec<Row>, Unusable>,
    /// What its answer says besides the rows.
    pub warnings: fn(&str) -> Vec<String>,
}

/// Why an answer has no rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// The word of the closed list.
    pub kind: &'static str,
    /// What is wrong.
    pub why: String,
}

impl From<&str> for Unusable {
    fn from(why: &str) -> Self {
        Self { kind: "upstream", why: why.to_owned() }
    }
}

impl From<serde_json::Error> for Unusable {
    fn from(why: serde_json::Error) -> Self {
        Self { kind: "upstream", why: why.to_string() }
    }
}

impl SearchDef {
    /// The common case.
    pub const USUAL: Self = Self {
        service: Service::USUAL,
        rows_max: 20,
        pages: false,
        rank: None,
        outgoing: |_, _| Outgoing { path: String::new(), body: None },
        rows: |_| Ok(Vec::new()),
        warnings: |_| Vec::new(),
    };
}

/// The list is not empty; checked when the program is built.
pub(crate) const fn unique(all: &[&SearchDef]) {
    assert!(!all.is_empty(), "no search provider is listed");
}

/// The provider that is asked, with every one that was passed over and why.
#[derive(Debug)]
pub struct Choice {
    /// The provider.
    pub chosen: Result<&'static SearchDef, String>,
    /// What was looked at on the way.
    pub trace: Vec<String>,
}

/// Chooses, from the snapshot alone.
pub fn choose(settings: &Settings) -> Choice {
    let mut trace = Vec::new();
    for key in ["web.search_backend", "web.backend"] {
        let Some(name) = settings.text(key).map(str::trim).filter(|name| !name.is_empty()) else {
            continue;
        };
        let found = PROVIDERS.iter().find(|provider| provider.service.is_named(name));
        let chosen = match found {
            None if key == "web.backend" => {
                trace.push(format!("{key} `{name}` does not search"));
                continue;
            }
            None => Err(format!("{key} names `{name}`, which is no search service")),
            Some(provider) => match provider.service.missing(settings) {
                None => Ok(*provider),
                Some(why) => Err(format!("{key} names `{name}`, but {why}")),
            },
        };
        trace.push(format!("{key} names `{name}`"));
        return Choice { chosen, trace };
    }
    let mut ranked: Vec<&SearchDef> =
        PROVIDERS.iter().copied().filter(|it| it.rank.is_some()).collect();
    ranked.sort_by_key(|provider| provider.rank);
    for provider in ranked {
        match provider.service.missing(settings) {
            None => {
                trace.push(format!("{} has what it needs", provider.service.id));
                return Choice { chosen: Ok(provider), trace };
            }
            Some(why) => trace.push(why),
        }
    }
    let keyless = settings.get("web.keyless_search").and_then(Value::as_bool).unwrap_or(true);
    let free = PROVIDERS.iter().find(|it| it.service.id == KEYLESS).filter(|_| keyless);
    trace.push(format!("web.keyless_search is {keyless}"));
    Choice { chosen: free.copied().ok_or_else(|| NEEDS.to_owned()), trace }
}

const KEYLESS: &str = "ddgs";

/// What is said when no service can be asked.
pub const NEEDS: &str = "needs a search service: set BRAVE_SEARCH_API_KEY, TAVILY_API_KEY, EXA_API_KEY, PARALLEL_API_KEY, FIRECRAWL_API_KEY or SEARXNG_URL, or web.keyless_search: true";

/// Searches.
pub async fn search(ask: &SearchAsk, cx: &CallContext) -> Result<Map<String, Value>, WebError> {
    if ask.query.trim().is_empty() {
        return Err(WebError::new("bad_argument", "`query` is empty: say what to look for"));
    }
    secret_free(&ask.query, cx).map_err(|text| WebError::new("blocked_policy", text))?;
    let choice = choose(&cx.settings);
    let provider = choice.chosen.map_err(|why| WebError::new("missing_setup", why))?;
    let fallback = cx.settings.names("web.fallback").unwrap_or_default();
    let named = |name: &String| PROVIDERS.iter().copied().find(|it| it.service.is_named(name));
    let others = fallback.iter().filter_map(named);
    let left =
        std::iter::once(provider).chain(others.filter(|it| it.service.id != provider.service.id));
    let mut first: Option<(&'static str, WebError)> = None;
    for provider in left {
        let work = Box::pin(found(provider, ask, cx));
        let rows = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(WebError::new("cancelled", "the call was cancelled")),
            rows = work => rows,
        };
        match rows {
            Ok(found) => {
                let mut answer = told(provider, found, ask);
                if let Some((before, _)) = first {
                    answer.insert("fell_back_from".to_owned(), before.into());
                }
                return Ok(answer);
            }
            Err(error)
                if matches!(error.kind, "rate_limited" | "quota" | "upstream" | "timeout") =>
            {
                first.get_or_insert((provider.service.id, error));
            }
            Err(error) => return Err(error),
        }
    }
    Err(first.map_or_else(|| WebError::new("missing_setup", NEEDS), |(_, error)| error))
}

/// What a provider gave, or what it gave lately.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
struct Found {
    rows: Vec<Row>,
    warnings: Vec<String>,
    #[serde(skip)]
    is_cached: bool,
}

async fn found(provider: &SearchDef, ask: &SearchAsk, cx: &CallContext) -> Result<Found, WebError> {
    let cache = Cache::of(&cx.settings);
    let host = provider.service.host(&cx.settings);
    let key = format!("search {} {host:?} {ask:?}", provider.service.id);
    if let Some(known) = cache.recall::<Found>(&key, FRESH) {
        return Ok(Found { is_cached: true, ..known });
    }
    let found = asked(provider, ask, cx).await?;
    cache.remember(&key, &found);
    Ok(found)
}

async fn asked(provider: &SearchDef, ask: &SearchAsk, cx: &CallContext) -> Result<Found, WebError> {
    let mut found = Found::default();
    let pages = if provider.pages { PAGES_MAX } else { 1 };
    for page in 0..pages {
        let wanted = SearchAsk {
            limit: ask.limit.min(provider.rows_max),
            offset: ask.offset + page * provider.rows_max,
            ..ask.clone()
        };
        let outgoing = (provider.outgoing)(&wanted, &cx.settings);
        let body = provider.service.ask(outgoing, cx).await?;
        let rows = (provider.rows)(&body).map_err(|bad| {
            let text = format!("{} gave no usable answer: {}", provider.service.id, bad.why);
            WebError::new(bad.kind, text)
        })?;
        let got = rows.len();
        found.rows.extend(rows);
        for warning in (provider.warnings)(&body) {
            if !found.warnings.contains(&warning) {
                found.warnings.push(warning);
            }
        }
        if got == 0 || found.rows.len() >= ask.limit {
            break;
        }
    }
    Ok(found)
}

fn told(provider: &SearchDef, found: Found, ask: &SearchAsk) -> Map<String, Value> {
    let (rows, dropped) = cleaned(&found.rows, ask.limit);
    let mut answer = Map::new();
    let mut warnings = found.warnings;
    answer.insert("success".to_owned(), true.into());
    if rows.is_empty() {
        answer.insert("hint".to_owned(), "nothing was found; try other words".into());
    }
    if rows.len() < ask.limit {
        answer.insert("limit_applied".to_owned(), rows.len().into());
    }
    answer.insert("data".to_owned(), json!({ "web": rows }));
    answer.insert("provider".to_owned(), provider.service.id.into());
    if found.is_cached {
        answer.insert("cached".to_owned(), true.into());
    }
    if dropped > 0 {
        warnings.push(format!("{dropped} addresses that cannot be opened were left out"));
    }
    if provider.service.id == KEYLESS {
        let text = "searched without a key through DuckDuckGo; web.keyless_search: false stops it";
        warnings.push(text.to_owned());
    }
    if !warnings.is_empty() {
        answer.insert("warnings".to_owned(), warnings.into());
    }
    answer
}
