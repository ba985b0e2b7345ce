//! `tools call`: one tool through the full dispatch path.

use std::io::Read as _;
use std::process::ExitCode;

use clap::Args;
use petasos_contract::SessionId;
use petasos_contract::call::{Content, ToolCall};
use petasos_contract::context::{Principal, Surface};
use serde_json::json;

use crate::command::Session;
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Call {
    /// The tool
    name: String,
    /// Its arguments as one JSON object; `-` reads them from standard input
    #[arg(default_value = "{}")]
    arguments: String,
    /// The session the call belongs to
    #[arg(long, default_value = "command-line")]
    session: String,
}

impl Call {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let arguments = self.read_arguments()?;
        let people = session.people();
        let host = session.host.get()?;
        let attended = people.is_some();
        let dispatcher = host.dispatcher(people)?;
        let session = SessionId::from(self.session.as_str());
        let mut cx = host.call_context(Surface::OneShot, session).attended(attended);
        cx.principal = Principal::Person;
        let call = ToolCall::new("call-1", self.name.as_str(), arguments);
        let result = host.wait(dispatcher.dispatch(call, &cx))?;
        match result.content {
            Content::Text(text) => out.line(text),
            Content::Multimodal(parts) => out.value(&json!({
                "_multimodal": true, "content": parts.content, "text_summary": parts.text_summary,
            })),
        }
        // An error result is data: the command did what it was asked to do.
        Ok(ExitCode::SUCCESS)
    }

    fn read_arguments(&self) -> Result<String, Report> {
        if self.arguments != "-" {
            return Ok(self.arguments.clone());
        }
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        read.map_err(|error| Report::usage(format!("standard input: {error}")))?;
        Ok(text)
    }
}
