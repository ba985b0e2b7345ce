//! The second half of the demo: the real loop, tools, approval and store, with a scripted model.

use std::sync::Arc;

use petasos_agent::demo::{FIRST, SECOND, script};
use petasos_agent::{Agent, Choice};
use petasos_approval::ask::shown;
use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Who};
use petasos_contract::context::Surface;
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_contract::{BoxFuture, CallContext};
use petasos_runtime::toolsets::Selection;

use crate::host::Host;
use crate::out::{Out, Style};
use crate::report::Report;

/// Two conversations: one that works, and one that remembers it.
pub(super) async fn show(host: &Host, out: Out) -> Result<(), Report> {
    out.line(out.paint(Style::Faint, "(the model is scripted; everything else is real)"));
    let engine = host.agent(Arc::new(script()), Some(Arc::new(Shown { out })))?;
    for prompt in [FIRST, SECOND] {
        let mut choice = Choice::new(Surface::Cli, Arc::clone(host.settings()));
        let toolsets = ["file", "terminal", "delegation", "session_search"];
        let enabled = Some(toolsets.map(str::to_owned).to_vec());
        choice.selection = Selection { enabled, ..Selection::default() };
        let mut agent =
            Agent::begin(Arc::clone(&engine), choice).await.map_err(|error| failed(&error))?;
        let mut cx = host.call_context(Surface::Cli, agent.session().clone());
        cx.events = EventSink::to(Arc::new(Shown { out }));
        out.line(format!("\n{} {prompt}", out.paint(Style::Bold, "you:")));
        let ended = agent.turn(prompt.into(), &cx).await.map_err(|error| failed(&error))?;
        out.line(format!("{} {}", out.paint(Style::Bold, "agent:"), ended.text));
    }
    Ok(())
}

/// Shows what happens, and answers questions with no: a demo removes nothing.
#[derive(Debug)]
struct Shown {
    out: Out,
}

impl Subscriber for Shown {
    fn take(&self, event: Event) {
        match event {
            Event::ToolStarted { tool, .. } => {
                self.out.line(self.out.paint(Style::Faint, &format!("  ⚡ {tool} …")));
            }
            Event::ToolFinished { tool, status, duration_ms, .. } => {
                let line = format!("  {tool}: {} in {duration_ms} ms", status.as_str());
                self.out.line(self.out.paint(Style::Faint, &line));
            }
            _ => {}
        }
    }
}

impl Approver for Shown {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        self.out.line(self.out.paint(Style::Warn, "  approval needed:"));
        for line in shown(request, &cx.settings, self.out.look()).lines() {
            self.out.line(format!("    {line}"));
        }
        self.out.line("    yes / session / always / no?  (the demo answers: deny)");
        let comment = Some("this is a demo".to_owned());
        Box::pin(std::future::ready(Answer::Denied { by: Who::Person(None), comment }))
    }
}

fn failed(error: &impl std::fmt::Display) -> Report {
    Report::new(error.to_string()).code("demo")
}
