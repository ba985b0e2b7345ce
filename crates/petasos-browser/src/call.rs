//! One call of a tool: its turn on the session, its end when it is cancelled, the page dies or a
//! dialog opens, and what every result carries besides.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::{CallContext, wait};
use petasos_net::sites::{Neighbourhood, neighbourhood};
use serde_json::{Map, Value};

use crate::click::{self, ClickKind};
use crate::engine::{Browsers, IsPrivate};
use crate::error::BrowserError;
use crate::form::Form;
use crate::session::Session;
use crate::snapshot::SnapshotAsk;
use crate::typing::TypeAsk;
use crate::{dialog, look, navigate, raw, snapshot, typing};

/// How long a call waits for another one of the same session.
const TURN_WAIT: Duration = Duration::from_mins(1);

/// Downloads that one result tells of.
const DOWNLOADS_TOLD: usize = 20;

/// What came of the work of a call.
enum Ended {
    Done(Map<String, Value>),
    /// A dialog opened meanwhile: the page stands still until it is answered.
    Dialog,
}

type Answer = Result<Map<String, Value>, BrowserError>;

impl Browsers {
    /// Opens an address, or does what `tab:`, `reload:` and `forward:` say.
    pub async fn navigate(
        self: &Arc<Self>,
        cx: &CallContext,
        url: &str,
        opens_private: bool,
    ) -> Answer {
        let session = self.session(cx, Some(IsPrivate(is_private(url)))).await?;
        if let Some(tab) = url.strip_prefix("tab:") {
            return Ok(finish(&session, Box::pin(navigate::tab(&session, tab)).await?));
        }
        let work = navigate::navigate(&session, url, opens_private);
        self.acts(cx, &session, work).await
    }

    /// One step back in the history.
    pub async fn back(self: &Arc<Self>, cx: &CallContext) -> Answer {
        let session = self.session(cx, None).await?;
        self.acts(cx, &session, navigate::history(&session, -1)).await
    }

    /// The page as text.
    pub async fn snapshot(self: &Arc<Self>, cx: &CallContext, ask: SnapshotAsk) -> Answer {
        let session = self.session(cx, None).await?;
        self.acts(cx, &session, snapshot::take(&session, &ask)).await
    }

    /// Clicks what a reference names.
    pub async fn click(
        self: &Arc<Self>,
        cx: &CallContext,
        reference: &str,
        kind: ClickKind,
    ) -> Answer {
        let session = self.session(cx, None).await?;
        self.acts(cx, &session, click::click(&session, reference, kind)).await
    }

    /// Types into what a reference names.
    pub async fn type_text(self: &Arc<Self>, cx: &CallContext, ask: TypeAsk) -> Answer {
        let session = self.session(cx, None).await?;
        self.acts(cx, &session, typing::type_text(&session, &ask, cx)).await
    }

    /// Presses a key.
    pub async fn press(self: &Arc<Self>, cx: &CallContext, key: &str) -> Answer {
        let session = self.session(cx, None).await?;
        self.acts(cx, &session, typing::press(&session, key)).await
    }

    /// Turns the wheel.
    pub async fn scroll(self: &Arc<Self>, cx: &CallContext, ask: click::ScrollAsk) -> Answer {
        let session = self.session(cx, None).await?;
        self.acts(cx, &session, click::scroll(&session, &ask)).await
    }

    /// The pictures of the page.
    pub async fn images(self: &Arc<Self>, cx: &CallContext) -> Answer {
        let session = self.session(cx, None).await?;
        self.acts(cx, &session, look::images(&session)).await
    }

    /// A picture of the page: the answer, and the file.
    pub async fn picture(self: &Arc<Self>, cx: &CallContext, annotate: bool) -> Answer {
        let session = self.session(cx, None).await?;
        self.acts(cx, &session, look::picture(&session, annotate)).await
    }

    /// What the page logged, or the value of an expression.
    pub async fn console(
        self: &Arc<Self>,
        cx: &CallContext,
        clear: bool,
        expression: Option<&str>,
    ) -> Answer {
        let session = self.session(cx, None).await?;
        match expression {
            None => Ok(finish(&session, look::console(&session, clear))),
            Some(code) => self.acts(cx, &session, look::evaluate(&session, code)).await,
        }
    }

    /// Answers a dialog.
    pub async fn dialog(
        self: &Arc<Self>,
        cx: &CallContext,
        accept: bool,
        (id, prompt): (Option<&str>, Option<&str>),
    ) -> Answer {
        let session = self.session(cx, None).await?;
        let _turn = turn(cx, &session).await?;
        let work = dialog::answer(&session, accept, id, prompt);
        Ok(finish(&session, cancellable(cx, Box::pin(work)).await?))
    }

    /// A bare call of the protocol.
    pub async fn raw(self: &Arc<Self>, cx: &CallContext, ask: raw::RawAsk) -> Answer {
        let opens = ask.opens().then_some(IsPrivate(ask.opens_private));
        let session = self.session(cx, opens).await?;
        let _turn = turn(cx, &session).await?;
        let work = Box::pin(cancellable(cx, raw::send(&session, &ask)));
        let answer = tokio::select! {
            biased;
            done = work => done,
            error = Box::pin(dies(&session)) => Err(error),
        };
        Ok(finish(&session, answer?))
    }

    /// The host of the page that actions of a session would reach.
    pub fn page_host(&self, cx: &CallContext) -> Option<String> {
        let session = self.peek(cx)?;
        let url = session.state().active_tab()?.url.clone();
        petasos_net::Url::parse(&url).ok()?.host_str().map(str::to_owned)
    }

    /// The kind of field a reference names: `password`, `file`, `text`…
    pub fn input_type(&self, cx: &CallContext, reference: &str) -> Option<String> {
        let session = self.peek(cx)?;
        let number = crate::element::number(reference)?;
        let mut state = session.state();
        Some(state.active_tab()?.refs.get(&number)?.input_type.clone())
    }

    /// What the form would do that clicking a reference sends, or Enter in it (`by_key`); without
    /// a reference Enter where something was typed last.
    pub fn form(&self, cx: &CallContext, reference: Option<&str>, by_key: bool) -> Option<Form> {
        let session = self.peek(cx)?;
        let mut state = session.state();
        let number = match reference {
            Some(reference) => crate::element::number(reference)?,
            None => state.typed_last?,
        };
        let tab = state.active_tab()?;
        let record = tab.refs.get(&number)?;
        let page = tab.frames.get(&record.key.frame).map_or(&tab.url, |frame| &frame.url);
        let inside = record.form.as_ref().filter(|inside| by_key || inside.submits)?;
        Form::of(&inside.form, page)
    }

    /// The service that a call's browser is opened at, and what that costs in cents.
    pub fn vendor(&self, cx: &CallContext) -> Option<(String, u32)> {
        let own = cx.settings.section().ok()?;
        let cloud = crate::cloud::chosen(&own).ok()??;
        let is_open = self.peek(cx).is_some_and(|session| session.lives());
        Some((cloud.host(&cx.settings)?, if is_open { 0 } else { cloud.cents }))
    }

    /// Does the work of a call on its own turn.
    async fn acts(
        &self,
        cx: &CallContext,
        session: &Arc<Session>,
        work: impl Future<Output = Answer> + Send,
    ) -> Answer {
        let _turn = turn(cx, session).await?;
        if let Some(open) = dialog::open(session) {
            return Err(open);
        }
        let ended = {
            let work = Box::pin(work);
            let dialog = Box::pin(dialog::opens(session));
            let died = Box::pin(dies(session));
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => Err(BrowserError::cancelled()),
                done = work => done.map(Ended::Done),
                () = dialog => Ok(Ended::Dialog),
                error = died => Err(error),
            }
        };
        *session.used.lock() = Instant::now();
        match ended {
            Ok(Ended::Done(answer)) => {
                if let Ok(tab) = session.active()
                    && let Some(tab) = session.state().tab(&tab.id)
                {
                    tab.timeouts = 0;
                }
                Ok(finish(session, answer))
            }
            Ok(Ended::Dialog) => {
                let mut answer = navigate::place(session).await;
                answer.insert("pending_dialogs".to_owned(), dialog::pending(session));
                Ok(finish(session, answer))
            }
            Err(error) => {
                if error.kind == "timeout" {
                    navigate::after_timeout(session);
                }
                Err(error)
            }
        }
    }
}

/// Whether an address is plainly one of this machine or of a private network.
fn is_private(url: &str) -> bool {
    let url = petasos_net::checked_url(url).ok();
    let host = url.as_ref().and_then(|url| url.host_str());
    host.is_some_and(|host| neighbourhood(host) != Neighbourhood::Public)
}

/// Waits until no other call uses the session.
async fn turn<'a>(
    cx: &CallContext,
    session: &'a Session,
) -> Result<tokio::sync::MutexGuard<'a, ()>, BrowserError> {
    let waiting =
        wait::until(Instant::now() + TURN_WAIT, "the browser session", session.turn.lock());
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(BrowserError::cancelled()),
        turn = waiting => turn.map_err(|_| {
            BrowserError::new("busy", "another call still uses this browser session; try again")
        }),
    }
}

async fn cancellable<T>(
    cx: &CallContext,
    work: impl Future<Output = Result<T, BrowserError>>,
) -> Result<T, BrowserError> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(BrowserError::cancelled()),
        done = work => done,
    }
}

/// Comes back when the page or the process dies under a call.
async fn dies(session: &Session) -> BrowserError {
    const FAR: Duration = Duration::from_hours(24);
    let before = session.state().active_tab().is_some_and(|tab| tab.is_crashed);
    session
        .until(Instant::now() + FAR, |state| {
            let crashed = state.active_tab().is_some_and(|tab| tab.is_crashed) && !before;
            (state.is_lost || crashed).then_some(())
        })
        .await;
    if session.state().is_lost {
        return crate::wire::WireError::Gone.into();
    }
    BrowserError::new("crashed", "the page crashed; browser_navigate opens it anew")
}

/// What every result carries besides: news of downloads, further tabs, notes, first words.
fn finish(session: &Session, mut answer: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in session.first.lock().drain(..) {
        answer.insert(key.to_owned(), value);
    }
    let mut state = session.state();
    let news: Vec<Value> = state
        .downloads
        .iter_mut()
        .filter(|download| !download.is_told)
        .take(DOWNLOADS_TOLD)
        .map(|download| {
            download.is_told = download.state != "inProgress";
            download.told()
        })
        .collect();
    if !news.is_empty() {
        answer.insert("downloads".to_owned(), news.into());
    }
    if state.tabs.len() > 1 && !answer.contains_key("tabs") {
        answer.insert("tabs".to_owned(), navigate::tabs(&state));
    }
    let notes = state.take_notes();
    if !notes.is_empty() {
        answer.insert("notes".to_owned(), notes.into());
    }
    answer
}
