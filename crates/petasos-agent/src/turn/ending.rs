//! The end of a turn: its last words, and what a surface stores together with them.

use petasos_contract::message::{Assistant, Message};
use petasos_contract::model::{Reason, Reply, ToolChoice};
use petasos_contract::{CallContext, TurnId};
use petasos_store::{Row, Spent, Stored};

use super::{Step, Turn, continued, tell_steered};
use crate::agent::{Agent, Outcome, TurnError};
use crate::steer;

const FAREWELL: &str = "You have used up the requests of this turn. Do not call any more tools: \
                        sum up what was done, what was found and what is left to do.";

/// Says what is stored in one step with the last words of a turn: a chat plans its answer with it,
/// so that there is no moment in which the one is there and the other is not.
pub trait Closing: std::fmt::Debug + Send + Sync {
    /// What belongs to a turn that ends with this text. Nothing is asked for one that was
    /// interrupted or failed.
    fn row(&self, turn: &TurnId, outcome: Outcome, text: &str) -> Option<Row>;
}

/// A reply that is not stored yet.
struct Unstored {
    said: Assistant,
    spent: Spent,
}

impl Agent {
    /// A reply without calls ends the turn, unless something waits to be said to the model. Where
    /// something is stored together with it, it is stored when that is certain.
    pub(super) async fn replied(
        &mut self,
        turn: &mut Turn,
        reply: &Reply,
        said: Assistant,
        spent: Spent,
    ) -> Result<Step, TurnError> {
        let text = said.text().to_owned();
        let mut unstored = Some(Unstored { said, spent });
        if self.closing.is_none() {
            self.keep(turn, reply, &mut unstored, None).await?;
        }
        let words = self.seat.inbox.drain();
        if !words.is_empty() {
            if let Err(error) = self.keep(turn, reply, &mut unstored, None).await {
                self.seat.inbox.restore(words);
                return Err(error);
            }
            let text: Vec<String> = words.iter().map(steer::Word::text).collect();
            self.say(&text.join("\n\n"), "nudge", turn).await?;
            tell_steered(&words, &turn.cx);
            return Ok(Step::Next);
        }
        let text = continued(std::mem::take(&mut turn.parts), &text);
        if let Some(words) = self.objection(&text, turn.verified, &turn.cx).await {
            self.keep(turn, reply, &mut unstored, None).await?;
            turn.verified += 1;
            self.say(&words, "nudge", turn).await?;
            return Ok(Step::Next);
        }
        let text = self.worded(text, &turn.cx).await;
        let beside = self.beside(turn, Outcome::Replied, &text);
        self.keep(turn, reply, &mut unstored, beside).await?;
        Ok(Step::End(Outcome::Replied, text))
    }

    /// Stores a reply that is not stored yet.
    async fn keep(
        &mut self,
        turn: &Turn,
        reply: &Reply,
        unstored: &mut Option<Unstored>,
        beside: Option<Row>,
    ) -> Result<(), TurnError> {
        match unstored.take() {
            Some(Unstored { said, spent }) => {
                self.store_reply(turn, reply, said, (spent, beside)).await
            }
            None => Ok(()),
        }
    }

    /// What is stored together with the end of a turn.
    fn beside(&self, turn: &Turn, outcome: Outcome, text: &str) -> Option<Row> {
        self.closing.as_ref().and_then(|closing| closing.row(&turn.id, outcome, text))
    }

    /// The words of a reply as hooks want them to go out.
    async fn worded(&self, text: String, cx: &CallContext) -> String {
        self.rephrased(&text, cx).await.unwrap_or(text)
    }

    /// A last word that the model did not write; the turn ends with it.
    pub(super) async fn close(
        &mut self,
        turn: &Turn,
        outcome: Outcome,
        text: String,
    ) -> Result<Step, TurnError> {
        let stored = Stored {
            turn: Some(turn.id.clone()),
            note: Some("closing".to_owned()),
            ..Stored::new(Message::assistant(text.as_str()))
        };
        let text = match outcome {
            Outcome::Replied => self.worded(text, &turn.cx).await,
            _ => text,
        };
        let beside = self.beside(turn, outcome, &text);
        self.transcript.add_with(stored, beside).await?;
        Ok(Step::End(outcome, text))
    }

    /// Out of requests: one last one, without tools, for a summary.
    pub(super) async fn farewell(
        &mut self,
        turn: &mut Turn,
    ) -> Result<(Outcome, String), TurnError> {
        if turn.cx.cancel.is_cancelled() {
            return Ok((Outcome::Interrupted, String::new()));
        }
        self.say(FAREWELL, "nudge", turn).await?;
        turn.nudge = None;
        match self.ask(turn, ToolChoice::Off).await {
            Ok(reply) => {
                let spent = self.account(turn, &reply);
                // Whatever it asks for now does not run, so it is not kept either.
                let said =
                    Assistant { tool_calls: Vec::new(), replay: None, ..reply.message.clone() };
                let text = match said.text().trim() {
                    "" => "The requests of this turn are used up.".to_owned(),
                    text => text.to_owned(),
                };
                let said = Assistant { content: Some(text.clone()), ..said };
                let text = self.worded(text, &turn.cx).await;
                let beside = self.beside(turn, Outcome::OutOfBudget, &text);
                self.store_reply(turn, &reply, said, (spent, beside)).await?;
                Ok((Outcome::OutOfBudget, text))
            }
            Err(error) if error.reason == Reason::Cancelled => {
                Ok((Outcome::Interrupted, String::new()))
            }
            Err(error) => Err(TurnError::Model(Box::new(error))),
        }
    }
}
