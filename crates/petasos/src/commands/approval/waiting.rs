//! Questions that wait for a person, whichever program asks, and answering them from here.

use std::process::ExitCode;

use crate::ask::{Look, shown, stored};
use clap::Args;
use petasos_contract::Settings;
use petasos_session::{Answerer, Question, QuestionId, QuestionKind};
use serde_json::json;

use crate::command::Session;
use crate::out::Style;
use crate::report::Report;

// Arguments of `approval answer`.
#[derive(Debug, Args)]
pub(super) struct Answer {
    /// The question, as `petasos approval waiting` names it
    id: String,
    /// The answer: `yes`, `session`, `always`, `no [why]`; the number or text of a choice
    #[arg(required = true, num_args = 1..)]
    words: Vec<String>,
}

pub(super) fn list(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let questions = host.keep_questions()?;
    let open = host.wait(questions.open(None))?.map_err(|error| failed(&error))?;
    if out.is_json() {
        let open: Vec<_> = open.iter().map(record).collect();
        out.value(&json!({ "questions": open }));
        return Ok(ExitCode::SUCCESS);
    }
    if open.is_empty() {
        out.line("nothing waits for an answer");
    }
    for question in &open {
        let left = match question.patience.as_secs() {
            0 => "it goes on when its session does".to_owned(),
            seconds => format!("{seconds} s left"),
        };
        let about = format!("#{} of session {}, {left}", question.number, question.session);
        out.line(format!("{} {about}", out.paint(Style::Bold, question.id.as_str())));
        out.text(&text(question, host.settings(), out.look()));
        out.line(format!("  petasos approval answer {} …   {}", question.id, question.choices()));
    }
    Ok(ExitCode::SUCCESS)
}

fn text(question: &Question, settings: &Settings, look: Look) -> String {
    match &question.kind {
        QuestionKind::Approval(request) => {
            shown(request, settings, look) + "\n" + &stored(request, settings)
        }
        QuestionKind::Choice { text, choices } => {
            let numbered = choices.iter().enumerate();
            let lines = numbered.map(|(at, choice)| format!("\n  {}. {choice}", at + 1));
            lines.fold(format!("  {text}"), |whole, line| whole + &line)
        }
        QuestionKind::Password { prompt } => prompt.clone(),
    }
}

fn record(question: &Question) -> serde_json::Value {
    let (kind, about) = match &question.kind {
        QuestionKind::Approval(request) => (
            "approval",
            json!({
                "tool": request.tool,
                "subject": request.subject,
                "findings": request.findings,
                "widest": request.widest,
            }),
        ),
        QuestionKind::Choice { text, choices } => {
            ("choice", json!({ "text": text, "choices": choices }))
        }
        QuestionKind::Password { .. } => ("password", json!({})),
    };
    json!({
        "id": question.id,
        "number": question.number,
        "session": question.session,
        "address": *question.address,
        "kind": kind,
        "about": about,
        "seconds_left": question.patience.as_secs(),
    })
}

impl Answer {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let questions = host.keep_questions()?;
        let id = QuestionId::new(self.id.as_str());
        host.wait(async {
            let open = questions.open(None).await.map_err(|error| failed(&error))?;
            let found = open.iter().find(|question| question.id == id);
            let reply = match found {
                Some(question) => question.read(&self.words.join(" ")).map_err(Report::usage)?,
                // What became of it is told by whoever keeps it.
                None => petasos_session::QuestionReply::Decline,
            };
            let answered = questions.answer(&id, reply, &Answerer::here()).await;
            answered.map_err(|error| failed(&error))
        })??;
        if out.is_json() {
            out.value(&json!({ "answered": id }));
        } else {
            out.line("answered");
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn failed(error: &impl std::fmt::Display) -> Report {
    Report::new(error.to_string())
        .code("question")
        .hint("`petasos approval waiting` lists the questions that are open")
}
