//! What a run said becomes a file, deliveries and an account of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use petasos_contract::delivery::{Deliveries, Destination, Parcel};
use petasos_session::{TurnEnd, TurnError};
use petasos_store::{
    DeliveryState, DeliveryWish, Lane, OccurrenceRow, OccurrenceState, delivery_prefix,
};
use serde_json::{Map, Value, json};

use super::prepare::Held;
use super::{Runs, outcome};
use crate::job::{Job, Notify, moment};
use crate::scheduler::{Ended, LostRun, MissedRun};
use crate::{reply, targets, view};

/// Repeated failures are told once in so long.
const FOLDED: i64 = 86_400_000;
/// So far back failures are counted.
const LOOKED_AT: u32 = 100;
/// How long the running turn of a chat is waited for before its conversation gets to know a reply.
const TURN_WAIT: Duration = Duration::from_mins(15);
/// How long a delivery is waited for where no gateway sends it.
const SEND_WAIT: Duration = Duration::from_secs(20);

/// The beginning of a notice.
const MISSED: &str = "Scheduled runs that were missed:";

/// A time in words that are short.
fn span(time: Duration) -> String {
    let minutes = time.as_secs() / 60;
    match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

/// What a run said.
pub(super) struct Said {
    state: OccurrenceState,
    text: String,
    silent: bool,
    detail: Map<String, Value>,
}

impl Said {
    fn new(state: OccurrenceState, text: impl Into<String>) -> Self {
        Self { state, text: text.into(), silent: false, detail: Map::new() }
    }

    pub(super) fn failed(why: &str) -> Self {
        Self::new(OccurrenceState::Failed, why)
    }

    /// The program ended in the middle of it.
    pub(super) fn cut_off() -> Self {
        let text = "the program ended in the middle of it: nobody knows how far it came, and it \
                    does not run again by itself";
        Self::new(OccurrenceState::Unknown, text)
    }

    /// The script said that nobody need be woken.
    pub(super) fn asleep(output: String) -> Self {
        Self { silent: true, ..Self::new(OccurrenceState::Succeeded, output) }
    }

    /// Only the script ran: its output is the reply, and none is silence.
    pub(super) fn script(output: String, error: Option<String>) -> Self {
        match error {
            None => {
                let silent = output.trim().is_empty();
                Self { silent, ..Self::new(OccurrenceState::Succeeded, output) }
            }
            Some(error) => Self::failed(format!("{error}\n\n{output}").trim()),
        }
    }

    pub(super) fn turn(ended: Option<Result<TurnEnd, TurnError>>) -> Self {
        match ended {
            Some(Ok(end)) => {
                let state = outcome(&end);
                let text = if end.text.trim().is_empty() {
                    "the model said nothing".to_owned()
                } else {
                    end.text.clone()
                };
                Self { detail: account(&end), ..Self::new(state, text) }
            }
            Some(Err(error)) => Self::failed(&error.to_string()),
            None => Self::failed("its session ended before it did"),
        }
    }

    /// The same with who answered.
    pub(super) fn by(mut self, who: Option<String>) -> Self {
        if let Some(who) = who {
            self.detail.insert("model".to_owned(), Value::from(who));
        }
        self
    }

    pub(super) fn timed_out(why: &str, partly: Option<&TurnEnd>) -> Self {
        let detail = partly.map(account).unwrap_or_default();
        Self { detail, ..Self::new(OccurrenceState::TimedOut, why) }
    }
}

/// The place of a delivery.
fn destination(lane: Lane) -> Destination {
    Destination {
        platform: lane.platform,
        account: lane.account,
        chat: lane.chat,
        thread: lane.thread,
        name: String::new(),
        kind: String::new(),
        home: false,
        unreachable: None,
    }
}

fn account(end: &TurnEnd) -> Map<String, Value> {
    Map::from_iter([
        ("requests".to_owned(), json!(end.requests)),
        ("cost_usd".to_owned(), json!(end.cost_usd)),
        ("tools".to_owned(), json!(end.tools.len())),
        ("outcome".to_owned(), json!(end.outcome.as_str())),
    ])
}

impl Runs {
    /// Saves what was said and decides what is sent.
    pub(super) async fn settle(&self, job: &Job, row: &OccurrenceRow, said: Said) -> Ended {
        let Said { state, text, silent, mut detail } = said;
        let text = self.host().redact(&text);
        let before = self.jobs.store().occurrences(Some(&job.id), LOOKED_AT).await;
        let before = before.unwrap_or_default();
        match self.saved(job, state, &text) {
            Ok(name) => drop(detail.insert("output".to_owned(), Value::from(name))),
            Err(why) => drop(detail.insert("output_error".to_owned(), Value::from(why))),
        }
        let succeeded = state == OccurrenceState::Succeeded;
        let (wish, body) = if succeeded {
            let silent = silent || reply::is_silent(&text) || self.is_unwanted(job, &text, &before);
            let wrap = self.options().replies.wrap;
            let body = if wrap { reply::wrapped(job, &text) } else { text };
            (if silent { DeliveryWish::Silent } else { DeliveryWish::Queued }, body)
        } else {
            detail.insert("error".to_owned(), Value::from(text.as_str()));
            self.failure(job, state, &text, &before)
        };
        let mut ended = Ended { state, wish, deliveries: Vec::new(), detail, hold: None };
        if wish == DeliveryWish::Queued {
            self.address(job, row, &body, &mut ended).await;
        }
        // Whoever answers at once is understood: where nothing runs in the chat, its conversation
        // knows the reply before it is sent.
        if self.attaches(job) {
            for (number, delivery) in ended.deliveries.iter().enumerate() {
                let to = destination(delivery.lane.clone());
                let early = (delivery.body.as_str(), number);
                if let Err(why) = self.attach(&row.id, &to, early, Duration::ZERO).await {
                    tracing::debug!(why, occurrence = row.id, "the conversation hears it later");
                }
            }
        }
        ended
    }

    /// Whether the conversations of its targets get to know its replies.
    fn attaches(&self, job: &Job) -> bool {
        job.body.attach_to_session.unwrap_or(self.options().replies.attach)
    }

    async fn attach(
        &self,
        occurrence: &str,
        to: &Destination,
        (text, number): (&str, usize),
        patience: Duration,
    ) -> Result<(), String> {
        let mark = format!("{}{number}", delivery_prefix(occurrence));
        self.host().attach(to, text, &mark, patience).await
    }

    /// A job that must be looked at: it is told, always.
    pub(super) async fn held(&self, job: &Job, row: &OccurrenceRow, held: Held) -> Ended {
        let Held { reason, why } = held;
        let mut ended = Ended::plain(OccurrenceState::Skipped, &why);
        ended.detail.insert("reason".to_owned(), Value::from(reason));
        ended.hold = Some(format!("{reason}: {why}"));
        let body = reply::wrapped(job, &format!("This job is held and did not run: {why}"));
        ended.wish = DeliveryWish::Queued;
        self.address(job, row, &body, &mut ended).await;
        ended
    }

    /// Puts a text on its way to the targets of a job.
    async fn address(&self, job: &Job, row: &OccurrenceRow, body: &str, ended: &mut Ended) {
        let found = targets::resolve(&job.body, self.host()).await;
        if !found.trouble.is_empty() {
            ended.detail.insert("delivery_error".to_owned(), json!(found.trouble.join("; ")));
        }
        ended.wish = match (found.places.is_empty(), found.trouble.is_empty()) {
            (false, _) => DeliveryWish::Queued,
            (true, false) => DeliveryWish::Failed,
            (true, true) => DeliveryWish::None,
        };
        let text = self.without_files(row, &found.places, body);
        ended.deliveries = targets::deliveries(&row.id, &found.places, &text);
    }

    /// The text without the lines that name files; those follow it, because only whoever sends
    /// knows which may go.
    fn without_files(&self, row: &OccurrenceRow, places: &[Destination], body: &str) -> String {
        let named = |it: &Arc<dyn Deliveries>| !it.files(body).is_empty();
        if !self.host().deliveries().as_ref().is_some_and(named) {
            return body.to_owned();
        }
        let is_file = |line: &&str| line.trim_start().starts_with("MEDIA:");
        let files: Vec<&str> = body.lines().filter(is_file).collect();
        let parcel = |(number, place): (usize, &Destination)| Parcel {
            to: place.clone(),
            text: files.join("\n"),
            token: format!("{}files-{number}", delivery_prefix(&row.id)),
            wait: SEND_WAIT,
        };
        let parcels = places.iter().enumerate().map(parcel).collect();
        self.files.lock().insert(row.id.clone(), parcels);
        body.lines().filter(|line| !is_file(line)).collect::<Vec<_>>().join("\n")
    }

    fn saved(&self, job: &Job, state: OccurrenceState, text: &str) -> Result<String, String> {
        let folder = reply::folder(self.host().settings().home(), &job.id);
        let now = self.jobs.now();
        let stamp = now.strftime("%Y%m%dT%H%M%S").to_string();
        let milli = now.subsec_millisecond();
        let name = format!("{stamp}.{milli:03}.md");
        let text = if state == OccurrenceState::Succeeded {
            text.to_owned()
        } else {
            format!("({state})\n\n{text}")
        };
        self.host().save(&folder.join(&name), &text)?;
        reply::prune(&folder, self.options().outputs);
        Ok(name)
    }

    /// Whether a job wants other replies than this one.
    fn is_unwanted(&self, job: &Job, text: &str, before: &[OccurrenceRow]) -> bool {
        match job.body.notify {
            Notify::Always => false,
            Notify::Failure => true,
            Notify::Change => {
                let last = before.iter().find(|row| row.new.state == OccurrenceState::Succeeded);
                let name = last.and_then(|row| row.detail.get("output")).and_then(Value::as_str);
                let folder = reply::folder(self.host().settings().home(), &job.id);
                let old = name.and_then(|name| std::fs::read_to_string(folder.join(name)).ok());
                old.is_some_and(|old| old.trim() == text.trim())
            }
        }
    }

    /// A failure is told, repeated ones once a day with their number.
    fn failure(
        &self,
        job: &Job,
        state: OccurrenceState,
        why: &str,
        before: &[OccurrenceRow],
    ) -> (DeliveryWish, String) {
        let ran = before
            .iter()
            .filter(|row| row.new.state.is_settled() && row.new.state != OccurrenceState::Skipped);
        let streak: Vec<&OccurrenceRow> =
            ran.take_while(|row| row.new.state != OccurrenceState::Succeeded).collect();
        let since = self.jobs.now().as_millisecond() - FOLDED;
        let told = streak.iter().any(|row| {
            row.wish == DeliveryWish::Queued && row.ended_ms.is_some_and(|at| at > since)
        });
        let word = match state {
            OccurrenceState::TimedOut => "was ended by a limit",
            OccurrenceState::Unknown => "was cut off",
            _ => "failed",
        };
        let count = streak.len() + 1;
        let again = if count > 1 { format!(" ({count} times in a row)") } else { String::new() };
        let body = reply::wrapped(job, &format!("This run {word}{again}: {why}"));
        (if told { DeliveryWish::Silent } else { DeliveryWish::Queued }, body)
    }

    /// Where no gateway runs, what was planned is sent here and now; then conversations get to
    /// know what was sent to their chats.
    pub(super) async fn send_planned(&self, occurrence: &str) {
        self.send(occurrence).await;
        self.after(occurrence).await;
    }

    /// Tells of the end of a run, and lets the conversations of its targets know its reply.
    async fn after(&self, occurrence: &str) {
        let store = self.jobs.store();
        let Ok(Some(row)) = store.occurrence(occurrence).await else { return };
        let Ok(Some(job)) = store.job(&row.new.job).await else { return };
        let Ok(job) = Job::read(job) else { return };
        let Ok(sent) = store.deliveries_of(occurrence).await else { return };
        let shown = view::run(&row, &sent, &job.schedule.zone);
        self.host().finished(&job, shown).await;
        self.jobs.mirror_soon().await;
        if !self.attaches(&job) {
            return;
        }
        for (number, delivery) in sent.into_iter().enumerate() {
            let (to, text) = (destination(delivery.delivery.lane), delivery.delivery.body);
            if let Err(why) = self.attach(occurrence, &to, (&text, number), TURN_WAIT).await {
                tracing::warn!(why, occurrence, "a conversation does not know what was sent");
            }
        }
    }

    async fn send(&self, occurrence: &str) {
        let files = self.files.lock().remove(occurrence).unwrap_or_default();
        let Some(deliveries) = self.host().deliveries() else { return };
        let Ok(rows) = self.jobs.store().deliveries_of(occurrence).await else { return };
        let planned = rows.into_iter().map(|row| {
            let to = destination(row.delivery.lane);
            let (text, token) = (row.delivery.body, row.delivery.token);
            Parcel { to, text, token, wait: SEND_WAIT }
        });
        for parcel in planned.chain(files) {
            if let Err(error) = deliveries.deliver(parcel).await {
                // It stays planned: the next gateway sends it.
                tracing::warn!(error, occurrence, "a reply waits for a gateway");
            }
        }
    }

    /// Sends what a process had planned when it ended, where no gateway does.
    pub(super) async fn send_left(&self) {
        let Some(deliveries) = self.host().deliveries() else { return };
        let Ok(rows) = self.jobs.store().occurrences(None, LOOKED_AT).await else { return };
        let since = self.jobs.now().as_millisecond() - FOLDED;
        let told = |row: &&OccurrenceRow| {
            row.wish == DeliveryWish::Queued && row.ended_ms.is_some_and(|at| at > since)
        };
        for row in rows.iter().filter(told) {
            let Ok(planned) = self.jobs.store().deliveries_of(&row.id).await else { return };
            for left in planned.into_iter().filter(|it| it.state == DeliveryState::Planned) {
                let to = destination(left.delivery.lane);
                let (text, token) = (left.delivery.body, left.delivery.token);
                let parcel = Parcel { to, text, token, wait: Duration::ZERO };
                if let Err(error) = deliveries.deliver(parcel).await {
                    tracing::debug!(error, occurrence = row.id, "a reply waits for a gateway");
                }
            }
        }
    }

    /// One notice for each target about what was missed.
    pub(super) async fn tell_missed(&self, missed: Vec<MissedRun>) {
        for run in &missed {
            tracing::warn!(job = run.job.id, count = run.count, "due times were missed");
        }
        if !self.options().missed.tell {
            return;
        }
        let late = missed.iter().any(|run| run.late_by.is_some());
        let line = |run: MissedRun| {
            let MissedRun { job, last, count, late_by } = run;
            let at = job.schedule.zone.iso(last);
            let what = match late_by {
                None => format!("{count} until {at}"),
                Some(late) => format!("due {at}, runs now, {} late", span(late)),
            };
            let line = format!("- {} (job {}): {what}", job.name, job.id);
            (job, line)
        };
        let lines = missed.into_iter().map(line).collect();
        let word = if late { "Scheduled runs that were missed or are late:" } else { MISSED };
        self.notify(("cron-missed", word), lines).await;
    }

    /// One notice for each target about runs whose process died in the middle of them.
    pub(super) async fn tell_lost(&self, lost: Vec<LostRun>) {
        let mut lines = Vec::new();
        for LostRun { job, row } in lost {
            let zone = &job.schedule.zone;
            self.host().finished(&job, view::run(&row, &[], zone)).await;
            let due = zone.iso(moment(row.new.scheduled_ms));
            let line = format!("- {} (job {}), due {due}: run {}", job.name, job.id, row.id);
            lines.push((job, line));
        }
        self.jobs.mirror_soon().await;
        let title = "Scheduled runs that were cut off because their process ended. Nobody knows \
                     how far they came, and they do not run again by themselves:";
        self.notify(("cron-lost", title), lines).await;
    }

    /// Tells the targets of jobs a line each, in one message for each target.
    async fn notify(&self, (kind, title): (&str, &str), lines: Vec<(Job, String)>) {
        let Some(deliveries) = self.host().deliveries() else { return };
        let mut notices: BTreeMap<String, (Destination, Vec<String>)> = BTreeMap::new();
        for (job, line) in lines {
            for place in targets::resolve(&job.body, self.host()).await.places {
                let key = format!("{}/{place}", place.account);
                notices.entry(key).or_insert_with(|| (place, Vec::new())).1.push(line.clone());
            }
        }
        let now: Timestamp = self.jobs.now();
        for (key, (to, lines)) in notices {
            let text = format!("{title}\n{}", lines.join("\n"));
            let token = format!("{kind}:{}:{key}", now.as_millisecond());
            let parcel = Parcel { to, text, token, wait: Duration::ZERO };
            if let Err(error) = deliveries.deliver(parcel).await {
                tracing::warn!(error, kind, "nobody was told");
            }
        }
    }
}
