//! The second half of the demo: the real loop, tools, approval and store, with a scripted model.

use std::sync::Arc;

use crate::ask::shown;
use petasos_agent::demo::{FIRST, SECOND, script};
use petasos_config::Inputs;
use petasos_contract::context::Surface;
use petasos_contract::event::Event;
use petasos_runtime::toolsets::Selection;
use petasos_session::{
    Answerer, Begin, Choice, EndReason, QuestionKind, QuestionReply, Replay, Session, SessionEvent,
    StreamItem, TurnEnd, WhenBusy,
};

use super::STEP;
use crate::host::Host;
use crate::out::{Out, Style};
use crate::report::Report;
use crate::services::Program;

/// Two conversations: one that works, and one that remembers it.
pub(super) async fn show(host: &Arc<Host>, inputs: &Inputs, out: Out) -> Result<(), Report> {
    out.line(out.paint(Style::Faint, "(the model is scripted; everything else is real)"));
    let services = Arc::new(Program::demo(Arc::clone(host), inputs.clone()));
    let people = Some(host.people());
    let sessions = host.sessions_with(Arc::new(script()), people, services, Vec::new())?;
    for prompt in [FIRST, SECOND] {
        let mut choice = Choice::new(Surface::Cli, Arc::clone(host.settings()));
        let toolsets = ["file", "terminal", "delegation", "session_search"];
        let enabled = Some(toolsets.map(str::to_owned).to_vec());
        choice.selection = Selection { enabled, ..Selection::default() };
        let begin = Begin::New { choice: Box::new(choice), after: None };
        let session = sessions.open(begin).await.map_err(|error| failed(&error))?;
        out.line(format!("\n{} {prompt}", out.paint(Style::Bold, "you:")));
        let shown = Shown { out, host, session: &session };
        let ended = shown.turn(prompt).await?;
        out.pace(STEP).await;
        out.line(format!("{} {}", out.paint(Style::Bold, "agent:"), ended.text));
        session.end(EndReason::Shutdown).await.map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// Shows what happens, and answers questions with no: a demo removes nothing.
struct Shown<'a> {
    out: Out,
    host: &'a Host,
    session: &'a Session,
}

impl Shown<'_> {
    async fn turn(&self, prompt: &str) -> Result<TurnEnd, Report> {
        let mut events = self.session.events(Replay::Since(0));
        let admitted = self.session.submit(prompt.into(), WhenBusy::Queue).await;
        admitted.map_err(|error| failed(&error))?;
        while let Some(item) = events.next().await {
            let StreamItem::Event(envelope) = item else { continue };
            match &envelope.event {
                SessionEvent::Agent(event) => self.tell(event).await,
                SessionEvent::QuestionAsked(question) => {
                    let reply = self.refuse(&question.kind);
                    let here = Answerer::here();
                    let answered = self.session.answer(&question.id, reply, &here).await;
                    answered.map_err(|error| failed(&error))?;
                }
                SessionEvent::TurnEnded { end, .. } => {
                    return end.clone().map_err(|error| failed(&error));
                }
                _ => {}
            }
        }
        Err(failed(&"the session ended before its turn"))
    }

    async fn tell(&self, event: &Event) {
        match event {
            Event::ToolStarted { tool, .. } => {
                self.out.pace(STEP).await;
                self.out.line(self.out.paint(Style::Faint, &format!("  ⚡ {tool} …")));
            }
            Event::ToolFinished { tool, status, duration_ms, .. } => {
                let line = format!("  {tool}: {} in {duration_ms} ms", status.as_str());
                self.out.line(self.out.paint(Style::Faint, &line));
            }
            _ => {}
        }
    }

    fn refuse(&self, kind: &QuestionKind) -> QuestionReply {
        let QuestionKind::Approval(request) = kind else { return QuestionReply::Decline };
        self.out.line(self.out.paint(Style::Warn, "  approval needed:"));
        for line in shown(request, self.host.settings(), self.out.look()).lines() {
            self.out.line(format!("    {line}"));
        }
        self.out.line("    yes / session / always / no?  (the demo answers: deny)");
        QuestionReply::Deny { comment: Some("this is a demo".to_owned()) }
    }
}

fn failed(error: &impl std::fmt::Display) -> Report {
    Report::new(error.to_string()).code("demo")
}
