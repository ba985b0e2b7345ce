//! From the events of a session to the log of a run: one turn, from its first event to its last.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use petasos_contract::approval::Scope;
use petasos_contract::call::Status;
use petasos_contract::event::Event;
use petasos_contract::reply::{Delta, Usage};
use petasos_session::{
    Answerer, Closed, EventStream, Outcome, Question, QuestionKind, QuestionReply, Session,
    SessionEvent, StreamItem, SubmissionId, TurnEnd, TurnError,
};
use serde_json::json;
use tokio::time::Instant;

use crate::error::ApiError;
use crate::host::ApiHost;
use crate::outgoing::Outgoing;
use crate::run::{Run, RunEvent, RunStatus, Spent, Stop};

/// Pieces of an answer are put together for so long.
const TOGETHER: Duration = Duration::from_millis(50);
/// A piece is never larger than this, so that its frame stays below a megabyte however it is
/// escaped.
const PIECE_MAX: usize = 128 * 1024;
/// The longest pause between two looks at the time.
const LOOK_MAX: Duration = Duration::from_hours(24);
/// So much of arguments and results is told.
const PREVIEW: usize = 120;
const TOLD_MAX: usize = 16 * 1024;

/// What the pump of a run knows.
pub(crate) struct Pump {
    run: Arc<Run>,
    session: Session,
    host: Arc<dyn ApiHost>,
    outgoing: Option<Arc<Outgoing>>,
    /// Which turn; the next one of the session when a turn of an earlier process goes on.
    turn: Option<SubmissionId>,
    /// Whether it goes on with what an earlier process asked somebody who was there.
    recovered: bool,
    running: bool,
    /// Text that is not told yet, and when it must be.
    pending: String,
    due: Option<Instant>,
    /// Everything that was told, and where the present reply begins in it.
    told: String,
    reply_at: usize,
    took: HashMap<String, f64>,
    /// A turn in which nothing happens for so long is over.
    silence: Option<Duration>,
}

impl Pump {
    pub(crate) fn new(
        run: Arc<Run>,
        session: Session,
        (host, outgoing): (Arc<dyn ApiHost>, Option<Arc<Outgoing>>),
        turn: Option<SubmissionId>,
    ) -> Self {
        Self {
            run,
            session,
            host,
            outgoing,
            recovered: turn.is_none(),
            turn,
            running: false,
            pending: String::new(),
            due: None,
            told: String::new(),
            reply_at: 0,
            took: HashMap::new(),
            silence: None,
        }
    }

    /// Ends a turn in which nothing happens for so long.
    pub(crate) fn silent_for(self, silence: Option<Duration>) -> Self {
        Self { silence, ..self }
    }

    /// Until the turn is over.
    pub(crate) async fn work(mut self, mut events: EventStream) {
        let begun = Instant::now();
        let end = self.run.facts.deadline.map(|most| begun + most);
        loop {
            let silent = Instant::now() + self.silence.unwrap_or(LOOK_MAX);
            let silent =
                end.filter(|end| *end > Instant::now()).map_or(silent, |end| end.min(silent));
            let next = tokio::select! {
                next = events.next() => next,
                () = tokio::time::sleep_until(self.due.unwrap_or(silent)) => {
                    if self.due.is_some() {
                        self.flush();
                    } else if end.is_some_and(|end| end <= Instant::now()) {
                        self.run.stop(Stop::Late);
                    } else if self.is_stuck() {
                        self.run.stop(Stop::Silent);
                    }
                    continue;
                }
            };
            match next {
                Some(StreamItem::Event(envelope)) => {
                    if self.heard(&envelope.event).await {
                        return;
                    }
                }
                // What was missed of an answer is in the reply that follows.
                Some(StreamItem::Gap { .. }) => {}
                None => {
                    let error = ApiError::new(
                        StatusCode::BAD_GATEWAY,
                        "agent_incomplete",
                        "the session ended before the turn did",
                    );
                    return self.failed(&error);
                }
            }
        }
    }

    /// Whether nothing happened for too long, and nobody is waited for.
    fn is_stuck(&self) -> bool {
        self.silence.is_some() && self.running && self.run.question().is_none()
    }

    /// Takes one event; whether the run is over.
    async fn heard(&mut self, event: &SessionEvent) -> bool {
        match event {
            SessionEvent::TurnStarted { id } if self.turn.is_none_or(|own| own == *id) => {
                (self.turn, self.running) = (Some(*id), true);
                self.run.works_in(&self.session);
                self.run.push(RunEvent::Started {});
            }
            SessionEvent::TurnEnded { id, end, .. } if self.turn == Some(*id) => {
                self.flush();
                self.ended(end);
                return true;
            }
            SessionEvent::Ended { .. } => return false,
            _ if !self.running => {}
            SessionEvent::Agent(event) => self.agent(event),
            SessionEvent::QuestionAsked(question) => self.asked(question).await,
            SessionEvent::QuestionClosed { id, how } => {
                let open = self.run.question().filter(|open| open.id == *id);
                self.run.set_question(None);
                if open.is_some() {
                    let state = match how {
                        Closed::Answered => "answered",
                        Closed::Expired => "expired",
                        Closed::Withdrawn => "withdrawn",
                    };
                    let (approval_id, state) = (id.to_string(), state.to_owned());
                    self.tell("approval_closed", &approval_id, &state).await;
                    self.run.push(RunEvent::ApprovalResponded { approval_id, state });
                }
            }
            _ => {}
        }
        false
    }

    fn agent(&mut self, event: &Event) {
        match event {
            Event::Delta { delta: Delta::Text { text }, .. } => self.say(text),
            Event::Delta { delta: Delta::Reasoning { text }, .. } => {
                self.flush();
                self.run.push(RunEvent::Reasoning { text: text.clone() });
            }
            Event::Replied { text, .. } => {
                self.complete(text);
                self.reply_at = self.told.len() + self.pending.len();
            }
            Event::ToolRequested { call, tool, arguments, .. } => {
                self.flush();
                let arguments = cut(&self.host.redact(arguments), TOLD_MAX);
                self.run.push(RunEvent::ToolStarted {
                    tool_call_id: call.to_string(),
                    tool: tool.to_string(),
                    preview: cut(&arguments, PREVIEW),
                    arguments,
                });
            }
            Event::ToolFinished { call, duration_ms, .. } => {
                let seconds = Duration::from_millis(*duration_ms).as_secs_f64();
                self.took.insert(call.to_string(), seconds);
            }
            Event::ToolAnswered { call, tool, status, preview, .. } => {
                self.flush();
                self.run.push(RunEvent::ToolCompleted {
                    tool_call_id: call.to_string(),
                    tool: tool.to_string(),
                    duration: self.took.remove(call.as_str()).unwrap_or_default(),
                    error: *status != Status::Ok,
                    output: cut(&self.host.redact(preview), TOLD_MAX),
                });
            }
            _ => {}
        }
    }

    /// Text of the present reply.
    fn say(&mut self, text: &str) {
        let begins = self.told.len() + self.pending.len() == self.reply_at;
        if begins && !text.is_empty() && self.reply_at > 0 {
            self.pending.push_str("\n\n");
            self.reply_at += 2;
        }
        self.pending.push_str(text);
        if self.pending.len() >= PIECE_MAX {
            return self.flush();
        }
        self.due.get_or_insert_with(|| Instant::now() + TOGETHER);
    }

    /// A reply is whole: what was not told of it is told now. A reply that came differently at
    /// last, because the provider began anew, is told once more.
    fn complete(&mut self, text: &str) {
        self.flush();
        let so_far = self.told.get(self.reply_at..).unwrap_or_default();
        match text.strip_prefix(so_far) {
            Some(rest) => {
                let rest = rest.to_owned();
                self.say(&rest);
            }
            None if so_far.ends_with(text) => {}
            None => self.say(&format!("\n\n{text}")),
        }
    }

    fn flush(&mut self) {
        self.due = None;
        if self.pending.is_empty() {
            return;
        }
        let mut rest = std::mem::take(&mut self.pending);
        self.told.push_str(&rest);
        while rest.len() > PIECE_MAX {
            let behind = rest.split_off(rest.floor_char_boundary(PIECE_MAX));
            self.run.push(RunEvent::Text { delta: rest });
            rest = behind;
        }
        self.run.push(RunEvent::Text { delta: rest });
    }

    /// Somebody must decide. Where nobody reads the run, nobody does.
    async fn asked(&mut self, question: &Arc<Question>) {
        self.flush();
        let recovered = std::mem::take(&mut self.recovered);
        let routed =
            matches!(question.kind, QuestionKind::Approval(_)) && self.host.routes_questions();
        let attended = (self.run.is_read() || recovered || routed) && !question.is_secret();
        let expires_at = seconds_from_now(question.patience);
        match &question.kind {
            QuestionKind::Approval(request) => {
                let services = self.session.service().services();
                let scopes = [Scope::Once, Scope::Session, Scope::Always];
                let allowed = scopes.iter().filter(|scope| **scope <= request.widest);
                let choices = allowed.map(|scope| word(*scope).to_owned());
                self.run.push(RunEvent::ApprovalRequest {
                    approval_id: question.id.to_string(),
                    tool: request.tool.to_string(),
                    text: services.approval_text(request, false),
                    choices: choices.chain(["deny".to_owned()]).collect(),
                    expires_at,
                    state: if attended { "open" } else { "denied" }.to_owned(),
                });
            }
            QuestionKind::Choice { text, choices } if attended => {
                self.run.push(RunEvent::InputRequest {
                    input_id: question.id.to_string(),
                    text: self.host.redact(text),
                    choices: choices.clone(),
                    expires_at,
                });
            }
            QuestionKind::Choice { .. } | QuestionKind::Password { .. } => {}
        }
        if attended {
            self.run.set_question(Some(Arc::clone(question)));
            return self.tell("approval_opened", question.id.as_str(), "open").await;
        }
        let by = Answerer { name: Some("nobody reads this run".to_owned()), address: None };
        let reply = match &question.kind {
            QuestionKind::Approval(_) => QuestionReply::Deny { comment: None },
            _ => QuestionReply::Decline,
        };
        if let Err(error) = self.session.answer(&question.id, reply, &by).await {
            tracing::debug!(%error, "somebody else has answered");
        }
    }

    /// Tells other programs about a question.
    async fn tell(&self, event: &str, id: &str, state: &str) {
        let Some(outgoing) = &self.outgoing else { return };
        let facts = &self.run.facts;
        let data = json!({
            "approval_id": id, "run_id": facts.id, "session_id": facts.session.as_str(),
            "state": state,
        });
        outgoing.tell(event, &data, &format!("{id} of {}: {state}", facts.id)).await;
    }

    fn ended(&mut self, end: &Result<TurnEnd, TurnError>) {
        match end {
            Ok(end) => self.replied(end),
            Err(error) => {
                let error = ApiError::from(error);
                match self.run.stopped() {
                    Some(why) => self.stopped(why, &Usage::default()),
                    None => self.failed(&error),
                }
            }
        }
    }

    fn replied(&mut self, end: &TurnEnd) {
        let finish = match end.outcome {
            Outcome::Interrupted => {
                let why = self.run.stopped().unwrap_or(Stop::Asked);
                return self.stopped(why, &end.usage);
            }
            Outcome::Halted => {
                let error = ApiError::new(
                    StatusCode::BAD_GATEWAY,
                    "agent_incomplete",
                    if end.text.is_empty() { "the agent could not go on" } else { &end.text },
                );
                return self.failed(&error);
            }
            Outcome::Replied if end.cut_off => "length",
            Outcome::Replied => "stop",
            Outcome::OutOfBudget => "length",
            Outcome::Refused => "content_filter",
        };
        if !ends_like(&self.told, &end.text) {
            self.reply_at = self.told.len();
            self.say(&end.text);
            self.flush();
        }
        self.run.push(RunEvent::Completed {
            output: std::mem::take(&mut self.told),
            usage: Spent::from(&end.usage),
            finish_reason: finish.to_owned(),
        });
    }

    fn stopped(&mut self, why: Stop, usage: &Usage) {
        if matches!(why, Stop::Silent | Stop::Late) {
            let message = match why {
                Stop::Late => "the turn took longer than it may",
                _ => "nothing happened for too long: the turn was stopped",
            };
            let status = StatusCode::GATEWAY_TIMEOUT;
            return self.failed(&ApiError::new(status, "run_timeout", message));
        }
        let gone = why == Stop::Gone;
        self.run.push(RunEvent::Cancelled {
            output: std::mem::take(&mut self.told),
            usage: Spent::from(usage),
            status: if gone { RunStatus::Interrupted } else { RunStatus::Cancelled },
        });
    }

    fn failed(&self, error: &ApiError) {
        let redact = |text: &str| self.host.redact(text);
        let status = error.status.as_u16();
        self.run.push(RunEvent::Failed { error: error.body(&redact), status });
    }
}

/// Whether a text ends with these words, however they are spaced: a reply in parts is put together
/// without the pauses between them.
fn ends_like(text: &str, words: &str) -> bool {
    let mut text = text.chars().rev().filter(|sign| !sign.is_whitespace());
    let mut words = words.chars().rev().filter(|sign| !sign.is_whitespace());
    words.all(|sign| text.next() == Some(sign))
}

/// The word of a scope.
pub(crate) fn word(scope: Scope) -> &'static str {
    match scope {
        Scope::Once => "once",
        Scope::Session => "session",
        Scope::Always => "always",
    }
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

fn seconds_from_now(patience: Duration) -> i64 {
    let at = SystemTime::now() + patience;
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
