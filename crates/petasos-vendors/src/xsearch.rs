//! Posts on X, by xAI's Responses interface and its `x_search` tool.

use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use petasos_contract::ports::Logins;
use petasos_contract::settings::Section;
use petasos_contract::{Secret, Settings};
use petasos_net::{Method, Scheme};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::fault::VendorError;
use crate::service::{Sent, Service, variable};
use crate::text::cut;

/// What is said when nobody can ask.
pub const NEEDS: &str = "needs xAI credentials: XAI_API_KEY or petasos auth login xai";

const BASE: &str = "https://api.x.ai/v1";
const MODEL: &str = "grok-4.5";
const HANDLES_MAX: usize = 10;
const QUERY_CHARS_MAX: usize = 4000;
const ANSWER_CHARS_MAX: usize = 40_000;
const CITATIONS_MAX: usize = 50;
/// Pauses before a further try, after the vendor or the way to it failed.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

/// The section `x_search`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Options {
    model: Option<String>,
    reasoning_effort: Option<String>,
    timeout_seconds: Option<u64>,
    retries: Option<usize>,
}

impl Section for Options {
    const NAME: &'static str = "x_search";
}

/// What is looked for.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Ask {
    query: String,
    #[serde(default)]
    allowed_x_handles: Vec<String>,
    #[serde(default)]
    excluded_x_handles: Vec<String>,
    from_date: Option<String>,
    to_date: Option<String>,
    #[serde(default)]
    enable_image_understanding: bool,
    #[serde(default)]
    enable_video_understanding: bool,
}

/// Names of the vendor in the vault: of its accounts, and of its keys.
const ACCOUNT: &str = "xai-oauth";
const KEYS: &str = "xai";

/// Who asks: an account first, which pays with its subscription; then the key of the surroundings,
/// then one that is kept.
enum Payer {
    Kept(Arc<dyn Logins>, &'static str),
    Key(Secret),
}

impl Payer {
    fn of(logins: Option<&Arc<dyn Logins>>, settings: &Settings) -> Option<Self> {
        let kept = |name: &'static str| {
            let logins = logins.filter(|logins| logins.is_signed_in(name, settings))?;
            Some(Self::Kept(Arc::clone(logins), name))
        };
        let key = || variable(settings, "XAI_API_KEY").map(Self::Key);
        kept(ACCOUNT).or_else(key).or_else(|| kept(KEYS))
    }

    /// The word for it in results.
    fn source(&self) -> &'static str {
        match self {
            Self::Kept(_, name) => name,
            Self::Key(_) => "XAI_API_KEY",
        }
    }

    /// What is shown to the vendor; a token that it refused is renewed.
    async fn token(
        &self,
        settings: &Settings,
        refused: Option<&Secret>,
    ) -> Result<Secret, VendorError> {
        match self {
            Self::Key(key) => Ok(key.clone()),
            Self::Kept(logins, name) => {
                let given = logins.access(name, settings, refused).await;
                given.map_err(|why| VendorError::new("auth", why))
            }
        }
    }
}

/// Whether somebody can ask.
pub fn is_set_up(logins: Option<&Arc<dyn Logins>>, settings: &Settings) -> bool {
    Payer::of(logins, settings).is_some()
}

/// The host that is asked.
pub fn host(settings: &Settings) -> Option<String> {
    service(settings).ok().map(|service| service.host().to_owned())
}

fn service(settings: &Settings) -> Result<Service, VendorError> {
    let base = settings.text("services.endpoints.xai").unwrap_or(BASE);
    Service::new("xAI", base, settings)
}

impl Ask {
    /// Whether posts were narrowed, so that an answer without any is doubtful.
    fn is_narrowed(&self) -> bool {
        !self.allowed_x_handles.is_empty()
            || !self.excluded_x_handles.is_empty()
            || self.from_date.is_some()
            || self.to_date.is_some()
    }

    /// The tool as the vendor wants it; nothing is asked before it is in order.
    fn tool(&self, today: Date) -> Result<Value, VendorError> {
        if self.query.trim().is_empty() {
            return Err(VendorError::argument("`query` is empty: say what to look for"));
        }
        if self.query.chars().count() > QUERY_CHARS_MAX {
            return Err(VendorError::new("too_large", "`query` is longer than 4,000 characters"));
        }
        if !self.allowed_x_handles.is_empty() && !self.excluded_x_handles.is_empty() {
            let text = "give `allowed_x_handles` or `excluded_x_handles`, not both";
            return Err(VendorError::argument(text));
        }
        let mut tool = Map::new();
        tool.insert("type".to_owned(), "x_search".into());
        for (key, list) in [
            ("allowed_x_handles", &self.allowed_x_handles),
            ("excluded_x_handles", &self.excluded_x_handles),
        ] {
            if !list.is_empty() {
                tool.insert(key.to_owned(), handles(list)?.into());
            }
        }
        let (from, to) = (
            day("from_date", self.from_date.as_deref())?,
            day("to_date", self.to_date.as_deref())?,
        );
        if from.is_some_and(|from| from > today) {
            return Err(VendorError::argument("`from_date` lies in the future"));
        }
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            return Err(VendorError::argument("`from_date` is later than `to_date`"));
        }
        for (key, date) in [("from_date", from), ("to_date", to)] {
            if let Some(date) = date {
                tool.insert(key.to_owned(), date.to_string().into());
            }
        }
        for (key, on) in [
            ("enable_image_understanding", self.enable_image_understanding),
            ("enable_video_understanding", self.enable_video_understanding),
        ] {
            if on {
                tool.insert(key.to_owned(), true.into());
            }
        }
        Ok(Value::Object(tool))
    }
}

fn handles(list: &[String]) -> Result<Vec<String>, VendorError> {
    if list.len() > HANDLES_MAX {
        return Err(VendorError::argument("at most ten handles are taken"));
    }
    let clean = list.iter().map(|it| {
        let it = it.trim().trim_start_matches('@');
        let fits = !it.is_empty()
            && it.len() <= 15
            && it.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let bad = || VendorError::argument(format!("`{}` is no handle of X", cut(it, 40)));
        fits.then(|| it.to_owned()).ok_or_else(bad)
    });
    clean.collect()
}

fn day(name: &str, text: Option<&str>) -> Result<Option<Date>, VendorError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let parsed = text.parse::<Date>().ok().filter(|_| text.len() == 10);
    let bad = || VendorError::argument(format!("`{name}` is a day such as 2026-11-30"));
    parsed.map(Some).ok_or_else(bad)
}

/// Searches.
pub async fn search(
    ask: &Ask,
    logins: Option<&Arc<dyn Logins>>,
    settings: &Settings,
) -> Result<Value, VendorError> {
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let tool = ask.tool(today)?;
    let unusable = |text: String| VendorError::new("missing_setup", text);
    let options: Options = settings.section().map_err(|error| unusable(error.to_string()))?;
    let missing = || VendorError::setup(NEEDS, &["XAI_API_KEY"]);
    let payer = Payer::of(logins, settings).ok_or_else(missing)?;
    let mut service = service(settings)?;
    service.within = Duration::from_secs(options.timeout_seconds.unwrap_or(180).max(30));
    let model = options.model.unwrap_or_else(|| MODEL.to_owned());
    let mut body = json!({
        "model": model, "input": [{ "role": "user", "content": ask.query }],
        "tools": [tool], "store": false,
    });
    if let Some(effort) = &options.reasoning_effort {
        body["reasoning"] = json!({ "effort": effort });
    }
    let retries = options.retries.unwrap_or(PAUSES.len()).min(PAUSES.len());
    let answer = answered(&service, &payer, &body, retries, settings).await?;
    Ok(told(ask, &model, payer.source(), &answer))
}

/// The answer: passing failures are tried again, a refused token is renewed once.
async fn answered(
    service: &Service,
    payer: &Payer,
    body: &Value,
    retries: usize,
    settings: &Settings,
) -> Result<Value, VendorError> {
    let mut pauses = PAUSES.into_iter().take(retries);
    let mut token = payer.token(settings, None).await?;
    let mut is_fresh = matches!(payer, Payer::Key(_));
    loop {
        let service = service.clone().with_key(token.clone(), Scheme::Bearer);
        match service.json(Method::POST, "/responses", Sent::json(body)).await {
            Err(error) if error.kind == "auth" && !is_fresh => {
                token = payer.token(settings, Some(&token)).await?;
                is_fresh = true;
            }
            Err(error) if is_passing(&error) => match pauses.next() {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            },
            done => return done,
        }
    }
}

/// Only what the vendor or the way to it did wrong is tried again.
fn is_passing(error: &VendorError) -> bool {
    let status = error.extra.get("status").and_then(Value::as_u64);
    error.kind == "upstream" && status.is_none_or(|status| status >= 500)
}

fn told(ask: &Ask, model: &str, source: &str, answer: &Value) -> Value {
    let output = answer.get("output").and_then(Value::as_array).cloned().unwrap_or_default();
    let parts: Vec<&Value> = output
        .iter()
        .filter(|item| item.get("type").and_then(Value::as_str) == Some("message"))
        .filter_map(|item| item.get("content").and_then(Value::as_array))
        .flatten()
        .filter(|part| part.get("type").and_then(Value::as_str) == Some("output_text"))
        .collect();
    let text: Vec<&str> =
        parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    let inline: Vec<Value> = parts
        .iter()
        .filter_map(|part| part.get("annotations").and_then(Value::as_array))
        .flatten()
        .filter(|it| it.get("type").and_then(Value::as_str) == Some("url_citation"))
        .take(CITATIONS_MAX)
        .map(|it| {
            json!({ "url": it.get("url"), "title": it.get("title"),
                "start_index": it.get("start_index"), "end_index": it.get("end_index") })
        })
        .collect();
    let listed = answer.get("citations").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut citations: Vec<Value> = Vec::new();
    let named = inline.iter().filter_map(|it| it.get("url").cloned());
    for url in listed.into_iter().chain(named).filter(Value::is_string) {
        if !citations.contains(&url) && citations.len() < CITATIONS_MAX {
            citations.push(url);
        }
    }
    let degraded = ask.is_narrowed() && citations.is_empty();
    let why = "no post was cited although the search was narrowed: the answer may not come from X";
    json!({
        "success": true, "provider": "xai", "credential_source": source, "tool": "x_search",
        "model": model, "query": ask.query, "answer": cut(&text.join("\n"), ANSWER_CHARS_MAX),
        "citations": citations, "inline_citations": inline, "degraded": degraded,
        "degraded_reason": degraded.then_some(why),
    })
}
