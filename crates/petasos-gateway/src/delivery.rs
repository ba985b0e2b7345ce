//! Sending what is planned: in order within a chat, as fast as the platform likes, until it arrives
//! or cannot.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use petasos_store::{
    Attempt, DeliveryClass, GatewayStore, Lane, MediaFile, NewDelivery, OutboxRow, StoreError,
};
use sha2::{Digest as _, Sha256};
use tracing::{info, warn};

use crate::account::{Account, AccountState, jittered};
use crate::elsewhere;
use crate::gateway::{Shared, blank};
use crate::media;
use crate::platform::{Outgoing, Repeats, SendError, now_ms};
use crate::render::{self, Dialect, Form};
use crate::stage::{Shown, answer_token};

/// So many messages of an account are on their way at once.
const AT_ONCE: u32 = 16;
/// How often what is planned is looked at when nobody says that there is something.
const LOOK: Duration = Duration::from_secs(1);
/// Pauses after failures that certainly did not arrive, in seconds; the last one is repeated.
const PAUSES: [u64; 7] = [1, 2, 4, 8, 15, 30, 60];
/// A message that holds its lane up for so long leaves it.
const LANE_MAX_MS: i64 = 600_000;
/// How long remarks are tried.
const NOTICE_MAX_MS: i64 = 600_000;
/// How long one call may take.
const CALL_MAX: Duration = Duration::from_mins(1);
const MAY_REPEAT: &str = "(may repeat: connection broke while sending)\n";

/// Sends what is due on an account, for ever.
pub(crate) async fn deliver(account: Arc<Account>, shared: Arc<Shared>) {
    let mut sending = FuturesUnordered::new();
    loop {
        let retired = account.is_retired();
        if retired && sending.is_empty() {
            return;
        }
        let room = AT_ONCE.saturating_sub(u32::try_from(sending.len()).unwrap_or(AT_ONCE));
        if room > 0 && !retired && account.takes_messages() && shared.host.stopped().is_none() {
            let (platform, own) = (account.def.name, account.platform.account());
            match shared.store.take_due(platform, own, now_ms(), room).await {
                Ok(rows) => {
                    sending.extend(rows.into_iter().map(|row| attempt(&account, &shared, row)));
                }
                Err(error) => warn!(%error, "what is planned cannot be read"),
            }
        }
        tokio::select! {
            Some(()) = sending.next() => shared.delivered(),
            () = account.due.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// One try of one message.
async fn attempt(account: &Arc<Account>, shared: &Arc<Shared>, row: OutboxRow) {
    let id = row.id;
    let long = shared.long_texts();
    let mut closed = false;
    if let Some(answered) = row.delivery.inbox.as_deref()
        && row.delivery.token == answer_token(answered)
    {
        shared.composed(answered).await;
    }
    let row = shared.brought(account, row).await;
    let result = send_parts(account, &*shared.store, &row, &long).await;
    let outcome = match result {
        Ok(()) => {
            shared.counters.sent.fetch_add(1, Ordering::Relaxed);
            info!(id, inbox = row.delivery.inbox, platform = account.def.name, "sent");
            Attempt::Sent
        }
        Err(error) => {
            shared.counters.failed_sends.fetch_add(1, Ordering::Relaxed);
            warn!(id, platform = account.def.name, %error, attempts = row.attempts, "not sent");
            closed = matches!(error, Failed::Send(SendError::Closed(_)));
            after(account, shared, &row, error).await
        }
    };
    if row.delivery.class == DeliveryClass::Question {
        shared.card_tried(&row.delivery.token, &outcome).await;
    }
    // Where nothing arrives any more, a word about it would not either.
    let dead = matches!(outcome, Attempt::Dead { .. }) && !closed;
    if let Err(error) = shared.store.end_attempt(id, outcome).await {
        warn!(%error, id, "what became of a message is not stored");
    }
    if dead && row.delivery.class != DeliveryClass::Notice {
        tell_given_up(shared, &row).await;
    }
    account.due.notify_one();
}

/// Why sending stopped: the platform, or our own store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error(transparent)]
    Send(#[from] SendError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(crate) async fn send_parts(
    account: &Account,
    store: &dyn GatewayStore,
    row: &OutboxRow,
    long: &LongTexts,
) -> Result<(), Failed> {
    let mut parts = row.parts.clone();
    if parts.is_empty() {
        parts = long.parts(account.def.form, row, account.def.media_bytes_max);
        store.set_parts(row.id, parts.clone()).await?;
    }
    let whole = OutboxRow { delivery: long.with_file(row), ..row.clone() };
    let (row, delivery) = (&whole, &whole.delivery);
    if row.sent.is_empty() {
        let shown = account.shown.lock().remove(&delivery.token);
        if let Some(shown) = shown {
            return replace_shown(account, store, row, (parts, shown)).await;
        }
    }
    send_from(account, store, row, (&parts, row.sent.len())).await
}

/// The answer takes the place of the words that are on the screen. Where that fails, only what is
/// missing is sent.
async fn replace_shown(
    account: &Account,
    store: &dyn GatewayStore,
    row: &OutboxRow,
    (parts, shown): (Vec<String>, Shown),
) -> Result<(), Failed> {
    let delivery = &row.delivery;
    let first = parts.first().cloned().unwrap_or_default();
    let edit = account.platform.edit(&delivery.lane, &shown.name, &first);
    let edited = tokio::time::timeout(CALL_MAX, edit).await;
    let mut parts = parts;
    if matches!(edited, Ok(Ok(()))) {
        store.part_sent(row.id, &shown.name).await?;
        return send_from(account, store, row, (&parts, 1)).await;
    }
    if let Some(tail) = delivery.body.strip_prefix(&shown.words) {
        parts = account.def.form.parts(tail);
        store.set_parts(row.id, parts.clone()).await?;
    }
    send_from(account, store, row, (&parts, 0)).await
}

/// Sends the parts and files from one of them on.
async fn send_from(
    account: &Account,
    store: &dyn GatewayStore,
    row: &OutboxRow,
    (parts, from): (&[String], usize),
) -> Result<(), Failed> {
    let delivery = &row.delivery;
    let count = parts.len() + delivery.media.len();
    let context = context_of(account, store, &delivery.lane).await?;
    for at in from..count {
        let pause = account.reserve(&delivery.lane.chat);
        tokio::time::sleep_until(pause.into()).await;
        let repeat = row.uncertain && at == row.sent.len() && account.def.repeats == Repeats::Seen;
        let token = format!("{}-{at}", delivery.token);
        if row.uncertain
            && at == row.sent.len()
            && account.def.repeats == Repeats::Looked
            && let Some(name) = account.platform.find(&delivery.lane, &token).await?
        {
            store.part_sent(row.id, &name).await?;
            continue;
        }
        let last_text = at + 1 == parts.len();
        let mut text = parts.get(at).cloned().unwrap_or_default();
        let media = at.checked_sub(parts.len()).and_then(|at| delivery.media.get(at));
        if let Some(why) = media.and_then(elsewhere::missing) {
            text = format!("(file not sent: {why})");
        }
        if repeat {
            text.insert_str(0, MAY_REPEAT);
        }
        let plain = if parts.len() == 1 { render::plain(&delivery.body) } else { text.clone() };
        let outgoing = Outgoing {
            lane: &delivery.lane,
            text: &text,
            plain: &plain,
            unmarked: false,
            buttons: if last_text { &delivery.buttons } else { &[] },
            reply_to: delivery.reply_to.as_deref().filter(|_| at == 0),
            media: media.filter(|file| elsewhere::missing(file).is_none()),
            token: &token,
            context: context.as_deref(),
        };
        let name = send_one(account, outgoing, &delivery.body).await?;
        store.part_sent(row.id, &name).await?;
    }
    Ok(())
}

/// Where what the last message of a chat carried is kept: when it came, and what it was.
pub(crate) fn heard_key(chat: &str) -> String {
    format!("heard:{chat}")
}

/// What the last message of a chat carried; an error when the chat may no longer be answered.
async fn context_of(
    account: &Account,
    store: &dyn GatewayStore,
    lane: &Lane,
) -> Result<Option<String>, Failed> {
    let window = (account.def.window)(&lane.chat);
    if window.is_none() && !account.def.context {
        return Ok(None);
    }
    let kept = store.cursor(&lane.platform, &lane.account, &heard_key(&lane.chat)).await?;
    let kept = kept.unwrap_or_default();
    let (at, context) = kept.split_once('\n').unwrap_or_default();
    let at: i64 = at.parse().unwrap_or(0);
    let age = Duration::from_millis(u64::try_from(now_ms() - at).unwrap_or(0));
    if let Some(window) = window.filter(|window| age > *window) {
        let why = format!(
            "{} takes answers for {} minutes after somebody wrote",
            account.def.name,
            window.as_secs() / 60
        );
        return Err(SendError::Closed(why).into());
    }
    Ok(Some(context.to_owned()).filter(|context| !context.is_empty()))
}

/// One call, and once more without what the server did not take.
async fn send_one(account: &Account, message: Outgoing<'_>, body: &str) -> Result<String, Failed> {
    let Outgoing { lane, buttons, reply_to, media, token, context, .. } = message;
    let first = called(account, message).await;
    let again = |lane, text, unmarked, reply_to| Outgoing {
        lane,
        text,
        plain: text,
        unmarked,
        buttons,
        reply_to,
        media,
        token,
        context,
    };
    match first {
        Err(SendError::BadFormat(why)) => {
            warn!(why, "the server does not take the markup; sent as plain text");
            let plain = Form { dialect: Dialect::Plain, ..account.def.form }.parts(body);
            let text = plain.first().map_or("", String::as_str);
            Ok(called(account, again(lane, text, true, reply_to)).await?)
        }
        Err(SendError::NoThread(why)) => {
            warn!(why, "the thread is gone; sent to the chat");
            let lane = Lane { thread: None, ..lane.clone() };
            let plain = render::plain(body);
            Ok(called(account, again(&lane, &plain, true, None)).await?)
        }
        other => Ok(other?),
    }
}

async fn called(account: &Account, message: Outgoing<'_>) -> Result<String, SendError> {
    match tokio::time::timeout(CALL_MAX, account.platform.send(message)).await {
        Ok(sent) => sent,
        // It may have arrived: a timeout is never taken for a failure.
        Err(_) => Err(SendError::Ambiguous(format!("no answer for {} s", CALL_MAX.as_secs()))),
    }
}

/// What follows from a failure.
async fn after(account: &Account, shared: &Shared, row: &OutboxRow, failed: Failed) -> Attempt {
    let now = now_ms();
    let error = failed.to_string();
    let Failed::Send(failed) = failed else {
        // Nobody knows whether the part arrived that could not be noted.
        return Attempt::Uncertain { at_ms: now + 1000, error };
    };
    let age = now - row.created_ms;
    let most = match row.delivery.class {
        DeliveryClass::Notice => NOTICE_MAX_MS,
        _ => i64::try_from(shared.options().delivery_age.as_millis()).unwrap_or(i64::MAX),
    };
    let in_ms = |pause: Duration| now + i64::try_from(pause.as_millis()).unwrap_or(1000);
    let too_old = age > most || (age > LANE_MAX_MS && row.attempts > 8);
    match failed {
        SendError::RateLimited { after } => Attempt::Again {
            at_ms: in_ms(after + Duration::from_millis(200)),
            error,
            counted: false,
        },
        _ if too_old => Attempt::Dead { error },
        SendError::Transient(_) => {
            Attempt::Again { at_ms: in_ms(pause(row.attempts)), error, counted: true }
        }
        SendError::Ambiguous(_) => {
            // A repeat that people see is sent once.
            let again = account.def.repeats != Repeats::Seen || !row.uncertain;
            let at_ms = in_ms(pause(row.attempts));
            if again { Attempt::Uncertain { at_ms, error } } else { Attempt::Dead { error } }
        }
        SendError::Auth(why) => {
            account.set_state(AccountState::Fatal(why));
            Attempt::Again { at_ms: in_ms(Duration::from_mins(1)), error, counted: false }
        }
        SendError::Unreachable(why) => {
            let marked = shared.store.set_unreachable(&row.delivery.lane, Some(&why)).await;
            if let Err(error) = marked {
                warn!(%error, "a place that cannot be reached is not marked");
            }
            Attempt::Dead { error }
        }
        SendError::Closed(_) => {
            let body = format!(
                "A message for {} was not delivered: {error}. It is not tried again.",
                row.delivery.lane
            );
            shared.tell_home(&body, &format!("closed-{}", row.id)).await;
            Attempt::Dead { error }
        }
        SendError::BadFormat(_) | SendError::TooLong(_) | SendError::NoThread(_) => {
            Attempt::Dead { error }
        }
    }
}

fn pause(attempts: u32) -> Duration {
    let at = usize::try_from(attempts).unwrap_or(usize::MAX).min(PAUSES.len() - 1);
    jittered(Duration::from_secs(PAUSES.get(at).copied().unwrap_or(60)))
}

/// One line in a lane whose message was given up.
async fn tell_given_up(shared: &Shared, row: &OutboxRow) {
    let reachable = shared.store.targets(Some(&row.delivery.lane.platform)).await;
    let lost = |targets: &Vec<petasos_store::KnownTarget>| {
        targets.iter().any(|it| it.lane == row.delivery.lane && it.unreachable.is_some())
    };
    if reachable.is_ok_and(|targets| lost(&targets)) {
        return;
    }
    let notice = NewDelivery {
        token: format!("given-up-{}", row.id),
        body: "A message before this one could not be delivered.".to_owned(),
        ..blank(&row.delivery.lane)
    };
    if let Err(error) = shared.say(notice).await {
        warn!(%error, "a chat was not told about a lost message");
    }
}

/// What becomes of a text that would be too many messages: its beginning, and a file with all of
/// it. The file is found again by its name when the message is sent once more.
#[derive(Debug)]
pub(crate) struct LongTexts {
    /// So many messages are sent.
    pub(crate) parts_max: usize,
    /// Where the files are.
    pub(crate) folder: PathBuf,
}

impl LongTexts {
    /// The parts of a text; too many become its beginning, where a file can be sent with it.
    fn parts(&self, form: Form, row: &OutboxRow, files: u64) -> Vec<String> {
        let body = &row.delivery.body;
        let parts = form.parts(body);
        if parts.len() <= self.parts_max || u64::try_from(body.len()).is_ok_and(|it| it > files) {
            return parts;
        }
        let path = self.path(row);
        let kept = media::make_private(&self.folder);
        let kept =
            kept.and_then(
                |()| if path.exists() { Ok(()) } else { media::keep(&path, body.as_bytes()) },
            );
        if let Err(error) = kept {
            warn!(%error, id = row.id, "a long text is sent in parts: it cannot be kept as a file");
            return parts;
        }
        form.parts(&beginning(body))
    }

    /// The same for every try, and no name that somebody else guesses.
    fn path(&self, row: &OutboxRow) -> PathBuf {
        let digest = Sha256::digest(row.delivery.token.as_bytes());
        let name = digest.iter().take(12).fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
        self.folder.join(format!("{name:024x}.md"))
    }

    /// The message with the file of its whole text, where there is one.
    fn with_file(&self, row: &OutboxRow) -> NewDelivery {
        let (path, mut delivery) = (self.path(row), row.delivery.clone());
        if path.exists() {
            let mime = "text/markdown".to_owned();
            let path = path.display().to_string();
            delivery.media.push(MediaFile { path, mime, name: "answer.md".to_owned() });
            delivery.body = beginning(&delivery.body);
        }
        delivery
    }
}

/// The beginning of a text whose whole goes along as a file.
fn beginning(text: &str) -> String {
    const CHARS: usize = 1000;
    let beginning: String = text.chars().take(CHARS).collect();
    format!("{beginning}\n\n… (the whole text is in the file)")
}

impl Shared {
    fn long_texts(&self) -> LongTexts {
        let folder = self.settings.lock().home().join(media::DOCUMENTS);
        LongTexts { parts_max: self.options().parts_max, folder }
    }
}
