//! One message to a session, and everything that happens until its turn has ended: events are told,
//! questions are put to the person at the terminal, Ctrl-C stops the turn.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::approval::{Answer, Approver};
use petasos_contract::event::Subscriber as _;
use petasos_contract::{BoxFuture, CallContext};
use petasos_session::{
    Admission, Answerer, Input, Question, QuestionId, QuestionKind, QuestionReply, Replay, Session,
    SessionEvent, StreamItem, SubmissionId, TurnEnd, WhenBusy,
};

use super::failed;
use super::told::Told;
use crate::out::Out;
use crate::report::Report;

/// How often a picture is drawn.
const FRAME: Duration = Duration::from_millis(80);

/// An answer on its way from the person.
type Answering = BoxFuture<'static, (QuestionId, Option<QuestionReply>)>;

/// A session that is watched for one turn.
pub(super) struct Watched<'a> {
    pub(super) session: &'a Session,
    pub(super) told: Told,
    pub(super) out: Out,
    pub(super) person: Option<Arc<dyn Approver>>,
    pub(super) cx: CallContext,
}

impl Watched<'_> {
    /// The turn; Ctrl-C ends it, and what is stored stays valid.
    pub(super) async fn turn(&self, input: Input) -> Result<TurnEnd, Report> {
        let mut events = self.session.events(Replay::Since(0));
        let admitted = self.session.submit(input, WhenBusy::Queue).await;
        let own = match admitted.map_err(failed)? {
            Admission::Started(turn) | Admission::Queued { turn, .. } => turn.id,
            Admission::Steered => return Err(odd("the message became part of another turn")),
        };
        let mut asking: Option<Answering> = None;
        let mut frames = tokio::time::interval(FRAME);
        let mut pressed = Box::pin(tokio::signal::ctrl_c());
        loop {
            tokio::select! {
                biased;
                _ = &mut pressed => {
                    self.session.interrupt();
                    pressed = Box::pin(tokio::signal::ctrl_c());
                }
                item = events.next() => match item {
                    None => return Err(odd("the session ended before its turn")),
                    Some(StreamItem::Gap { missed }) => {
                        self.out.remark(format!("{missed} events were not shown"));
                    }
                    Some(StreamItem::Event(envelope)) => {
                        if let Some(ended) = self.happened(&envelope.event, own, &mut asking) {
                            return ended;
                        }
                    }
                },
                (id, reply) = answered(&mut asking) => {
                    asking = None;
                    self.told.hold(false);
                    self.answer(&id, reply).await;
                }
                _ = frames.tick() => self.told.frame(),
            }
        }
    }

    /// Tells what happened; gives the end of the turn when that is it.
    fn happened(
        &self,
        event: &SessionEvent,
        own: SubmissionId,
        asking: &mut Option<Answering>,
    ) -> Option<Result<TurnEnd, Report>> {
        match event {
            SessionEvent::Agent(event) => self.told.take(event.clone()),
            SessionEvent::Page(page) => self.out.remark(page.text()),
            SessionEvent::QuestionAsked(question) => {
                *asking = self.asked(question);
                self.told.hold(asking.is_some());
            }
            SessionEvent::QuestionClosed { .. } => {
                *asking = None;
                self.told.hold(false);
            }
            SessionEvent::TurnEnded { id, end, .. } if *id == own => {
                return Some(end.clone().map_err(failed));
            }
            _ => {}
        }
        None
    }

    /// Puts a question to the person. Only approvals are asked at a terminal that shows one answer.
    fn asked(&self, question: &Arc<Question>) -> Option<Answering> {
        let (person, question) = (self.person.clone()?, Arc::clone(question));
        let cx = self.cx.clone();
        Some(Box::pin(async move {
            let reply = match &question.kind {
                QuestionKind::Approval(request) => match person.ask(request, &cx).await {
                    Answer::Allowed { scope, .. } => Some(QuestionReply::Allow(scope)),
                    Answer::Denied { comment, .. } => Some(QuestionReply::Deny { comment }),
                    _ => None,
                },
                _ => Some(QuestionReply::Decline),
            };
            (question.id.clone(), reply)
        }))
    }

    async fn answer(&self, id: &QuestionId, reply: Option<QuestionReply>) {
        let Some(reply) = reply else { return };
        if let Err(error) = self.session.answer(id, reply, &Answerer::here()).await {
            self.out.remark(error.to_string());
        }
    }
}

fn odd(what: &str) -> Report {
    Report::new(what).code("run")
}

/// Waits for the person, if one is asked.
async fn answered(asking: &mut Option<Answering>) -> (QuestionId, Option<QuestionReply>) {
    match asking {
        Some(asking) => asking.await,
        None => std::future::pending().await,
    }
}
