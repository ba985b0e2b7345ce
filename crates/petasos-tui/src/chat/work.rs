//! While something runs: the screen is drawn, keys are taken, questions are put, Ctrl-C stops it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_agent::Input as Message;
use petasos_agent::{Agent, Outcome, TurnEnd, TurnError};
use petasos_contract::SessionId;
use tokio_util::sync::CancellationToken;

use super::{Asking, Chat, ChatError, Working, news};
use crate::draft::Key;
use crate::input::Pressed;
use crate::line::{Colour, Line, Style};
use crate::person::{Ask, Typed};
use crate::signals::Signal;
use crate::view::Piece;

const FRAME: Duration = Duration::from_millis(80);
/// A window that is still being resized after this long is drawn to all the same.
const SETTLED_LATEST: Duration = Duration::from_secs(2);
/// Drawing more often shows nothing more.
const SOONEST: Duration = Duration::from_millis(25);

impl Chat {
    /// One turn: says something to the agent and shows what follows.
    pub(super) async fn take_turn(&mut self, message: &str) -> Result<(), ChatError> {
        let mut agent = self.ensure_agent().await?;
        if let Err(error) = self.suggest_title(&agent, message).await {
            self.complain(&error.to_string());
        }
        if let Err(why) = self.refresh_servers(false, Some(&mut agent)).await {
            self.complain(&why);
        }
        let mut cx = self.backstage.context(agent.session());
        cx.events = self.sink.clone();
        let working = Working {
            cancel: cx.cancel.clone(),
            inbox: Some(agent.inbox()),
            session: agent.session().clone(),
        };
        self.view.begin("thinking");
        let ended = {
            let context = std::mem::take(&mut self.context);
            let turn = Box::pin(agent.turn(Message { content: message.into(), context }, &cx));
            self.work(turn, working).await
        };
        if let Some(choice) = self.once.take() {
            self.choice = choice.clone();
            *agent.choice_mut() = choice;
        }
        self.agent = Some(agent);
        self.conclude(ended?);
        Ok(())
    }

    /// Tools come and go between turns only; whether anything was done.
    pub(crate) async fn refresh_servers(
        &mut self,
        asked: bool,
        agent: Option<&mut Agent>,
    ) -> Result<bool, String> {
        let backstage = Arc::clone(&self.backstage);
        let Some(done) = backstage.refresh_servers(asked, &self.choice).await? else {
            return Ok(false);
        };
        if let Some(agent) = agent {
            agent.choice_mut().selection.enabled.clone_from(&done.enabled);
        }
        self.choice.selection.enabled = done.enabled;
        self.remark(&done.told);
        Ok(true)
    }

    fn conclude(&mut self, ended: Result<TurnEnd, TurnError>) {
        match ended {
            Ok(end) => match end.outcome {
                Outcome::Replied => self.foot(&end),
                Outcome::Interrupted => self.complain("stopped; the conversation is kept"),
                Outcome::OutOfBudget => self.complain("the requests of this turn are used up"),
                Outcome::Refused | Outcome::Halted => self.complain(&end.text),
            },
            Err(error) => {
                self.complain(&error.to_string());
                self.remark("/provider shows who would answer and why; /retry tries again");
            }
        }
        let bell = "display.bell_on_complete";
        if self.choice.settings.get(bell).and_then(serde_json::Value::as_bool) == Some(true) {
            self.screen.ring();
        }
    }

    fn foot(&mut self, end: &TurnEnd) {
        if self.footer {
            let cost = if end.cost_usd > 0.0 {
                format!(" · ${:.4}", end.cost_usd)
            } else {
                String::new()
            };
            self.remark(&format!(
                "{} requests · {} tokens in, {} out{cost}",
                end.requests,
                end.usage.prompt(),
                end.usage.output
            ));
        }
    }

    /// Runs something with the screen and the keys; Ctrl-C cancels it.
    pub(crate) async fn work<T>(
        &mut self,
        job: impl Future<Output = T>,
        working: Working,
    ) -> Result<T, ChatError> {
        self.input.open_keys()?;
        self.screen.bracketed(true);
        self.working = Some(working);
        let done = self.watch(job).await;
        self.working = None;
        self.answer(Typed::End);
        while let Ok(event) = self.events.try_recv() {
            let canvas = self.screen.canvas();
            self.view.take(event, canvas);
        }
        self.settle().await;
        let canvas = self.screen.canvas();
        self.view.end(canvas);
        self.draw(false);
        for key in self.input.close_keys() {
            self.queue.extend(self.draft.apply(&key).filter(|line| !line.trim().is_empty()));
        }
        Ok(done)
    }

    /// Waits for the end of a resize, but not for a window that never comes to rest.
    async fn settle(&mut self) {
        let latest = Instant::now() + SETTLED_LATEST;
        while !self.screen.is_settled() && Instant::now() < latest {
            tokio::time::sleep(SOONEST).await;
        }
    }

    async fn watch<T>(&mut self, job: impl Future<Output = T>) -> T {
        tokio::pin!(job);
        let mut frames = tokio::time::interval(FRAME);
        let mut drawn = Instant::now();
        loop {
            let (jobs, session) = (self.engine.ports.jobs.clone(), self.session());
            tokio::select! {
                done = &mut job => return done,
                Some(event) = self.events.recv() => {
                    let canvas = self.screen.canvas();
                    self.view.take(event, canvas);
                }
                Some(ask) = self.questions.0.recv() => self.asked(ask),
                Some(ended) = self.asides.ended.recv() => self.tell_aside(&ended),
                pressed = self.input.pressed() => self.pressed(pressed).await,
                signal = self.signals.next() => self.signalled(signal),
                () = news::jobs_changed(jobs.as_ref(), session.as_ref()) => {
                    let news = self.job_news();
                    self.tell_jobs(&news);
                }
                _ = frames.tick() => {}
            }
            if drawn.elapsed() >= SOONEST && self.screen.is_settled() {
                self.draw(true);
                drawn = Instant::now();
            }
        }
    }

    /// A question while nothing runs: it is put like any other.
    pub(super) async fn hear_out(&mut self, ask: Ask) -> Result<(), ChatError> {
        let working = Working {
            cancel: CancellationToken::new(),
            inbox: None,
            session: self
                .agent
                .as_ref()
                .map_or_else(|| SessionId::new(""), |a| a.session().clone()),
        };
        self.view.begin("waiting for your answer");
        self.asked(ask);
        let over = working.cancel.clone();
        self.answered = Some(over.clone());
        let until = async move { over.cancelled().await };
        let bounded = tokio::time::timeout(Duration::from_hours(1), until);
        let waited = self.work(bounded, working).await?;
        self.answered = None;
        if waited.is_err() {
            self.remark("nobody answered");
        }
        Ok(())
    }

    fn asked(&mut self, ask: Ask) {
        match ask {
            Ask::Show(text) => {
                let canvas = self.screen.canvas();
                self.view.note_below(canvas);
                let text = text.trim_end().trim_end_matches('>').trim_end();
                let mut stay = self.view.done();
                stay.extend(text.lines().map(|line| Piece::Line(Line::marked(line))));
                self.screen.show(stay, &[]);
            }
            Ask::Line(answer) if self.input.has_ended() => {
                // Whoever asked may have given up by now.
                answer.send(Typed::End).unwrap_or_default();
            }
            Ask::Line(answer) => {
                let draft = self.draft.put_by();
                self.asking = Some(Asking { answer, draft });
                if self.input.needs_prompt() {
                    self.screen.plain("> ");
                }
            }
        }
    }

    /// Answers the open question, if there is one.
    pub(super) fn answer(&mut self, typed: Typed) -> bool {
        let Some(asking) = self.asking.take() else { return false };
        self.draft.give_back(asking.draft);
        // Whoever asked may have given up by now.
        asking.answer.send(typed).unwrap_or_default();
        if let Some(over) = &self.answered {
            over.cancel();
        }
        true
    }

    async fn pressed(&mut self, pressed: Pressed) {
        self.drop_stale_question();
        match pressed {
            Pressed::Key(Key::Interrupt) => self.stop(),
            Pressed::Key(Key::End) => {
                if self.draft.text().is_empty() {
                    self.answer(Typed::End);
                }
            }
            Pressed::Key(Key::Redraw) => {}
            Pressed::Key(key) => {
                if let Some(line) = self.draft.apply(&key) {
                    self.line(line).await;
                }
            }
            Pressed::Line(line) => self.line(line).await,
            Pressed::End => {
                self.answer(Typed::End);
            }
        }
    }

    fn signalled(&mut self, signal: Signal) {
        self.stop();
        self.ending |= signal == Signal::End;
    }

    /// Cancels what runs; a second time while it is being cancelled changes nothing.
    pub(crate) fn stop(&mut self) {
        self.answer(Typed::Interrupted);
        if let Some(working) = &self.working {
            working.cancel.cancel();
            self.view.doing("stopping");
        }
    }

    /// A question whose asker has given up takes no answer.
    fn drop_stale_question(&mut self) {
        if self.asking.as_ref().is_some_and(|asking| asking.answer.is_closed()) {
            self.answer(Typed::End);
            self.remark("the question is no longer open");
        }
    }

    fn draw(&mut self, live: bool) {
        self.drop_stale_question();
        let stay = self.view.done();
        let (canvas, (_, height)) = (self.screen.canvas(), self.screen.size());
        if !live {
            self.screen.show(stay, &[]);
            return;
        }
        let mut rows = Vec::new();
        let draft = self.draft_rows();
        if self.asking.is_none() {
            rows = self.view.rows(canvas, height.saturating_sub(draft.len() + 2));
        }
        rows.extend(draft);
        self.screen.show(stay, &rows);
    }

    /// What is being typed.
    fn draft_rows(&self) -> Vec<Line> {
        let text = self.draft.text();
        if text.is_empty() && self.asking.is_none() {
            return Vec::new();
        }
        let sign = if self.asking.is_some() { "? " } else { "❯ " };
        let mut rows = Vec::new();
        for (at, part) in text.split('\n').enumerate() {
            let mut row = Line::of(Style::of(Colour::Cyan), if at == 0 { sign } else { "· " });
            row.push(Style::PLAIN, part);
            rows.push(row);
        }
        rows
    }
}
