//! While something runs: the screen is drawn, keys are taken, questions are answered, Ctrl-C stops it.

use std::time::{Duration, Instant};

use super::menu::{self, Pressed as Chosen, Swallow};
use super::{Answering, Chat, ChatError, Doing, Done, Mode, busy, event};
use crate::draft::Key;
use crate::input::Pressed;
use crate::line::{Colour, Line, Style};
use crate::picker::Picked;
use crate::signals::Signal;

const FRAME: Duration = Duration::from_millis(80);
/// A window that is still being resized after this long is drawn to all the same.
const SETTLED_LATEST: Duration = Duration::from_secs(2);
/// Drawing more often shows nothing more.
const SOONEST: Duration = Duration::from_millis(25);

/// A pipe may be so many lines ahead.
const AHEAD_MAX: usize = 8;
/// So many messages that wait are shown.
const QUEUED_SHOWN: usize = 3;

/// Waits for what is being done, if anything.
async fn finished(doing: &mut Option<Doing>) -> Done {
    match doing {
        Some(doing) => doing.await,
        None => std::future::pending().await,
    }
}

/// Waits for answers to arrive, if any are on their way.
async fn answered(answering: &mut Option<Answering>) -> Vec<String> {
    match answering {
        Some(answering) => answering.await,
        None => std::future::pending().await,
    }
}

impl Chat {
    /// Shows what goes on, until nothing does.
    pub(super) async fn work(&mut self) -> Result<(), ChatError> {
        self.input.open_keys()?;
        self.screen.bracketed(true);
        self.mode = Mode::Frames;
        self.watch().await;
        self.settle().await;
        let canvas = self.screen.canvas();
        self.view.end(canvas);
        self.draw(false);
        self.mode = Mode::Lines;
        for key in self.input.close_keys() {
            self.lines.extend(self.draft.apply(&key).filter(|line| !line.trim().is_empty()));
        }
        Ok(())
    }

    async fn watch(&mut self) {
        let mut frames = tokio::time::interval(FRAME);
        let mut drawn = Instant::now();
        while self.is_working() {
            tokio::select! {
                item = event::next(&mut self.events) => self.take(item),
                done = finished(&mut self.doing) => self.done(done),
                refused = answered(&mut self.answering) => {
                    self.answering = None;
                    for why in &refused {
                        self.note(why);
                    }
                }
                pressed = self.input.pressed(), if !self.is_ahead() => self.pressed(pressed),
                signal = self.signals.next() => self.signalled(signal),
                _ = frames.tick() => {}
            }
            self.act();
            if drawn.elapsed() >= SOONEST && self.screen.is_settled() {
                self.draw(true);
                drawn = Instant::now();
            }
        }
    }

    /// Whether a pipe is so far ahead that its next line stays in it: nobody is there to say again
    /// what a full queue refuses. A question is answered by the next line.
    fn is_ahead(&self) -> bool {
        let waiting = self.pending.len() + self.lines.len();
        waiting >= AHEAD_MAX && self.question.is_none() && self.input.is_piped()
    }

    /// Waits for the end of a resize, but not for a window that never comes to rest.
    async fn settle(&mut self) {
        let latest = Instant::now() + SETTLED_LATEST;
        while !self.screen.is_settled() && Instant::now() < latest {
            tokio::time::sleep(SOONEST).await;
        }
    }

    fn pressed(&mut self, pressed: Pressed) {
        match pressed {
            Pressed::Key(Key::Suspend) => self.pause(),
            Pressed::Key(key) if self.picker.is_some() => self.pick(&key),
            Pressed::Key(Key::Interrupt) => self.stop(),
            Pressed::Key(Key::End) => {
                if self.draft.text().is_empty() {
                    self.decline();
                }
            }
            Pressed::Key(Key::Redraw) => {}
            Pressed::Key(Key::Whole) => self.unfold(),
            Pressed::Key(key) if self.swallow.takes(&key) || self.chose(&key) => {}
            Pressed::Key(key)
                if self.question.is_none() && self.offering.press(&key, &mut self.draft) => {}
            Pressed::Key(Key::Up) if self.question.is_none() && self.draft.text().is_empty() => {
                self.take_back();
            }
            Pressed::Key(key) => {
                if let Some(line) = self.draft.apply(&key) {
                    self.line(&line);
                }
            }
            Pressed::Line(line) => self.line(&line),
            Pressed::End => self.decline(),
        }
        self.offering.look(if self.question.is_none() { self.draft.text() } else { "" });
    }

    fn pick(&mut self, key: &Key) {
        let Some(picker) = &mut self.picker else { return };
        match picker.press(key) {
            Picked::Stays => {}
            Picked::Leave => self.picker = None,
            Picked::Take(line) => {
                self.picker = None;
                self.note(&format!("❯ {line}"));
                self.lines.push_front(line);
            }
        }
    }

    /// Stops, with everything that runs going on or not as the system has it.
    fn pause(&mut self) {
        let stay = self.view.done();
        self.screen.show(stay, &[]);
        for key in self.input.close_keys() {
            self.lines.extend(self.draft.apply(&key).filter(|line| !line.trim().is_empty()));
        }
        self.suspend();
        self.screen.bracketed(true);
        if let Err(error) = self.input.open_keys() {
            self.complain(&error.to_string());
            self.leave();
        }
    }

    /// Whether a key was for the menu of the open question.
    fn chose(&mut self, key: &Key) -> bool {
        let Some(asking) = &mut self.question else { return false };
        let Some(menu) = asking.menu.as_mut().filter(|_| self.draft.text().is_empty()) else {
            return false;
        };
        match menu.press(key, Instant::now()) {
            Chosen::Answer(reply, rest) => {
                self.swallow = Swallow::expect(rest);
                self.note(&format!("? {}", menu::said(&reply)));
                self.reply(reply);
            }
            Chosen::Reason(rest) => {
                self.swallow = Swallow::expect(rest);
                self.draft = menu::reason_line();
            }
            Chosen::Selected(rest) => self.swallow = Swallow::expect_letters(rest),
            Chosen::Message => {
                asking.draft.apply(key);
            }
            Chosen::Stays => {}
            Chosen::Line => return false,
        }
        true
    }

    fn signalled(&mut self, signal: Signal) {
        match signal {
            Signal::Interrupt => self.stop(),
            Signal::End => self.leave(),
        }
    }

    fn draw(&mut self, live: bool) {
        let stay = self.view.done();
        let (canvas, (_, height)) = (self.screen.canvas(), self.screen.size());
        if !live {
            self.screen.show(stay, &[]);
            return;
        }
        let mut rows = Vec::new();
        if let Some(picker) = &self.picker {
            return self.screen.show(stay, &picker.rows(canvas.columns, height));
        }
        let mut draft = self.queued_rows();
        draft.extend(self.draft_rows(canvas.columns, height));
        if self.question.is_none() {
            rows = self.view.rows(canvas, height.saturating_sub(draft.len() + 2));
        }
        rows.extend(draft);
        self.screen.show(stay, &rows);
    }

    /// What was said and waits for its turn.
    fn queued_rows(&self) -> Vec<Line> {
        let row = |text: &String| {
            let first = text.lines().next().unwrap_or_default();
            Line::of(Style::FAINT, &format!("⏳ next: {first}"))
        };
        let mut rows: Vec<Line> = self.queued.values().take(QUEUED_SHOWN).map(row).collect();
        let more = self.queued.len() - rows.len();
        if more > 0 {
            rows.push(Line::of(Style::FAINT, &format!("⏳ and {more} more")));
        }
        if let Some(last) = rows.last_mut().filter(|_| self.draft.text().is_empty()) {
            last.push(Style::FAINT, " · ↑ takes it back");
        }
        rows
    }

    /// What is being typed.
    fn draft_rows(&self, columns: usize, height: usize) -> Vec<Line> {
        let text = self.draft.text();
        if text.is_empty() && self.question.is_none() {
            return Vec::new();
        }
        let secret = self.question.as_ref().is_some_and(|asking| asking.question.is_secret());
        let shown = if secret { "•".repeat(text.chars().count()) } else { text.to_owned() };
        let sign = if self.question.is_some() { "? " } else { "❯ " };
        let menu = self.question.as_ref().and_then(|asking| asking.menu.as_ref());
        if let Some(menu) = menu.filter(|_| text.is_empty()) {
            let mut rows = menu.rows(Instant::now());
            if let Some(asking) = &self.question {
                rows.extend(self.view.behind(&asking.question.call, columns));
            }
            return rows;
        }
        let mut rows = Vec::new();
        for (at, part) in shown.split('\n').enumerate() {
            let mut row = Line::of(Style::of(Colour::Cyan), if at == 0 { sign } else { "· " });
            row.push(Style::PLAIN, part);
            rows.extend(row.wrapped(columns));
        }
        // What is typed last is what one looks at; a large paste is all there, and sent whole.
        let over = rows.len().saturating_sub((height / 3).max(2));
        if over > 0 {
            rows.drain(..over);
            rows.insert(0, Line::of(Style::FAINT, &format!("  … {over} more lines above")));
        }
        if self.question.is_none() && self.offering.is_open() {
            rows.extend(self.offering.rows(columns));
        } else if self.question.is_none() && !text.is_empty() {
            rows.push(Line::of(Style::FAINT, &format!("  {}", busy::on_enter(self.busy, text))));
        }
        rows
    }
}
