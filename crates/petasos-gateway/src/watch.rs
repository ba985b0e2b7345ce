//! Following a turn to its end: questions go to the chat, and a turn in which nothing happens ends.
//! Waiting for a person is not nothing.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use petasos_session::{Session, SessionEvent, StreamItem, TurnEnd, TurnError};
use petasos_store::{InboxRow, NewDelivery};
use tracing::warn;

use crate::gateway::{Shared, blank};
use crate::options::GatewayOptions;
use crate::stage::{self, Stage};
use crate::turns::{Ended, StopReason};
use crate::typing::Typing;

/// What was done about it that nothing happens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Warned,
    Ended,
}

/// How long nothing has happened, and what follows from it.
struct Quiet {
    since: Instant,
    /// A person is asked.
    asked: bool,
    told: Told,
    warning: Option<Duration>,
    limit: Option<Duration>,
}

impl Quiet {
    fn new(options: &GatewayOptions) -> Self {
        let (warning, limit) = (options.turn_warning, options.turn_idle);
        // A word of warning after the end would be none.
        let warning = warning.filter(|warning| limit.is_none_or(|limit| *warning < limit));
        Self { since: Instant::now(), asked: false, told: Told::Nothing, warning, limit }
    }

    fn stir(&mut self) {
        self.since = Instant::now();
        if self.told == Told::Warned {
            self.told = Told::Nothing;
        }
    }

    /// Comes back when it was quiet for too long. Nothing is lost when nobody waits for it.
    async fn due(&self) {
        let next = match self.told {
            Told::Nothing => self.warning.or(self.limit),
            Told::Warned => self.limit,
            Told::Ended => None,
        };
        match next.filter(|_| !self.asked) {
            Some(after) => tokio::time::sleep_until((self.since + after).into()).await,
            None => std::future::pending().await,
        }
    }
}

impl Shared {
    /// Follows a turn to its end.
    pub(crate) async fn watch(
        self: &Arc<Self>,
        row: &InboxRow,
        session: &Session,
        events: &mut petasos_session::EventStream,
        (mut end, typing, mut stage): (
            Pin<&mut (impl Future<Output = Option<Result<TurnEnd, TurnError>>> + Send)>,
            Option<Typing>,
            Option<&mut Stage>,
        ),
    ) -> Ended {
        let mut quiet = Quiet::new(&self.options());
        loop {
            tokio::select! {
                ended = &mut end => return match ended {
                    Some(Ok(end)) => Ended::Turn(Box::new(end)),
                    Some(Err(error)) => Ended::Failed(error.to_string()),
                    None => Ended::Silent,
                },
                item = events.next() => match item {
                    Some(StreamItem::Event(envelope)) => {
                        quiet.stir();
                        match &envelope.event {
                            SessionEvent::QuestionAsked(_) => quiet.asked = true,
                            SessionEvent::QuestionClosed { .. } => quiet.asked = false,
                            SessionEvent::Agent(event) => self.runners.note(session.id(), event),
                            _ => {}
                        }
                        if let SessionEvent::Agent(event) = &envelope.event {
                            self.note_read(session, event);
                        }
                        if let (Some(stage), SessionEvent::Agent(event)) = (&mut stage, &envelope.event) {
                            stage.hear(event, |text| self.host.redact(text));
                        }
                        self.live(row, session, &envelope.event, typing.as_ref()).await;
                    }
                    Some(StreamItem::Gap { .. }) => quiet.stir(),
                    None => return Ended::Silent,
                },
                () = stage::due(stage.as_deref()) => {
                    if let Some(stage) = &mut stage {
                        stage.show(self).await;
                    }
                }
                () = quiet.due() => self.too_quiet(row, session, &mut quiet).await,
            }
        }
    }

    /// Nothing has happened for a while: a word, and in the end the end.
    async fn too_quiet(&self, row: &InboxRow, session: &Session, quiet: &mut Quiet) {
        let limit = quiet.limit.unwrap_or(Duration::MAX);
        if quiet.since.elapsed() >= limit {
            quiet.told = Told::Ended;
            warn!(id = row.id, session = %session.id(), "a turn in which nothing happens ends");
            self.interrupt(session.id(), StopReason::Quiet);
            return;
        }
        quiet.told = Told::Warned;
        let minutes = quiet.since.elapsed().as_secs() / 60;
        let ends = quiet.limit.map_or_else(String::new, |limit| {
            format!(" I stop after {} minutes without a sign.", limit.as_secs() / 60)
        });
        let notice = NewDelivery {
            token: format!("quiet-{}-{}", row.id, row.attempts),
            body: format!("Nothing has happened for {minutes} minutes.{ends} `/stop` ends it now."),
            ..blank(&row.message.key.lane())
        };
        if let Err(error) = self.say(notice).await {
            warn!(%error, "a chat was not told that nothing happens");
        }
    }

    /// Something happened in a turn.
    async fn live(
        self: &Arc<Self>,
        row: &InboxRow,
        session: &Session,
        event: &SessionEvent,
        typing: Option<&Typing>,
    ) {
        match event {
            SessionEvent::QuestionAsked(question) => {
                if let Some(typing) = typing {
                    typing.paused.store(true, Ordering::Release);
                }
                if let Err(error) = self.ask(row, session, question).await {
                    warn!(%error, "a question did not reach the chat");
                }
            }
            SessionEvent::QuestionClosed { id, how } => {
                if let Some(typing) = typing {
                    typing.paused.store(false, Ordering::Release);
                }
                self.close_card(id.as_str(), *how).await;
            }
            _ => {}
        }
    }
}
