//! Clicking and scrolling, with real input.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::element::{Element, Point};
use crate::error::BrowserError;
use crate::session::{ActiveTab, Session};
use crate::{navigate, settle, snapshot};

const NEW_TAB_WAIT: Duration = Duration::from_millis(100);
/// A tab that opens so soon after our action is its work.
const TAB_EXPECTED: Duration = Duration::from_secs(1);
const SCROLL_USUAL: f64 = 500.0;

/// How something is clicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClickKind {
    /// Once.
    #[default]
    Left,
    /// Twice.
    Double,
    /// With the right button.
    Right,
    /// With the middle button.
    Middle,
    /// Not at all: the pointer is only moved there.
    Hover,
}

impl ClickKind {
    /// Reads the word of the tool.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "left" | "" => Self::Left,
            "double" => Self::Double,
            "right" => Self::Right,
            "middle" => Self::Middle,
            "hover" => Self::Hover,
            _ => return None,
        })
    }

    fn button(self) -> (&'static str, u8) {
        match self {
            Self::Left | Self::Double => ("left", 1),
            Self::Right => ("right", 2),
            Self::Middle => ("middle", 4),
            Self::Hover => ("none", 0),
        }
    }
}

/// Clicks and waits for what comes of it.
pub(crate) async fn click(
    session: &Session,
    reference: &str,
    kind: ClickKind,
) -> Result<Map<String, Value>, BrowserError> {
    let element = Element::find(session, reference).await?;
    match (element.record.role.as_str(), element.record.input_type.as_str()) {
        ("file", _) | (_, "file") => {
            let text = format!("@e{} takes files: use browser_type with a path", element.number);
            return Err(BrowserError::new("not_actionable", text).with("reason", "file"));
        }
        ("option", _) if is_native_option(session, &element).await => {
            return crate::typing::choose_option(session, &element).await;
        }
        _ => {}
    }
    let point = element.actionable(session, false).await?;
    let tabs = {
        let mut state = session.state();
        state.tab_expected = Some(Instant::now() + TAB_EXPECTED);
        state.tabs_made
    };
    let before = settle::before(session, &element.tab);
    mouse(session, &element.record.key.cdp, point, kind).await?;
    let opened = new_tab(session, tabs).await;
    let mut answer = outcome(session, &element.tab, before).await?;
    answer.insert("clicked".to_owned(), format!("@e{}", element.number).into());
    if let Some(tab) = opened {
        answer.insert("new_tab".to_owned(), tab.into());
    }
    Ok(answer)
}

async fn is_native_option(session: &Session, element: &Element) -> bool {
    let asked = element.ask(session, "function(){return this.tagName==='OPTION'}", &[]).await;
    asked.is_ok_and(|answer| answer == true)
}

/// Moves, presses and releases.
async fn mouse(
    session: &Session,
    cdp: &str,
    Point { x, y }: Point,
    kind: ClickKind,
) -> Result<(), BrowserError> {
    let (button, buttons) = kind.button();
    let event = |what: &str, pressed: u8, clicks: u8| {
        json!({ "type": what, "x": x, "y": y, "button": if what == "mouseMoved" { "none" } else { button },
            "buttons": pressed, "clickCount": clicks })
    };
    session.call(cdp, "Input.dispatchMouseEvent", event("mouseMoved", 0, 0)).await?;
    let times = match kind {
        ClickKind::Hover => 0,
        ClickKind::Double => 2,
        ClickKind::Left | ClickKind::Right | ClickKind::Middle => 1,
    };
    for click in 1..=times {
        session
            .call(cdp, "Input.dispatchMouseEvent", event("mousePressed", buttons, click))
            .await?;
        session.call(cdp, "Input.dispatchMouseEvent", event("mouseReleased", 0, click)).await?;
    }
    Ok(())
}

/// A tab that our action opened becomes the active one.
async fn new_tab(session: &Session, before: u32) -> Option<String> {
    let found = session.until(Instant::now() + NEW_TAB_WAIT, |state| {
        if state.tabs_made == before {
            return None;
        }
        let tab = state.tabs.last()?;
        let id = tab.id.clone();
        state.active = Some(id.clone());
        Some(id)
    });
    found.await
}

/// What an action led to: the place, and what changed on the page.
pub(crate) async fn outcome(
    session: &Session,
    tab: &ActiveTab,
    before: (u64, Instant, String),
) -> Result<Map<String, Value>, BrowserError> {
    let mut navigated = false;
    let active = session.active();
    if active.as_ref().is_ok_and(|active| active.id == tab.id) {
        navigated = settle::acted(session, tab, before).await?;
    } else if let Ok(active) = &active {
        settle::arrived(session, active).await?;
    }
    let mut answer = navigate::place(session).await;
    answer.insert("navigated".to_owned(), navigated.into());
    if session.options.action_changes
        && let Some(changes) = snapshot::changes(session).await
    {
        answer.insert("changes".to_owned(), changes.into());
    }
    Ok(answer)
}

/// What is scrolled, and how far.
#[derive(Debug, Clone, Default)]
pub struct ScrollAsk {
    /// `up`, `down`, `left` or `right`.
    pub direction: String,
    /// Inside this element.
    pub reference: Option<String>,
    /// Pixels.
    pub amount: Option<f64>,
}

/// Turns the wheel and says how far the page moved.
pub(crate) async fn scroll(
    session: &Session,
    ask: &ScrollAsk,
) -> Result<Map<String, Value>, BrowserError> {
    let tab = session.active()?;
    let amount = ask.amount.filter(|px| px.is_finite() && *px > 0.0).unwrap_or(SCROLL_USUAL);
    let (dx, dy) = match ask.direction.as_str() {
        "up" => (0.0, -amount),
        "down" => (0.0, amount),
        "left" => (-amount, 0.0),
        "right" => (amount, 0.0),
        other => {
            let text = format!("`{other}` is no direction: up, down, left or right");
            return Err(BrowserError::new("bad_argument", text));
        }
    };
    let known = session.state().refs_made;
    let (before, after) = match &ask.reference {
        Some(reference) => {
            let element = Element::find(session, reference).await?;
            let before = element.ask(session, POSITION, &[]).await?;
            element.ask(session, MOVE, &[json!({ "value": dx }), json!({ "value": dy })]).await?;
            session.pause(Duration::from_millis(50)).await;
            (before, element.ask(session, POSITION, &[]).await?)
        }
        None => wheel(session, &tab, dx, dy).await?,
    };
    let at = settle::before(session, &tab);
    settle::acted(session, &tab, at).await?;
    if let Err(error) = snapshot::look(session).await {
        tracing::debug!(%error, "the page could not be read after scrolling");
    }
    let new_refs = session.state().refs_made - known;
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or(0.0);
    let axis = if dx == 0.0 { "y" } else { "x" };
    let moved = number(&after, axis) - number(&before, axis);
    let at_end = match ask.direction.as_str() {
        "down" => number(&after, "bottom") <= 1.0,
        "right" => number(&after, "rest") <= 1.0,
        _ => number(&after, axis) <= 0.5,
    };
    let mut answer = Map::new();
    answer.insert("scrolled".to_owned(), ask.direction.clone().into());
    answer.insert("moved_px".to_owned(), format!("{moved:.0}").parse::<i64>().unwrap_or(0).into());
    let position = format!("{:.0} of {:.0} px", number(&after, "y"), number(&after, "height"));
    answer.insert("position".to_owned(), position.into());
    answer.insert("at_end".to_owned(), at_end.into());
    answer.insert("new_refs".to_owned(), new_refs.into());
    Ok(answer)
}

/// The wheel over the middle of the viewport; waits until the page has moved.
async fn wheel(
    session: &Session,
    tab: &ActiveTab,
    dx: f64,
    dy: f64,
) -> Result<(Value, Value), BrowserError> {
    let look = || async {
        let code =
            format!("({POSITION}).call(document.scrollingElement||document.documentElement)");
        let params = json!({ "expression": code, "returnByValue": true, "silent": true });
        let answer = session.call(&tab.cdp, "Runtime.evaluate", params).await?;
        Ok::<Value, BrowserError>(answer["result"]["value"].clone())
    };
    let before = look().await?;
    let view = session.call(&tab.cdp, "Page.getLayoutMetrics", json!({})).await?;
    let size = |key: &str| view["cssLayoutViewport"][key].as_f64().unwrap_or(600.0) / 2.0;
    let event = json!({ "type": "mouseWheel", "x": size("clientWidth"), "y": size("clientHeight"),
        "deltaX": dx, "deltaY": dy });
    session.call(&tab.cdp, "Input.dispatchMouseEvent", event).await?;
    let end = Instant::now() + Duration::from_millis(400);
    let mut last = look().await?;
    loop {
        tokio::time::sleep(Duration::from_millis(40)).await;
        let now = look().await?;
        let stands = now["x"] == last["x"] && now["y"] == last["y"];
        let moved = now["x"] != before["x"] || now["y"] != before["y"];
        if (stands && moved) || Instant::now() >= end {
            return Ok((before, now));
        }
        last = now;
    }
}

const POSITION: &str = "function(){const e=this;return {x:e.scrollLeft,y:e.scrollTop,
  height:e.scrollHeight,bottom:e.scrollHeight-e.clientHeight-e.scrollTop,
  rest:e.scrollWidth-e.clientWidth-e.scrollLeft}}";

const MOVE: &str = "function(dx,dy){let e=this;
  while(e&&e.scrollHeight<=e.clientHeight&&e.scrollWidth<=e.clientWidth&&e.parentElement)e=e.parentElement;
  e.scrollBy({left:dx,top:dy,behavior:'instant'})}";
