//! When a page is ready: its content is there, little is on its way, and it no longer changes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::BrowserError;
use crate::session::{ActiveTab, Session};

/// A page whose load event never comes counts as loaded after so long.
const LOAD_WAIT: Duration = Duration::from_secs(5);
const CALM: Duration = Duration::from_millis(500);
const SAMPLES_APART: Duration = Duration::from_millis(150);
/// How long after an action a navigation may begin.
const BEGIN_WAIT: Duration = Duration::from_millis(100);
const ACTION_QUIET: Duration = Duration::from_millis(150);
const ACTION_CAP: Duration = Duration::from_secs(2);
const ACTION_NAVIGATION_CAP: Duration = Duration::from_secs(10);

/// How many elements there are, and whether a script could add more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    elements: u64,
    has_scripts: bool,
}

/// Waits until the document is ready; `quiet` when it became so, `capped` when the time was up.
pub(crate) async fn ready(
    session: &Session,
    tab: &ActiveTab,
    loader: &str,
    cap: Duration,
) -> Result<&'static str, BrowserError> {
    let deadline = Instant::now() + session.options.command();
    let there = session
        .until(deadline, |state| {
            let is_blanked = state.blanked.is_some();
            (is_blanked || state.tab(&tab.id)?.ready.contains(loader)).then_some(())
        })
        .await;
    if there.is_none() {
        return Err(BrowserError::new("timeout", "the page did not get ready in time"));
    }
    let start = Instant::now();
    let end = start + cap;
    let load_end = (start + LOAD_WAIT).min(end);
    session
        .until(load_end, |state| state.tab(&tab.id)?.loaded.contains(loader).then_some(()))
        .await;
    let mut sample = count(session, tab).await;
    let mut at = Instant::now();
    loop {
        let (busy, calm_for) = traffic(session, tab);
        if busy == 0 && sample.is_some_and(|sample| !sample.has_scripts) {
            return Ok("quiet");
        }
        let is_calm = busy == 0 || calm_for >= CALM;
        if is_calm && at.elapsed() >= SAMPLES_APART {
            let now = count(session, tab).await;
            if now.is_some() && now == sample {
                return Ok("quiet");
            }
            (sample, at) = (now, Instant::now());
        }
        if Instant::now() >= end {
            return Ok("capped");
        }
        let rest = SAMPLES_APART.saturating_sub(at.elapsed()).max(Duration::from_millis(10));
        tokio::time::sleep(rest.min(end.saturating_duration_since(Instant::now()))).await;
    }
}

fn traffic(session: &Session, tab: &ActiveTab) -> (usize, Duration) {
    let mut state = session.state();
    let Some(tab) = state.tab(&tab.id) else { return (0, CALM) };
    tab.recount();
    (tab.busy(), tab.calm_since.map_or(Duration::ZERO, |since| since.elapsed()))
}

async fn count(session: &Session, tab: &ActiveTab) -> Option<Sample> {
    const CODE: &str = "[document.getElementsByTagName('*').length, document.scripts.length > 0 || !!document.querySelector('iframe,object,embed')]";
    let params = json!({ "expression": CODE, "returnByValue": true, "silent": true });
    let answer = session.call(&tab.cdp, "Runtime.evaluate", params).await.ok()?;
    let value = &answer["result"]["value"];
    Some(Sample { elements: value[0].as_u64()?, has_scripts: value[1] != Value::Bool(false) })
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
            ready(session, tab, &loader, cap).await
        }
        Some(None) => Ok("quiet"),
        None => Ok("capped"),
    }
}
