//! What an event of the session shows.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use petasos_contract::ToolName;
use petasos_contract::approval::ApprovalRequest;
use petasos_contract::call::Status;
use petasos_contract::event::Event;
use petasos_contract::message::Message;
use petasos_contract::plan::FileEdit;
use petasos_session::{
    Answerer, Closed, CommandOutcome, EventStream, INTERRUPTED, Outcome, Page, Question,
    QuestionKind, QuestionReply, SessionEvent, Stored, StreamItem, TurnEnd, TurnError,
};

use super::menu::Menu;
use super::{Asking, Chat, Done, Next};
use crate::diff::{self, Fold};
use crate::line::{Colour, Line, Style};
use crate::view;

/// So many lines of an earlier message are shown.
const QUOTED_MAX: usize = 10;

/// The line of a question below which its reasons stand.
const REASONS: &str = "because:";

/// The text of a turn whose model said nothing.
const EMPTY: &str = "(empty)";

/// The next event; a session that has ended has none, and nobody waits for its end twice.
pub(super) async fn next(events: &mut Option<EventStream>) -> Option<StreamItem> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

/// Whether the composer must give way to it.
pub(super) fn begins_something(item: Option<&StreamItem>) -> bool {
    let Some(StreamItem::Event(envelope)) = item else { return item.is_none() };
    let event = &envelope.event;
    matches!(event, SessionEvent::Submitted { .. } | SessionEvent::QuestionAsked(_))
}

impl Chat {
    /// Takes the events that are there.
    pub(super) fn catch_up(&mut self) {
        while let Some(item) = self.events.as_mut().and_then(EventStream::try_next) {
            self.take(Some(item));
        }
    }

    /// Takes one; without one the session is over.
    pub(super) fn take(&mut self, item: Option<StreamItem>) {
        match item {
            None => {
                self.events = None;
                self.pending.clear();
                self.queued.clear();
                self.close_question();
                self.picker = None;
                if self.next == Next::Stay {
                    self.next = Next::Leave;
                }
            }
            Some(StreamItem::Gap { missed }) => {
                let canvas = self.screen.canvas();
                self.view.gap(missed, canvas);
            }
            Some(StreamItem::Event(envelope)) => self.happened(&envelope.event),
        }
    }

    fn happened(&mut self, event: &SessionEvent) {
        let canvas = self.screen.canvas();
        match event {
            SessionEvent::Agent(Event::MessageAdded { role, text, calls, .. }) => {
                self.added(role, text, calls);
            }
            SessionEvent::Agent(event) => {
                if let Event::Replied { usage, .. } = event {
                    self.used = usage.prompt() + usage.output;
                }
                self.view.take(event.clone(), canvas);
                self.flush();
                if let Event::ToolAnswered { tool, preview, status: Status::Ok, .. } = event
                    && tool.as_str() == "image_generate"
                {
                    self.show_picture(preview);
                }
            }
            SessionEvent::Submitted { id, text } => {
                if !self.pending.is_empty() && !text.is_empty() {
                    self.queued.insert(*id, text.clone());
                }
                self.pending.insert(*id);
            }
            SessionEvent::TurnStarted { id } => {
                if let Some(text) = self.queued.remove(id).filter(|_| self.screen.look().live) {
                    self.view.forget_changes();
                    self.put(self.quoted(&text, canvas.columns));
                }
                self.view.begin("thinking");
            }
            SessionEvent::TurnEnded { id, end, .. } => {
                self.pending.remove(id);
                // One that never began was taken back: there is nothing to conclude.
                if self.queued.remove(id).is_some() {
                    return;
                }
                self.view.end(canvas);
                self.conclude(end);
                self.speak(end);
            }
            SessionEvent::Unsaid { text } => self.unsaid(text),
            SessionEvent::QuestionAsked(question) => self.asked(question),
            SessionEvent::QuestionWaits => {
                self.note("⏳ another question waits until this one is answered");
            }
            SessionEvent::QuestionClosed { id, how } => {
                let open = self.question.as_ref().is_some_and(|open| open.question.id == *id);
                if open {
                    self.close_question();
                    if *how != Closed::Answered {
                        self.note("The question was closed.");
                    }
                }
            }
            SessionEvent::Page(page) => self.page(page),
            SessionEvent::Ran(ran) => self.view.ran(ran, canvas),
            _ => {}
        }
    }

    /// Words for a turn that was stopped before it read them.
    fn unsaid(&mut self, text: &str) {
        if !self.screen.look().live {
            return self.note(&format!("↩ not said to the agent: {text}"));
        }
        self.note("↩ what you added was not said to the agent; it is in the line again");
        if !self.draft.text().is_empty() {
            self.draft.put("\n");
        }
        self.draft.put(text);
    }

    /// The picture that a call made, where the terminal can show one.
    fn show_picture(&mut self, preview: &str) {
        let Some(pictures) = self.pictures.clone().filter(|_| !self.input.is_composing()) else {
            return;
        };
        let Some(file) = made(preview) else { return };
        let Some(sequence) = pictures(Path::new(&file), self.screen.size()) else { return };
        let stay = self.view.done();
        self.screen.show(stay, &[]);
        self.screen.picture(&sequence);
    }

    /// A message that another process added.
    fn added(&mut self, role: &str, text: &str, calls: &[ToolName]) {
        let canvas = self.screen.canvas();
        self.view.note_below(canvas);
        match role {
            "user" => self.put(quoted(text, canvas.columns)),
            "assistant" if !text.is_empty() => self.markdown(text),
            _ => {}
        }
        if !calls.is_empty() {
            let names: Vec<&str> = calls.iter().map(ToolName::as_str).collect();
            self.note(&format!("⚙ {} (in another window)", names.join(", ")));
        }
    }

    pub(super) fn outcome(&mut self, outcome: &CommandOutcome) {
        outcome.pages.iter().for_each(|page| self.page(page));
    }

    fn page(&mut self, page: &Page) {
        let canvas = self.screen.canvas();
        self.view.note_below(canvas);
        match page {
            Page::Markdown(text) => self.markdown(text),
            Page::Note(text) => self.note(text),
            Page::Warning(text) => self.complain(text),
        }
    }

    /// In voice mode an answer is said, and then the person is listened to.
    fn speak(&mut self, ended: &Result<TurnEnd, TurnError>) {
        if !self.speaks || self.doing.is_some() || !self.pending.is_empty() {
            return;
        }
        let said = ended.as_ref().map(|end| end.text.clone()).unwrap_or_default();
        let (mouth, ears) = (Arc::clone(&self.mouth), Arc::clone(&self.ears));
        self.doing = Some(Box::pin(async move {
            mouth(said).await;
            Done::Spoken(ears(None).await)
        }));
    }

    fn conclude(&mut self, ended: &Result<TurnEnd, TurnError>) {
        match ended {
            Ok(end) => match end.outcome {
                Outcome::Replied => self.foot(end),
                Outcome::Interrupted => self.complain("Interrupted."),
                Outcome::OutOfBudget => {
                    self.complain(
                        "Stopped: this turn has used all its requests (agent.max_turns).",
                    );
                }
                Outcome::Halted if end.text == EMPTY => {
                    self.complain("The model returned an empty reply. /retry tries again.");
                }
                Outcome::Refused | Outcome::Halted => self.complain(&end.text),
            },
            Err(error) => {
                self.complain(&error.to_string());
                self.note(
                    "/retry sends it again, /undo removes it; else it goes along with your next \
                     message. /provider shows who would answer and why.",
                );
            }
        }
        let bell = self.settings.get("display.bell_on_complete");
        if bell.and_then(serde_json::Value::as_bool) == Some(true) {
            self.screen.ring();
        }
    }

    fn foot(&mut self, end: &TurnEnd) {
        if self.footer && end.requests > 0 {
            let cost = if end.cost_usd > 0.0 {
                format!(" · ${:.4}", end.cost_usd)
            } else {
                String::new()
            };
            let sandbox = self.settings.text("terminal.sandbox").unwrap_or("off");
            let s = if end.requests == 1 { "" } else { "s" };
            self.note(&format!(
                "{} request{s} · {} tokens in, {} out{cost} · sandbox {sandbox}",
                end.requests,
                end.usage.prompt(),
                end.usage.output
            ));
        }
    }

    /// A question is shown between the lines; the next line that is typed answers it.
    fn asked(&mut self, question: &Arc<Question>) {
        let canvas = self.screen.canvas();
        self.view.note_below(canvas);
        let text = self.question_text(question);
        let spaced = self.view.ends_blank();
        let lines = text.lines().skip_while(|line| spaced && line.is_empty());
        let mut lines: Vec<Line> = lines.flat_map(|line| laid_out(line, canvas.columns)).collect();
        let live = self.screen.look().live;
        let edits = if live { edited(question, canvas.columns) } else { Vec::new() };
        let reasons = lines.iter().rposition(|line| line.text() == REASONS);
        lines.splice(reasons.map_or(lines.len()..lines.len(), |at| at..at), edits);
        self.put(lines);
        let draft = self.draft.put_by();
        self.picker = None;
        let since = Instant::now();
        let menu = Some(since).filter(|_| live).and_then(|now| Menu::of(&question.kind, now));
        self.question = Some(Asking { question: Arc::clone(question), draft, menu, since });
        if self.input.has_ended() {
            self.decline();
        } else if self.input.needs_prompt() {
            let stay = self.view.done();
            self.screen.show(stay, &[]);
            self.screen.plain("> ");
        }
    }

    fn question_text(&self, question: &Question) -> String {
        match &question.kind {
            QuestionKind::Approval(request) => {
                let colour = self.screen.look().is_styled();
                // A live screen shows edits as it shows those that were made.
                let live = self.screen.look().live;
                let request = ApprovalRequest {
                    edits: request.edits.iter().filter(|_| !live).cloned().collect(),
                    ..request.clone()
                };
                let shown = self.session.service().services().approval_text(&request, colour);
                if live {
                    return format!("\n{shown}");
                }
                format!("\n{shown}\n{}", question.choices())
            }
            QuestionKind::Choice { text, choices } => {
                let mut shown = format!("\n❓ {text}\n");
                if self.screen.look().live && Menu::of(&question.kind, Instant::now()).is_some() {
                    return shown;
                }
                for (at, choice) in choices.iter().enumerate() {
                    writeln!(shown, "  {}. {choice}", at + 1).unwrap_or_default();
                }
                shown + question.choices()
            }
            QuestionKind::Password { prompt } => format!("\n🔑 {prompt}\n{}", question.choices()),
        }
    }

    pub(super) fn close_question(&mut self) {
        if let Some(asking) = self.question.take() {
            self.view.waited(&asking.question.call, asking.since.elapsed());
            self.draft.give_back(asking.draft);
        }
    }

    /// The person has no answer to the open question.
    pub(super) fn decline(&mut self) {
        let Some(asking) = &self.question else { return };
        let reply = match asking.question.kind {
            QuestionKind::Approval(_) => {
                QuestionReply::Deny { comment: Some("the input ended".to_owned()) }
            }
            _ => QuestionReply::Decline,
        };
        self.reply(reply);
    }

    /// Answers the open question. What is typed next is no longer for it, whatever the answer takes.
    pub(super) fn reply(&mut self, reply: QuestionReply) {
        let Some(asking) = &self.question else { return };
        let (session, id) = (self.session.clone(), asking.question.id.clone());
        self.close_question();
        let before = self.answering.take();
        self.answering = Some(Box::pin(async move {
            let mut refused = match before {
                Some(before) => before.await,
                None => Vec::new(),
            };
            let answered = session.answer(&id, reply, &Answerer::here()).await;
            refused.extend(answered.err().map(|error| error.to_string()));
            refused
        }));
    }

    /// The person's own words; of many lines as many as `display.user_message_preview` says.
    fn quoted(&self, text: &str, columns: usize) -> Vec<Line> {
        let lines = |name: &str| {
            let key = format!("display.user_message_preview.{name}");
            let number = self.settings.get(&key).and_then(serde_json::Value::as_u64);
            number.and_then(|number| usize::try_from(number).ok())
        };
        let (first, last) = (lines("first_lines"), lines("last_lines").unwrap_or_default());
        folded(quoted(text, columns), first.unwrap_or(QUOTED_MAX), last)
    }

    /// The last exchange, so that one knows where one is.
    pub(super) fn recap(&mut self, recent: &[Stored]) {
        let asked =
            |row: &Stored| matches!(row.message, Message::User { .. }) && row.note.is_none();
        let Some(last) = recent.iter().rposition(asked) else { return };
        let canvas = self.screen.canvas();
        let mut lines = vec![Line::of(Style::FAINT, &format!("── {} ──", self.session.id()))];
        let shown = self.settings.text("display.resume_display") != Some("minimal");
        let bad = |text: &str| Line::of(Style::of(Colour::Red), text).wrapped(canvas.columns);
        for row in recent.iter().skip(last).filter(|_| shown) {
            let stopped = row.note.as_deref() == Some(INTERRUPTED);
            match &row.message {
                Message::User { content } if row.note.is_none() => {
                    lines.extend(self.quoted(&content.text(), canvas.columns));
                }
                // Without words of its own the row holds the mark for the model alone.
                Message::Assistant(_) if stopped && row.sent.is_none() => {}
                Message::Assistant(reply) if !reply.text().is_empty() => {
                    lines.extend(view::page(reply.text(), canvas));
                }
                _ => {}
            }
            if stopped {
                lines.extend(bad("✗ Interrupted."));
            }
        }
        if recent.last().is_some_and(|row| matches!(row.message, Message::User { .. })) {
            lines.extend(bad("✗ No reply came to this message; /retry sends it again."));
        }
        lines.push(Line::new());
        self.put(lines);
    }
}

/// The changes that a question is about, where the screen is live.
fn edited(question: &Question, columns: usize) -> Vec<Line> {
    let QuestionKind::Approval(request) = &question.kind else { return Vec::new() };
    let shown = |edit: &FileEdit| {
        let path = edit.path.display().to_string();
        diff::lines(&path, &edit.diff, &Fold::usual(""), columns)
    };
    let mut lines: Vec<Line> = request.edits.iter().flat_map(shown).collect();
    if !lines.is_empty() {
        lines.push(Line::new());
    }
    lines
}

/// A line of a question. What would run is shown sign by sign, as the terminal breaks it.
fn laid_out(line: &str, columns: usize) -> Vec<Line> {
    let whole = Line::marked(line);
    if line.starts_with("    ") {
        return vec![whole];
    }
    let indent = " ".repeat(line.len() - line.trim_start().len());
    let mut rows = whole.wrapped(columns.saturating_sub(indent.len())).into_iter();
    let first = rows.next().into_iter();
    let others = rows.map(|row| {
        let mut below = Line::of(Style::PLAIN, &indent);
        below.extend(&row);
        below
    });
    first.chain(others).collect()
}

/// The person's own words.
fn quoted(text: &str, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (at, part) in text.lines().enumerate() {
        for (row, wrapped) in
            Line::of(Style::BOLD, part).wrapped(columns.saturating_sub(2)).into_iter().enumerate()
        {
            let sign = if at == 0 && row == 0 { "❯ " } else { "  " };
            let mut line = Line::of(Style::of(Colour::Cyan), sign);
            line.extend(&wrapped);
            lines.push(line);
        }
    }
    lines
}

/// The first and last of many lines, and how many are between them.
fn folded(mut lines: Vec<Line>, first: usize, last: usize) -> Vec<Line> {
    let over = lines.len().saturating_sub(first.max(1) + last);
    if over > 1 {
        let between = Line::of(Style::FAINT, &format!("  … {over} more lines"));
        lines.splice(first.max(1)..first.max(1) + over, [between]);
    }
    lines
}

/// The file of the picture that a result names.
fn made(preview: &str) -> Option<String> {
    let (_, rest) = preview.split_once("\"image\":")?;
    let (_, rest) = rest.split_once('"')?;
    let (path, _) = rest.split_once('"')?;
    (path.starts_with('/') && !path.contains('\\')).then(|| path.to_owned())
}
