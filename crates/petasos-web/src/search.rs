//! One call of `web_search`: which provider, what it is asked, and its rows cleaned.

use std::collections::HashSet;
use std::time::Duration;

use petasos_contract::{CallContext, Settings};
use petasos_net::sites::{Neighbourhood, neighbourhood};
use petasos_net::{
    Allowed, Credential, Method, Origin, Reach, Request, Scheme, Scope, Url, checked_url,
};
use serde_json::{Map, Value, json};

use crate::address::secret_free;
use crate::fault::WebError;
use crate::fetch;
use crate::providers::PROVIDERS;

const FIRST_BYTE: Duration = Duration::from_secs(30);
const WHOLE: Duration = Duration::from_mins(1);
const ANSWER_BYTES_MAX: usize = 5 << 20;
const TITLE_CHARS: usize = 200;
const DESCRIPTION_CHARS: usize = 500;
const DETAIL_CHARS: usize = 300;

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

/// A row of an answer, as the provider gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// The page's title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// A few words of it.
    pub description: String,
    /// When it was published.
    pub published: Option<String>,
}

impl Row {
    /// A row from the fields of an object.
    pub(crate) fn of(value: &Value, [title, url, description, published]: [&str; 4]) -> Self {
        let text =
            |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let published = value.get(published).and_then(Value::as_str).map(str::to_owned);
        Self { title: text(title), url: text(url), description: text(description), published }
    }
}

/// What goes to a provider, below its base address.
#[derive(Debug)]
pub struct Outgoing {
    /// The path, perhaps with a query.
    pub path: String,
    /// The body of a POST; a GET without.
    pub body: Option<Value>,
}

/// How a provider knows who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// Nobody.
    None,
    /// `Authorization: Bearer …`.
    Bearer,
    /// A header of its own.
    Named(&'static str),
}

/// A search provider: data, and two pure functions.
#[derive(Debug)]
pub struct SearchDef {
    /// Its name in settings and results.
    pub id: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Variables with its key, the first that is set counts.
    pub keys: &'static [&'static str],
    /// The variable with another base address.
    pub base_variable: Option<&'static str>,
    /// Its base address; empty when only the variable names one.
    pub base: &'static str,
    /// How the key travels.
    pub key_header: KeyHeader,
    /// The most rows of one answer.
    pub rows_max: usize,
    /// Its place when none is configured: lower comes first, `None` never.
    pub rank: Option<u8>,
    /// What is sent.
    pub outgoing: fn(&SearchAsk) -> Outgoing,
    /// The rows of an answer, or what is wrong with it.
    pub rows: fn(&str) -> Result<Vec<Row>, String>,
    /// What a status means beyond the usual.
    pub status: fn(u16) -> Option<(&'static str, &'static str)>,
}

impl SearchDef {
    /// The common case.
    pub const USUAL: Self = Self {
        id: "",
        aliases: &[],
        keys: &[],
        base_variable: None,
        base: "",
        key_header: KeyHeader::Bearer,
        rows_max: 20,
        rank: None,
        outgoing: |_| Outgoing { path: String::new(), body: None },
        rows: |_| Ok(Vec::new()),
        status: |_| None,
    };

    fn key(&self, settings: &Settings) -> Option<petasos_contract::Secret> {
        let set = self.keys.iter().filter_map(|name| settings.variable(name));
        set.map(|variable| variable.value.clone()).find(|value| !value.expose().trim().is_empty())
    }

    fn base(&self, settings: &Settings) -> Option<String> {
        let endpoint = settings.text(&format!("web.endpoints.{}", self.id)).map(str::to_owned);
        let variable = self.base_variable.and_then(|name| settings.variable(name));
        let variable = variable.map(|variable| variable.value.expose().trim().to_owned());
        let given = endpoint.or(variable).filter(|base| !base.is_empty());
        given.or_else(|| (!self.base.is_empty()).then(|| self.base.to_owned()))
    }

    /// The host that a question goes to.
    pub fn host(&self, settings: &Settings) -> Option<String> {
        let url = Url::parse(&self.base(settings)?).ok()?;
        url.host_str().map(str::to_owned)
    }

    /// Why it cannot be asked, if so.
    pub fn missing(&self, settings: &Settings) -> Option<String> {
        if self.base(settings).is_none() {
            return Some(format!(
                "{} needs {}",
                self.id,
                self.base_variable.unwrap_or("an address")
            ));
        }
        let needs_key = self.key_header != KeyHeader::None;
        let names = self.keys.join(" or ");
        (needs_key && self.key(settings).is_none()).then(|| format!("{} needs {names}", self.id))
    }

    fn is_named(&self, name: &str) -> bool {
        self.id == name || self.aliases.contains(&name)
    }
}

/// No two providers share a name; checked when the program is built.
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
        let found = PROVIDERS.iter().find(|provider| provider.is_named(name));
        let chosen = match found {
            None if key == "web.backend" => {
                trace.push(format!("{key} `{name}` does not search"));
                continue;
            }
            None => Err(format!("{key} names `{name}`, which is no search service")),
            Some(provider) => match provider.missing(settings) {
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
        match provider.missing(settings) {
            None => {
                trace.push(format!("{} has what it needs", provider.id));
                return Choice { chosen: Ok(provider), trace };
            }
            Some(why) => trace.push(why),
        }
    }
    let keyless = settings.get("web.keyless_search").and_then(Value::as_bool).unwrap_or(true);
    let free = PROVIDERS.iter().find(|provider| provider.id == "ddgs").filter(|_| keyless);
    trace.push(format!("web.keyless_search is {keyless}"));
    Choice { chosen: free.copied().ok_or_else(|| NEEDS.to_owned()), trace }
}

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
    let others =
        fallback.iter().filter_map(|name| PROVIDERS.iter().copied().find(|it| it.is_named(name)));
    let left = std::iter::once(provider).chain(others.filter(|it| it.id != provider.id));
    let mut first: Option<(&'static str, WebError)> = None;
    for provider in left {
        let work = Box::pin(asked(provider, ask, cx));
        let rows = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(WebError::new("cancelled", "the call was cancelled")),
            rows = work => rows,
        };
        match rows {
            Ok(rows) => {
                let mut answer = told(provider, &rows, ask);
                if let Some((before, _)) = first {
                    answer.insert("fell_back_from".to_owned(), before.into());
                }
                return Ok(answer);
            }
            Err(error)
                if matches!(error.kind, "rate_limited" | "quota" | "upstream" | "timeout") =>
            {
                first.get_or_insert((provider.id, error));
            }
            Err(error) => return Err(error),
        }
    }
    Err(first.map_or_else(|| WebError::new("missing_setup", NEEDS), |(_, error)| error))
}

async fn asked(
    provider: &SearchDef,
    ask: &SearchAsk,
    cx: &CallContext,
) -> Result<Vec<Row>, WebError> {
    let missing = |why: String| WebError::new("missing_setup", why);
    if let Some(why) = provider.missing(&cx.settings) {
        return Err(missing(why));
    }
    let base = provider.base(&cx.settings).unwrap_or_default();
    let outgoing = (provider.outgoing)(ask);
    let address = format!("{}{}", base.trim_end_matches('/'), outgoing.path);
    let url =
        checked_url(&address).map_err(|error| missing(format!("{}: {error}", provider.id)))?;
    let origin =
        Origin::of(&url).ok_or_else(|| missing(format!("{}: no http address", provider.id)))?;
    let credential = provider
        .key(&cx.settings)
        .filter(|_| provider.key_header != KeyHeader::None)
        .map(|secret| Credential {
            owner: provider.id.to_owned(),
            secret,
            scope: scope(provider, origin),
            scheme: match provider.key_header {
                KeyHeader::Named(name) => Scheme::Header(name),
                KeyHeader::Bearer | KeyHeader::None => Scheme::Bearer,
            },
        });
    let method = if outgoing.body.is_some() { Method::POST } else { Method::GET };
    // The user chose the host: it may be in their own network.
    let mut request = Request::new(method, url).first_byte(FIRST_BYTE).credential(credential);
    request.reach = Reach::Anywhere;
    request = request.header("accept", "application/json, text/html;q=0.5")?;
    if let Some(body) = outgoing.body {
        request = request.header("content-type", "application/json")?.body(body.to_string());
    }
    let reply = fetch::net(&cx.settings).send(request).await?;
    let retry =
        reply.headers.get("retry-after").and_then(|after| after.to_str().ok()?.parse::<u64>().ok());
    let status = reply.status;
    let body = reply.bytes(ANSWER_BYTES_MAX, WHOLE).await?;
    let body = String::from_utf8_lossy(&body);
    failure(provider, status, &body, retry)?;
    (provider.rows)(&body).map_err(|what| {
        WebError::new("upstream", format!("{} gave no usable answer: {what}", provider.id))
    })
}

/// The key goes to the provider's own host, or to the one that the user wrote down.
fn scope(provider: &SearchDef, origin: Origin) -> Scope {
    let own = Url::parse(provider.base).ok().and_then(|url| url.host_str().map(str::to_owned));
    match own {
        Some(host) if origin.domain() == Some(host.as_str()) => Scope::new([Allowed::Host(host)]),
        Some(_) | None => Scope::exactly(origin),
    }
}

fn failure(
    provider: &SearchDef,
    status: u16,
    body: &str,
    retry: Option<u64>,
) -> Result<(), WebError> {
    let own = (provider.status)(status);
    if (200..300).contains(&status) && own.is_none() {
        return Ok(());
    }
    let (kind, why) = own.unwrap_or(match status {
        401 | 403 => ("auth", "refused the key; check it"),
        402 => ("quota", "has no credit left"),
        429 => ("rate_limited", "asks for fewer requests"),
        _ => ("upstream", "failed"),
    });
    let detail = plain(body, DETAIL_CHARS);
    let mut error =
        WebError::new(kind, format!("{} {why} ({status})", provider.id)).with("status", status);
    if !detail.is_empty() {
        error = error.with("detail", detail);
    }
    if let Some(seconds) = retry.filter(|_| kind == "rate_limited") {
        error = error.with("retry_after_s", seconds);
    }
    Err(error)
}

fn told(provider: &SearchDef, rows: &[Row], ask: &SearchAsk) -> Map<String, Value> {
    let (rows, dropped) = cleaned(rows, ask.limit);
    let mut answer = Map::new();
    answer.insert("success".to_owned(), true.into());
    if rows.is_empty() {
        answer.insert("hint".to_owned(), "nothing was found; try other words".into());
    }
    if rows.len() < ask.limit {
        answer.insert("limit_applied".to_owned(), rows.len().into());
    }
    answer.insert("data".to_owned(), json!({ "web": rows }));
    answer.insert("provider".to_owned(), provider.id.into());
    if dropped > 0 {
        answer.insert(
            "warnings".to_owned(),
            json!([format!("{dropped} addresses that cannot be opened were left out")]),
        );
    }
    answer
}

/// One line a row, no address twice, none that could not be opened.
fn cleaned(rows: &[Row], limit: usize) -> (Vec<Value>, usize) {
    let (mut seen, mut clean, mut dropped) = (HashSet::new(), Vec::new(), 0);
    for row in rows {
        let Ok(url) = checked_url(&row.url) else {
            dropped += 1;
            continue;
        };
        let public = neighbourhood(url.host_str().unwrap_or_default()) == Neighbourhood::Public;
        if !matches!(url.scheme(), "http" | "https") || !public {
            dropped += 1;
            continue;
        }
        if !seen.insert(canonical(&url)) || clean.len() >= limit {
            continue;
        }
        let mut told = json!({ "title": plain(&row.title, TITLE_CHARS), "url": url.as_str(),
            "description": plain(&row.description, DESCRIPTION_CHARS), "position": clean.len() + 1 });
        if let (Some(date), Some(object)) = (&row.published, told.as_object_mut()) {
            object.insert("published".to_owned(), date.clone().into());
        }
        clean.push(told);
    }
    (clean, dropped)
}

/// Two addresses of one page come out alike.
fn canonical(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = ["m.", "amp.", "www."]
        .iter()
        .fold(host, |host, start| host.strip_prefix(start).unwrap_or(host));
    let is_noise = |name: &str| {
        name.starts_with("utm_") || name.starts_with("mc_") || matches!(name, "gclid" | "fbclid")
    };
    let mut query: Vec<String> = url
        .query_pairs()
        .filter(|(name, _)| !is_noise(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    query.sort();
    format!("{host}{}?{}", url.path().trim_end_matches('/'), query.join("&"))
}

/// Text without tags and entities, on one line, cut.
pub(crate) fn plain(text: &str, chars: usize) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        bare.push_str(before);
        let is_tag = after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        match after.split_once('>') {
            Some((_, behind)) if is_tag => rest = behind,
            Some(_) | None => {
                bare.push('<');
                rest = after;
            }
        }
    }
    bare.push_str(rest);
    for (entity, letter) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&apos;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ] {
        bare = bare.replace(entity, letter);
    }
    let line = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

/// A word in a query of an address.
pub(crate) fn encoded(text: &str) -> String {
    let mut coded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            coded.push(char::from(byte));
        } else {
            let digit = |half: u8| {
                char::from_digit(u32::from(half), 16).unwrap_or('0').to_ascii_uppercase()
            };
            coded.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    coded
}

/// The rows of a JSON answer at a path.
pub(crate) fn rows_at(body: &str, path: &[&str], fields: [&str; 4]) -> Result<Vec<Row>, String> {
    let value: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let list = path.iter().fold(&value, |value, key| &value[*key]);
    match list {
        Value::Array(list) => Ok(list.iter().map(|row| Row::of(row, fields)).collect()),
        Value::Null => Ok(Vec::new()),
        _ => Err(format!("`{}` is no list", path.join("."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cleaned_and_told_once() {
        let row = |url: &str| Row {
            title: "<b>A</b> &amp; B".to_owned(),
            url: url.to_owned(),
            description: "x\n y".to_owned(),
            published: None,
        };
        let rows = [
            "https://a.example/p?utm_source=x",
            "https://www.a.example/p/",
            "https://m.a.example/p#top",
            "http://127.0.0.1/x",
            "javascript:1",
            "https://b.example/?b=2&a=1",
            "https://b.example/?a=1&b=2",
        ]
        .map(row);
        let (clean, dropped) = cleaned(&rows, 10);
        assert_eq!((clean.len(), dropped), (2, 2), "{clean:?}");
        assert_eq!(clean[0]["title"], "A & B");
        assert_eq!(clean[0]["description"], "x y");
        assert_eq!(clean[1]["position"], 2);
    }
}
