//! Going somewhere: addresses, history, tabs, and what the model reads of the place.

use std::time::{Duration, Instant};

use petasos_net::{RefusedSite, Url, UrlRefused, checked_url};
use serde_json::{Map, Value, json};

use crate::error::BrowserError;
use crate::events::text;
use crate::session::{ActiveTab, Session, State};
use crate::settle::Settled;
use crate::snapshot::{self, SnapshotAsk};
use crate::wire::WireError;
use crate::{engine, settle};

const OPEN_WAIT: Duration = Duration::from_mins(1);

/// Opens an address and reads the page.
pub(crate) async fn navigate(
    session: &Session,
    given: &str,
    opens_private: bool,
) -> Result<Map<String, Value>, BrowserError> {
    match given.trim() {
        "reload:" => return reload(session).await,
        "forward:" => return history(session, 1).await,
        _ => {}
    }
    match go(session, given, (opens_private, true)).await? {
        Some(Settled { word, early: None }) => arrival(session, word).await,
        Some(Settled { word, early: Some(early) }) => {
            let tab = session.active()?;
            let page = snapshot::told_of(session, &tab, &SnapshotAsk::default(), early)?;
            Ok(arrived(session, word, page))
        }
        None => downloaded(session).await,
    }
}

/// Opens an address and waits until its page is ready; `None` when it became a download. With
/// `looks` the page is looked at meanwhile where that can be done.
pub(crate) async fn go(
    session: &Session,
    given: &str,
    (opens_private, looks): (bool, bool),
) -> Result<Option<Settled>, BrowserError> {
    let url = address(given)?;
    permit(session, &url, opens_private).await?;
    let tab = usable_tab(session).await?;
    session.proxy.forget_refused();
    session.proxy.restart_count();
    {
        let mut state = session.state();
        state.blanked = None;
        if let Some(tab) = state.tab(&tab.id) {
            tab.status = None;
        }
    }
    let params = json!({ "url": url.as_str() });
    let wait = OPEN_WAIT.min(session.options.command().max(Duration::from_secs(1)) * 2);
    let went = session.wire.call(Some(&tab.cdp), "Page.navigate", params, wait).await;
    let went = went.map_err(|error| match error {
        WireError::Timeout(_) => BrowserError::new(
            "timeout",
            format!("{} did not answer in time; try again or open another page", host(&url)),
        ),
        WireError::Gone | WireError::Refused { .. } => error.into(),
    })?;
    if went["isDownload"] == true {
        return Ok(None);
    }
    if let Some(word) = went["errorText"].as_str() {
        return failed(session, &url, word);
    }
    let settled = match went["loaderId"].as_str() {
        Some(loader) => {
            let how = (session.options.settle(), looks);
            settle::ready(session, &tab, loader, how).await
        }
        None => Ok(Settled::QUIET),
    };
    let blanked = session.state().blanked.take();
    if let Some(why) = blanked {
        return Err(BrowserError::new("blocked_address", why));
    }
    let settled = settled?;
    refused_on_the_way(session, &tab, &url).await?;
    Ok(Some(settled))
}

/// Reads an address; what could lead outside the web is refused.
pub(crate) fn address(given: &str) -> Result<Url, BrowserError> {
    let given = given.trim();
    let spelled = match given.split_once(':') {
        // `host:8080/path` has no scheme, whatever the colon looks like.
        Some((_, rest))
            if rest.starts_with(|c: char| c.is_ascii_digit()) && !given.contains("://") =>
        {
            format!("http://{given}")
        }
        Some(_) => given.to_owned(),
        None => format!("https://{given}"),
    };
    if spelled == "about:blank" {
        return Url::parse("about:blank")
            .map_err(|error| BrowserError::new("bad_argument", error.to_string()));
    }
    let bad = |error: UrlRefused| BrowserError::new("bad_argument", error.to_string());
    let scheme = spelled.split(':').next().unwrap_or_default().to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        let text = format!("`{scheme}:` addresses are not opened; use http or https");
        return Err(BrowserError::new("blocked_address", text));
    }
    checked_url(&spelled).map_err(bad)
}

fn host(url: &Url) -> &str {
    url.host_str().unwrap_or("the page")
}

/// Lets the proxy pass what this navigation needs, or says why not.
pub(crate) async fn permit(
    session: &Session,
    url: &Url,
    opens_private: bool,
) -> Result<(), BrowserError> {
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Ok(());
    };
    let Some(refused) = session.proxy.objection(host, port).await else {
        session.proxy.open();
        return Ok(());
    };
    if !refused.is_address {
        let blocked = refused.why.contains("block list");
        let kind = if blocked { "blocked_policy" } else { "upstream" };
        return Err(BrowserError::new(kind, refused.why));
    }
    if !opens_private {
        let hint = "add it to security.private_hosts";
        return Err(BrowserError::new("blocked_address", refused.why).with("hint", hint));
    }
    session.proxy.open_private(host, port);
    // What no setting opens stays closed: metadata services and link-local addresses.
    match session.proxy.objection(host, port).await {
        Some(refused) => Err(BrowserError::new("blocked_address", refused.why)),
        None => Ok(()),
    }
}

/// The active tab, alive or crashed: a navigation revives it. None left: a new one.
async fn usable_tab(session: &Session) -> Result<ActiveTab, BrowserError> {
    let known = {
        let mut state = session.state();
        state.active_tab().map(|tab| {
            tab.is_crashed = false;
            ActiveTab { id: tab.id.clone(), cdp: tab.cdp.clone(), target: tab.target.clone() }
        })
    };
    if let Some(tab) = known {
        return Ok(tab);
    }
    engine::new_tab(session).await?;
    session.active()
}

/// A page that did not load: our own refusal, or the browser's word.
fn failed(session: &Session, url: &Url, word: &str) -> Result<Option<Settled>, BrowserError> {
    if word == "net::ERR_ABORTED" {
        let news = session.state().downloads.iter().any(|download| !download.is_told);
        if news {
            return Ok(None);
        }
    }
    // Only a connection that the proxy did not make is its doing; it may also have refused the
    // browser's own business, which says nothing of this page.
    let refused = session.proxy.refused();
    let own = refused.iter().rev().find(|refused| url.host_str() == Some(&*refused.host));
    let refused =
        own.or(refused.last()).filter(|_| word.contains("TUNNEL") || word.contains("PROXY"));
    if let Some(refused) = refused.cloned() {
        let kind = if refused.is_address { "blocked_address" } else { "upstream" };
        let error = BrowserError::new(kind, refused.why);
        let hint = "navigate there explicitly if you mean it";
        return Err(if refused.is_address { error.with("hint", hint) } else { error });
    }
    Err(BrowserError::new("upstream", format!("{} did not load: {word}", host(url))))
}

/// With what our proxy answers a plain request that it does not pass on.
const REFUSED_STATUS: u16 = 403;

/// A plain request that the proxy refused shows the proxy's words: they are no page. A page that is
/// there and whose own host then leads into a private network is none of ours either; one that
/// lost a picture is.
async fn refused_on_the_way(
    session: &Session,
    tab: &ActiveTab,
    asked: &Url,
) -> Result<(), BrowserError> {
    let now = session.state().tab(&tab.id).map(|tab| (tab.url.clone(), tab.status));
    let (now, status) = now.unwrap_or_default();
    let is_words = status.is_none_or(|status| status == REFUSED_STATUS);
    // The browser may tell of the new page only later: the one that was asked for counts, too.
    let places: Vec<Url> = Url::parse(&now).into_iter().chain([asked.clone()]).collect();
    let is_there = |refused: &RefusedSite| {
        let counts = refused.is_address || is_words;
        counts
            && places.iter().any(|place| {
                place.host_str() == Some(refused.host.as_str())
                    && place.port_or_known_default() == Some(refused.port)
            })
    };
    let refused = session.proxy.refused().into_iter().rev().find(is_there);
    let Some(refused) = refused else { return Ok(()) };
    let blank = json!({ "url": "about:blank" });
    session.call(&tab.cdp, "Page.navigate", blank).await?;
    let kind = if refused.is_address { "blocked_address" } else { "upstream" };
    Err(BrowserError::new(kind, refused.why)
        .with("hint", "navigate there explicitly if you mean it"))
}

async fn downloaded(session: &Session) -> Result<Map<String, Value>, BrowserError> {
    let end = Instant::now() + session.options.command();
    session
        .until(end, |state| {
            let last = state.downloads.last()?;
            (last.state != "inProgress").then_some(())
        })
        .await;
    let mut answer = place(session).await;
    answer.insert("settled".to_owned(), "quiet".into());
    Ok(answer)
}

/// What a result says of the place, with the page as text.
pub(crate) async fn arrival(
    session: &Session,
    settled: &str,
) -> Result<Map<String, Value>, BrowserError> {
    let page = snapshot::take(session, &SnapshotAsk::default()).await?;
    Ok(arrived(session, settled, page))
}

fn arrived(session: &Session, settled: &str, page: Map<String, Value>) -> Map<String, Value> {
    let mut answer = Map::new();
    for key in ["url", "title"] {
        answer.insert(key.to_owned(), page.get(key).cloned().unwrap_or_default());
    }
    let status = session.state().active_tab().and_then(|tab| tab.status);
    if let Some(status) = status {
        answer.insert("status".to_owned(), status.into());
    }
    answer.extend(page);
    answer.insert("settled".to_owned(), settled.into());
    answer
}

/// Where the active tab is, without touching the page.
pub(crate) async fn place(session: &Session) -> Map<String, Value> {
    let known = session
        .state()
        .active_tab()
        .map(|tab| (tab.target.clone(), tab.url.clone(), tab.title.clone()));
    let mut answer = Map::new();
    let Some((target, mut url, mut title)) = known else { return answer };
    let params = json!({ "targetId": target });
    let wait = Duration::from_secs(2);
    let info = session.wire.call(None, "Target.getTargetInfo", params, wait).await;
    if let Ok(info) = info {
        text(&info["targetInfo"]["url"]).clone_into(&mut url);
        text(&info["targetInfo"]["title"]).clone_into(&mut title);
        if let Some(tab) = session.state().active_tab() {
            tab.url.clone_from(&url);
            tab.title.clone_from(&title);
        }
    }
    answer.insert("url".to_owned(), url.into());
    answer.insert("title".to_owned(), title.into());
    answer
}

async fn reload(session: &Session) -> Result<Map<String, Value>, BrowserError> {
    let tab = session.active()?;
    let before = settle::before(session, &tab);
    session.call(&tab.cdp, "Page.reload", json!({})).await?;
    settle::acted(session, &tab, before).await?;
    arrival(session, "quiet").await
}

/// Steps through the history.
pub(crate) async fn history(
    session: &Session,
    by: i64,
) -> Result<Map<String, Value>, BrowserError> {
    let tab = session.active()?;
    let history = session.call(&tab.cdp, "Page.getNavigationHistory", json!({})).await?;
    let at = history["currentIndex"].as_i64().unwrap_or(0) + by;
    let entry = usize::try_from(at).ok().and_then(|at| history["entries"].get(at));
    let word = if by < 0 { "back" } else { "forward" };
    let Some(entry) = entry else {
        return Err(BrowserError::new("not_found", format!("there is no page to go {word} to")));
    };
    let target = Url::parse(text(&entry["url"]));
    if let Ok(url) = &target
        && url.scheme().starts_with("http")
    {
        let opened = url.host_str().zip(url.port_or_known_default());
        let known = opened.is_some_and(|(host, port)| session.proxy.is_opened(host, port));
        permit(session, url, known).await?;
    }
    let before = settle::before(session, &tab);
    let params = json!({ "entryId": entry["id"] });
    session.call(&tab.cdp, "Page.navigateToHistoryEntry", params).await?;
    let url = text(&entry["url"]).to_owned();
    session
        .until(Instant::now() + session.options.command(), |state| {
            (state.tab(&tab.id)?.url == url).then_some(())
        })
        .await;
    settle::acted(session, &tab, before).await?;
    let mut answer = arrival(session, "quiet").await?;
    answer.insert("navigated".to_owned(), true.into());
    Ok(answer)
}

/// `new`, `t2`, `close:t2`.
pub(crate) async fn tab(session: &Session, what: &str) -> Result<Map<String, Value>, BrowserError> {
    let missing = |id: &str| {
        let known: Vec<Value> =
            session.state().tabs.iter().map(|tab| Value::from(tab.id.clone())).collect();
        BrowserError::new("not_found", format!("there is no tab `{id}`")).with("candidates", known)
    };
    match what.split_once(':') {
        Some(("close", id)) => {
            let found = session.state().tab(id).map(|tab| tab.target.clone());
            let target = found.ok_or_else(|| missing(id))?;
            let params = json!({ "targetId": target });
            session.wire.call(None, "Target.closeTarget", params, OPEN_WAIT).await?;
            let gone = |state: &mut State| state.tab(id).is_none().then_some(());
            session.until(Instant::now() + Duration::from_secs(5), gone).await;
        }
        _ if what == "new" => {
            engine::new_tab(session).await?;
        }
        _ => {
            let found = session.state().tab(what).map(|tab| tab.target.clone());
            let target = found.ok_or_else(|| missing(what))?;
            session.state().active = Some(what.to_owned());
            let params = json!({ "targetId": target });
            session.wire.call(None, "Target.activateTarget", params, OPEN_WAIT).await?;
        }
    }
    let blocked = crate::dialog::open(session).is_some();
    let mut answer = match session.active() {
        Ok(_) if !blocked => arrival(session, "quiet").await?,
        Ok(_) | Err(_) => place(session).await,
    };
    answer.insert("tabs".to_owned(), tabs(&session.state()));
    Ok(answer)
}

/// All tabs, the active one marked.
pub(crate) fn tabs(state: &State) -> Value {
    let told = |tab: &crate::tab::Tab| {
        json!({ "id": tab.id, "url": tab.url, "title": tab.title,
            "active": state.active.as_deref() == Some(tab.id.as_str()) })
    };
    state.tabs.iter().map(told).collect::<Vec<_>>().into()
}

/// A call ran out of time: loading stops; the second time in a row the tab goes.
pub(crate) fn after_timeout(session: &Session) {
    let found = session.state().active_tab().map(|tab| {
        tab.timeouts = tab.timeouts.saturating_add(1);
        (tab.cdp.clone(), tab.target.clone(), tab.timeouts)
    });
    let Some((cdp, target, times)) = found else { return };
    session.wire.post(Some(&cdp), "Page.stopLoading", &json!({}));
    if times >= 2 {
        session.wire.post(None, "Target.closeTarget", &json!({ "targetId": target }));
        session.state().note("the tab did not answer twice and was closed".to_owned());
    }
}
