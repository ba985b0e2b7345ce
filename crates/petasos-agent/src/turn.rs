//! One turn: from what somebody said to the reply.
//!
//! Every message is stored before it is acted on. Whatever ends the turn (a reply, an interrupt,
//! a failure), what is stored is a valid conversation that can be resumed.

mod ending;
mod interrupt;
mod prepare;
mod request;
mod waiting;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use petasos_contract::call::{Content as Shown, ToolCall, ToolResult};
use petasos_contract::event::Event;
use petasos_contract::message::{Assistant, Content, Message};
use petasos_contract::model::{Definition, Finish, ModelError, Reason, Reply, Sight, ToolChoice};
use petasos_contract::reply::Usage;
use petasos_contract::tool::RoundKind;
use petasos_contract::{CallContext, ToolName, TurnId, wait};
use petasos_store::{Amend, Row, Spent, Stored};

pub use self::ending::Closing;
pub use self::interrupt::INTERRUPTED;
use self::interrupt::Streamed;

use crate::agent::{Agent, Outcome, Room, TurnEnd, TurnError, dollars};
use crate::budget::Budget;
use crate::compress::{Bench, Stopped};
use crate::misbehaviour::{Patience, Verdict, identify, requested};
use crate::{prompt, round, steer, tokens};

/// How often a conversation that does not fit is shortened for one request.
const SHORTENED_MAX: u32 = 3;

/// What somebody said.
#[derive(Debug, Clone)]
pub struct Input {
    /// Text and images.
    pub content: Content,
    /// Text for this turn only, put before the words in what is sent: dates, recalled notes, hints.
    pub context: Vec<String>,
    /// The name of its turn, for whoever must find it again after a crash; made up when absent.
    pub turn: Option<TurnId>,
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Self { content: text.into(), context: Vec::new(), turn: None }
    }
}

/// What one turn keeps in mind.
struct Turn {
    id: TurnId,
    cx: CallContext,
    system: String,
    tools: Arc<[Definition]>,
    granted: BTreeSet<ToolName>,
    budget: Budget,
    patience: Patience,
    requests: u32,
    shortened: u32,
    nudge: Option<&'static str>,
    /// How often a hook kept the turn going.
    verified: u32,
    usage: Usage,
    cost_usd: f64,
    /// The last reply ran into the limit of its length.
    cut_off: bool,
    ran: Vec<(String, &'static str)>,
    /// Text that came before the last reply: of a reply in parts, or beside calls.
    earlier: String,
    parts: String,
    /// What has come of the reply that is on its way.
    streamed: Arc<Streamed>,
    /// The reply of an earlier process whose calls wait for a person.
    waiting: Option<Assistant>,
}

/// How a step of the loop ended.
enum Step {
    /// Ask again.
    Next,
    /// The turn is over.
    End(Outcome, String),
}

impl Agent {
    /// Carries out one turn. Ends within a second of the context's cancellation.
    pub async fn turn(&mut self, input: Input, cx: &CallContext) -> Result<TurnEnd, TurnError> {
        // On the heap: a turn's future is large, and callers hold it in theirs.
        Box::pin(async {
            let started = Instant::now();
            let _lease = self.lease("a turn", cx).await?;
            let turn = self.new_turn(input.turn.clone(), cx);
            let said = input.content.text();
            self.open(input, &turn).await?;
            Box::pin(self.whole_turn(turn, said, started)).await
        })
        .await
    }

    /// From its first event to its last.
    async fn whole_turn(
        &mut self,
        mut turn: Turn,
        said: String,
        started: Instant,
    ) -> Result<TurnEnd, TurnError> {
        turn.cx.events.emit(|| Event::TurnStarted {
            session: turn.cx.session.clone(),
            turn: turn.id.clone(),
        });
        let mut ended = self.carry_out(&mut turn, &said).await;
        if let Ok((Outcome::Interrupted, _)) = &ended {
            let marked = self.mark_interrupted(&mut turn).await;
            ended = marked.map(|text| (Outcome::Interrupted, text));
        }
        self.conclude(&ended, &said, &turn.cx).await;
        self.engine.dispatcher.end_turn(&turn.id);
        let delegated = std::mem::take(&mut *self.seat.delegated.lock());
        let usage = turn.usage.plus(&delegated);
        let (outcome, text) = match &ended {
            Ok((outcome, text)) => (outcome.as_str(), text.clone()),
            Err(error) => ("failed", error.to_string()),
        };
        turn.cx.events.emit(|| Event::TurnEnded {
            session: turn.cx.session.clone(),
            turn: turn.id.clone(),
            end: outcome.to_owned(),
            text,
            requests: turn.requests,
            usage,
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        let recorded = join_all(self.engine.watchers.iter().map(|watcher| watcher.flush()));
        wait::unless_cancelled(&turn.cx.cancel, wait::LAST_WORDS, recorded).await;
        let (outcome, text) = ended?;
        let Turn { requests, cost_usd, cut_off, ran: tools, .. } = turn;
        Ok(TurnEnd { outcome, text, requests, tools, usage, cost_usd, cut_off })
    }

    /// From what was said to how it ended.
    async fn carry_out(
        &mut self,
        turn: &mut Turn,
        said: &str,
    ) -> Result<(Outcome, String), TurnError> {
        let cancel = turn.cx.cancel.clone();
        let opening = async {
            self.prepare(turn).await?;
            if turn.waiting.is_some() {
                return Ok(());
            }
            let mut added = self.announce(said, &turn.cx).await;
            added.extend(self.moved(&turn.cx));
            if !added.is_empty() {
                self.say(&added.join("\n\n"), "context", turn).await?;
            }
            Ok::<(), TurnError>(())
        };
        match wait::unless_cancelled(&cancel, Duration::ZERO, opening).await {
            None => return Ok((Outcome::Interrupted, String::new())),
            Some(opened) => opened?,
        }
        if let Some(said) = turn.waiting.take() {
            let (calls, unknown) = requested(&said, &turn.granted);
            if let Step::End(outcome, text) = self.act(turn, &said, calls, unknown).await? {
                return Ok((outcome, text));
            }
        }
        self.steps(turn).await
    }

    /// A conversation that goes on elsewhere: its prompt still names the folder it began in.
    fn moved(&self, cx: &CallContext) -> Option<String> {
        if self.turns > 1 {
            return None;
        }
        let system = self.system.as_deref()?;
        let began = system.lines().find_map(|line| line.strip_prefix(prompt::DIRECTORY))?;
        let here = cx.workspace.display().to_string();
        (began != here).then(|| {
            format!("The working directory is now {here}; this conversation began in {began}.")
        })
    }

    async fn steps(&mut self, turn: &mut Turn) -> Result<(Outcome, String), TurnError> {
        while turn.budget.spend() {
            if turn.cx.cancel.is_cancelled() {
                return Ok((Outcome::Interrupted, String::new()));
            }
            match self.step(turn).await? {
                Step::Next => {}
                Step::End(outcome, text) => return Ok((outcome, text)),
            }
        }
        self.farewell(turn).await
    }

    /// One request, and whatever follows from its reply.
    async fn step(&mut self, turn: &mut Turn) -> Result<Step, TurnError> {
        self.fit(turn).await?;
        let reply = match self.ask(turn, ToolChoice::Auto).await {
            Ok(reply) => reply,
            Err(error) => return self.recover(turn, error).await,
        };
        let spent = self.account(turn, &reply);
        turn.cut_off = reply.finish == Finish::Length && reply.broken.is_none();
        let short = self.choice.sampling.max_tokens.is_some() && turn.cut_off;
        let text = !reply.message.text().is_empty() && reply.message.tool_calls.is_empty();
        // Whoever wants a short reply wants it as it is.
        let verdict = if short && text { Verdict::Take } else { turn.patience.judge(&reply) };
        turn.nudge = None;
        if let Some(why) = &reply.broken {
            let next = if verdict == Verdict::Broken { "giving up" } else { "asking it to go on" };
            let text = format!("the reply broke off ({why}); {next}");
            turn.cx.events.emit(|| Event::Notice { text });
        }
        // Where the reply is kept, what it took is stored together with it.
        if !matches!(verdict, Verdict::Take | Verdict::GoOn { .. }) {
            self.transcript.amend(Amend::Spent(Box::new(spent.clone()))).await?;
        }
        match verdict {
            Verdict::Take => self.take(turn, reply, spent).await,
            Verdict::Again { nudge } => {
                turn.nudge = nudge;
                Ok(Step::Next)
            }
            Verdict::GoOn { nudge } => {
                turn.parts = continued(std::mem::take(&mut turn.parts), reply.message.text());
                self.store_reply(turn, &reply, reply.message.clone(), (spent, None)).await?;
                if let Some(nudge) = nudge {
                    self.say(nudge, "nudge", turn).await?;
                }
                Ok(Step::Next)
            }
            Verdict::Empty => {
                let tools = self.engine.dispatcher.registry().seen_by(self.session());
                let housekeeping = |(tool, _): &(String, _)| {
                    tools.find(tool).is_some_and(|entry| entry.round == RoundKind::Housekeeping)
                };
                let reuse = !turn.earlier.is_empty() && turn.ran.iter().all(housekeeping);
                let text = if reuse { turn.earlier.clone() } else { "(empty)".to_owned() };
                let outcome = if reuse { Outcome::Replied } else { Outcome::Halted };
                self.close(turn, outcome, text).await
            }
            Verdict::Cut => {
                let text = "I stopped: every reply was cut off before its call was complete. \
                            Raise `model.max_tokens`, or ask for less at a time.";
                self.close(turn, Outcome::Halted, text.to_owned()).await
            }
            Verdict::Broken => {
                let why = reply.broken.as_deref().unwrap_or_default();
                let line = format!("the model's reply broke off again and again ({why})");
                let mut error = ModelError::new(Reason::Timeout, line);
                error.path.clone_from(&reply.path);
                Err(TurnError::Model(Box::new(error)))
            }
            Verdict::Filtered => {
                let said = reply.message.text().trim();
                let text =
                    if said.is_empty() { "The provider's filter stopped the reply." } else { said };
                self.close(turn, Outcome::Refused, text.to_owned()).await
            }
        }
    }

    /// A reply that can be used: it is stored, then acted on.
    async fn take(
        &mut self,
        turn: &mut Turn,
        reply: Reply,
        spent: Spent,
    ) -> Result<Step, TurnError> {
        let mut said = reply.message.clone();
        identify(&mut said, turn.requests);
        let (calls, unknown) = requested(&said, &turn.granted);
        if calls.is_empty() {
            return self.replied(turn, &reply, said, spent).await;
        }
        self.store_reply(turn, &reply, said.clone(), (spent, None)).await?;
        self.act(turn, &said, calls, unknown).await
    }

    /// Whether the model can look at what these calls gave.
    async fn sees(&self, results: &[ToolResult], cx: &CallContext) -> bool {
        let pictures = |result: &ToolResult| matches!(result.content, Shown::Multimodal(_));
        !results.iter().any(pictures) || self.engine.model.sight(cx).await == Sight::Own
    }

    /// Runs the calls of a stored reply; so many of them name no tool.
    async fn act(
        &mut self,
        turn: &mut Turn,
        said: &Assistant,
        calls: Vec<ToolCall>,
        unknown: usize,
    ) -> Result<Step, TurnError> {
        said.text().clone_into(&mut turn.earlier);
        turn.parts.clear();
        for (call, asked) in calls.iter().zip(&said.tool_calls) {
            turn.cx.events.emit(|| Event::ToolRequested {
                session: turn.cx.session.clone(),
                call: call.id.clone(),
                tool: call.name.clone(),
                arguments: asked.arguments.clone(),
            });
        }
        let tools = self.engine.dispatcher.registry().seen_by(self.session());
        let refunded = calls.iter().all(|call| {
            tools.find(call.name.as_str()).is_some_and(|entry| entry.round == RoundKind::Refunded)
        });
        let results = round::run(&self.engine, &self.transcript, calls, &turn.cx).await?;
        let words =
            if turn.cx.cancel.is_cancelled() { Vec::new() } else { self.seat.inbox.drain() };
        let sees = self.sees(&results, &turn.cx).await;
        let mut stored = round::messages(&results, &turn.id, sees);
        round::hint(&mut stored, &said.tool_calls, &mut self.hints, &turn.cx.workspace);
        round::steer(&mut stored, &words);
        self.transcript.add(stored).await?;
        round::tell(&results, &turn.cx);
        tell_steered(&words, &turn.cx);
        let names = results.iter().map(|result| (result.name.to_string(), result.status.as_str()));
        turn.ran.extend(names);
        if refunded {
            turn.budget.refund();
        }
        let halted = results.iter().any(|result| result.halts_turn);
        if halted || !turn.patience.bear_unknown(unknown) {
            let text = if halted {
                "I stopped: the same tool kept failing, and repeating it would not help."
            } else {
                "I stopped: I kept asking for tools that do not exist here."
            };
            return self.close(turn, Outcome::Halted, text.to_owned()).await;
        }
        Ok(Step::Next)
    }

    /// No reply: shortening the conversation may help, nothing else is the loop's to try.
    async fn recover(&mut self, turn: &mut Turn, error: ModelError) -> Result<Step, TurnError> {
        match error.reason {
            Reason::Cancelled => Ok(Step::End(Outcome::Interrupted, String::new())),
            Reason::ContextOverflow | Reason::PayloadTooLarge | Reason::LongContextTier
                if turn.shortened < SHORTENED_MAX =>
            {
                turn.shortened += 1;
                if let Some(stated) = error.context_length {
                    self.compressor.learn(stated);
                }
                let room = self.room(turn);
                let Self { engine, transcript, compressor, seat, .. } = self;
                let bench = Bench { engine, transcript, todo: &seat.todo };
                let done = compressor.now(bench, None, &turn.cx).await;
                done.map_err(|stopped| match stopped {
                    Stopped::NothingLeft => TurnError::NoRoom(room),
                    other => TurnError::TooLong { why: other.to_string() },
                })?;
                turn.budget.refund();
                Ok(Step::Next)
            }
            Reason::ContentPolicy => self.close(turn, Outcome::Refused, error.line).await,
            _ => Err(TurnError::Model(Box::new(error))),
        }
    }

    /// Shortens the conversation when it comes near the window.
    async fn fit(&mut self, turn: &mut Turn) -> Result<(), TurnError> {
        if turn.requests == 1 {
            // What nobody knew of the model was found out beside the first question.
            turn.cx.window = Some(self.measure(&turn.cx).await);
        }
        let room = self.room(turn);
        let Self { engine, transcript, compressor, seat, .. } = self;
        for _ in 0..SHORTENED_MAX {
            if !compressor.is_due(room.preamble, transcript.tokens()) {
                break;
            }
            let bench = Bench { engine, transcript, todo: &seat.todo };
            let done = compressor.now(bench, None, &turn.cx).await;
            if let Err(stopped) = done {
                // The provider will say when it really does not fit; until then work goes on.
                let text = match stopped {
                    Stopped::NothingLeft => format!("the model's window is small: {room}"),
                    other => format!("the conversation was not shortened: {other}"),
                };
                turn.cx.events.emit(|| Event::Notice { text });
                break;
            }
        }
        Ok(())
    }

    /// What the next request holds, and what the window does.
    fn room(&self, turn: &Turn) -> Room {
        Room {
            preamble: tokens::of_text(&turn.system) + tokens::of_tools(&turn.tools),
            said: self.transcript.tokens(),
            window: self.compressor.window(),
        }
    }

    /// The reply is stored as it was mended, with what belongs beside it, and told.
    async fn store_reply(
        &mut self,
        turn: &Turn,
        reply: &Reply,
        said: Assistant,
        (spent, beside): (Spent, Option<Row>),
    ) -> Result<(), TurnError> {
        let stored = Stored {
            turn: Some(turn.id.clone()),
            finish: Some(reply.finish),
            ..Stored::new(Message::Assistant(said.clone()))
        };
        self.transcript.add_reply(stored, spent, beside).await?;
        turn.cx.events.emit(|| Event::Replied {
            session: turn.cx.session.clone(),
            request: turn.requests,
            text: said.text().to_owned(),
            calls: said.tool_calls.len(),
            finish: reply.finish,
            served: reply.served.clone(),
            usage: reply.usage,
            cost: reply.cost,
            path: reply.path.clone(),
        });
        Ok(())
    }

    /// What a reply took, added to what the turn did.
    fn account(&self, turn: &mut Turn, reply: &Reply) -> Spent {
        turn.usage = turn.usage.plus(&reply.usage);
        turn.cost_usd += dollars(reply.cost);
        let (role, served) = (self.choice.role, reply.served.clone());
        Spent { role, served, usage: reply.usage, cost: reply.cost }
    }

    /// Words to the model that the user did not write.
    async fn say(&mut self, text: &str, note: &str, turn: &Turn) -> Result<(), TurnError> {
        let stored = Stored {
            turn: Some(turn.id.clone()),
            note: Some(note.to_owned()),
            ..Stored::new(Message::user(text))
        };
        Ok(self.transcript.add(vec![stored]).await?)
    }
}

/// A reply in parts as one text. A model that began anew instead of going on is not told twice.
fn continued(parts: String, next: &str) -> String {
    const SAME_CHARS_MIN: usize = 8;
    let anew = parts.chars().count() >= SAME_CHARS_MIN && next.starts_with(&parts);
    if anew { next.to_owned() } else { parts + next }
}

/// Tells surfaces that the user's guidance reached the model.
fn tell_steered(words: &[steer::Word], cx: &CallContext) {
    for word in words {
        if let steer::Word::Guidance(text) = word {
            cx.events.emit(|| Event::Steered { session: cx.session.clone(), text: text.clone() });
        }
    }
}
