//! When a page is ready: its content is there, little is on its way, and it no longer changes.

use std::time::{Duration, Instant};

use futures::future::join;
use serde_json::{Map, Value};

use crate::error::BrowserError;
use crate::navigate::place;
use crate::session::{ActiveTab, Session};
use crate::snapshot::{Page, SMALL, Want, capture};
use crate::tab::Stage;
use crate::world;

/// A page whose load event never comes counts as loaded after so long.
const LOAD_WAIT: Duration = Duration::from_secs(5);
const CALM: Duration = Duration::from_millis(500);
const SAMPLES_APART: Duration = Duration::from_millis(150);
/// How long after an action a navigation may begin.
const BEGIN_WAIT: Duration = Duration::from_millis(100);
const ACTION_QUIET: Duration = Duration::from_millis(150);
const ACTION_CAP: Duration = Duration::from_secs(2);
const ACTION_NAVIGATION_CAP: Duration = Duration::from_secs(10);

/// A page as it was seen while it came to rest.
pub(crate) type Early = (Map<String, Value>, Page);

/// How a page came to rest.
pub(crate) struct Settled {
    /// `quiet` when it became so, `capped` when the time was up.
    pub(crate) word: &'static str,
    /// What was seen of it meanwhile, where it has not changed since.
    pub(crate) early: Option<Early>,
}

impl Settled {
    pub(crate) const QUIET: Self = Self { word: "quiet", early: None };
}

/// Waits until the document is ready, or the one that its scripts put in its place. A small page
/// is looked at (`looks`) while it is made sure that nothing more will happen to it.
pub(crate) async fn ready(
    session: &Session,
    tab: &ActiveTab,
    loader: &str,
    (cap, looks): (Duration, bool),
) -> Result<Settled, BrowserError> {
    let deadline = Instant::now() + session.options.command();
    let there = session
        .until(deadline, |state| {
            let is_blanked = state.blanked.is_some();
            (is_blanked || state.tab(&tab.id)?.reached(Stage::Ready, loader)).then_some(())
        })
        .await;
    if there.is_none() {
        return Err(BrowserError::new("timeout", "the page did not get ready in time"));
    }
    let start = Instant::now();
    let end = start + cap;
    let load_end = (start + LOAD_WAIT).min(end);
    let mut sample = count(session, tab).await;
    let mut at = Instant::now();
    session
        .until(load_end, |state| state.tab(&tab.id)?.reached(Stage::Loaded, loader).then_some(()))
        .await;
    let elements = sample.as_ref().map(|(_, elements)| *elements);
    let elements = elements.filter(|elements| looks && *elements <= SMALL);
    if let Some(early) = rests(session, tab, elements).await {
        return Ok(Settled { word: "quiet", early });
    }
    loop {
        let (busy, calm_for) = traffic(session, tab);
        let is_calm = busy == 0 || calm_for >= CALM;
        if is_calm && at.elapsed() >= SAMPLES_APART {
            let now = count(session, tab).await;
            if now.is_some() && now == sample {
                return Ok(Settled::QUIET);
            }
            (sample, at) = (now, Instant::now());
        }
        if Instant::now() >= end {
            return Ok(Settled { word: "capped", early: None });
        }
        let rest = SAMPLES_APART.saturating_sub(at.elapsed()).max(Duration::from_millis(10));
        tokio::time::sleep(rest.min(end.saturating_duration_since(Instant::now()))).await;
    }
}

/// Whether nothing more will happen to a document by itself: nothing is on its way, its scripts
/// never asked for a timer or a frame, and its thread is idle. The numbers of timers are counted
/// per document, so that the first one that we ask for tells. With `elements` the page is looked at
/// in the same breath.
async fn rests(session: &Session, tab: &ActiveTab, elements: Option<u64>) -> Option<Option<Early>> {
    let document = || -> Option<String> {
        let mut state = session.state();
        let tab = state.tab(&tab.id)?;
        tab.is_alone().then(|| tab.loader().map(str::to_owned)).flatten()
    };
    let before = document()?;
    let look = async {
        let want = Want { elements: Some(elements?), ..Want::default() };
        let (place, page) = join(place(session), capture(session, tab, &want)).await;
        Some((place, page.ok()?))
    };
    let (idle, early) = join(world::ask(session, (&tab.cdp, &tab.target), IDLE), look).await;
    let is_idle = idle.is_ok_and(|idle| idle == true);
    let is_same = document().is_some_and(|now| now == before);
    let early = early.filter(|(_, page)| page.loader == before);
    (is_idle && is_same).then_some(early)
}

/// Answers when the thread of the document has nothing to do.
const IDLE: &str = "new Promise(done => {
  const count = () => document.getElementsByTagName('*').length, before = count();
  const look = idle => {
    const timer = setTimeout(() => {}, 0); clearTimeout(timer);
    const frame = requestAnimationFrame(() => {}); cancelAnimationFrame(frame);
    done(!idle.didTimeout && timer === 1 && frame === 1 && count() === before
      && !document.querySelector('meta[http-equiv=refresh i]'));
  };
  requestIdleCallback(look, { timeout: 120 });
})";

fn traffic(session: &Session, tab: &ActiveTab) -> (usize, Duration) {
    let mut state = session.state();
    let Some(tab) = state.tab(&tab.id) else { return (0, CALM) };
    tab.recount();
    (tab.busy(), tab.calm_since.map_or(Duration::ZERO, |since| since.elapsed()))
}

/// The document where it is known, and how many elements it has.
async fn count(session: &Session, tab: &ActiveTab) -> Option<(Option<String>, u64)> {
    const CODE: &str = "document.getElementsByTagName('*').length";
    let elements = world::ask(session, (&tab.cdp, &tab.target), CODE).await.ok()?.as_u64()?;
    let document = session.state().tab(&tab.id)?.loader().map(str::to_owned);
    Some((document, elements))
}

/// How many documents have begun, before an action.
pub(crate) fn before(session: &Session, tab: &ActiveTab) -> (u64, Instant, String) {
    let mut state = session.state();
    let tab = state.tab(&tab.id);
    let url = tab.as_ref().map(|tab| tab.url.clone()).unwrap_or_default();
    (tab.map_or(0, |tab| tab.navigations), Instant::now(), url)
}

/// Waits until what an action started has come to rest; says whether it led to another document.
pub(crate) async fn acted(
    session: &Session,
    tab: &ActiveTab,
    (navigations, began, url): (u64, Instant, String),
) -> Result<bool, BrowserError> {
    let started = session
        .until(Instant::now() + BEGIN_WAIT, |state| {
            (state.tab(&tab.id)?.navigations > navigations).then_some(())
        })
        .await;
    if started.is_some() {
        return arrived(session, tab).await.map(|_| true);
    }
    let end = began + ACTION_CAP;
    loop {
        let Some((began_another, busy, quiet_for)) = since(session, tab, navigations, began) else {
            return Ok(true);
        };
        if began_another {
            return arrived(session, &session.active()?).await.map(|_| true);
        }
        if (busy == 0 && quiet_for >= ACTION_QUIET) || Instant::now() >= end {
            break;
        }
        let rest = ACTION_QUIET.saturating_sub(quiet_for).max(Duration::from_millis(10));
        session.pause(rest).await;
    }
    let now = session.state().tab(&tab.id).map(|tab| tab.url.clone());
    Ok(now.is_some_and(|now| now != url))
}

/// Whether another document began, how many requests of the action are open, and for how long
/// none has begun. `None` when the tab is gone.
fn since(
    session: &Session,
    tab: &ActiveTab,
    navigations: u64,
    began: Instant,
) -> Option<(bool, usize, Duration)> {
    let mut state = session.state();
    let tab = state.tab(&tab.id)?;
    let quiet_for = tab.last_request.max(began).elapsed();
    Some((tab.navigations > navigations, tab.busy_since(began), quiet_for))
}

/// A new document is on its way: waits for it. One that becomes a download never arrives.
pub(crate) async fn arrived(
    session: &Session,
    tab: &ActiveTab,
) -> Result<&'static str, BrowserError> {
    let deadline = Instant::now() + ACTION_NAVIGATION_CAP;
    let before = session.state().tab(&tab.id).and_then(|tab| tab.loader().map(str::to_owned));
    let downloads = session.state().downloads.len();
    let loader = session
        .until(deadline, |state| {
            if state.downloads.len() > downloads {
                return Some(None);
            }
            let loader = state.tab(&tab.id)?.loader()?.to_owned();
            let is_new =
                Some(&loader) != before.as_ref() || state.tab(&tab.id)?.ready.contains(&loader);
            is_new.then_some(Some(loader))
        })
        .await;
    match loader {
        Some(Some(loader)) => {
            let cap = session.options.settle().min(ACTION_NAVIGATION_CAP);
            ready(session, tab, &loader, (cap, false)).await.map(|settled| settled.word)
        }
        Some(None) => Ok("quiet"),
        None => Ok("capped"),
    }
}
