//! `approval check`: verdicts for one command, or for a stream of them.

use std::io::{BufRead as _, Read as _};
use std::process::ExitCode;

use clap::Args;
use petasos_approval::policy::explain::{Checked, Checker};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::command::Session;
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Check {
    /// The command (default: read from standard input)
    command: Option<String>,
    /// Read one `{"id": …, "command": …}` a line and write one verdict a line
    #[arg(long, conflicts_with = "command")]
    jsonl: bool,
}

/// A line of the stream.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default)]
    id: Value,
    command: String,
}

impl Check {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let checker = session.host.get()?.checker()?;
        if self.jsonl {
            return stream(&checker, session);
        }
        let command = self.command.clone().map_or_else(from_stdin, Ok)?;
        let command = super::spoken(&command, "check")?.trim_end_matches('\n');
        let answer = checker.check(command);
        if out.is_json() {
            out.value(&verdict(&Value::Null, &answer));
        } else if answer.rules.is_empty() {
            out.line(answer.verdict);
        } else {
            out.line(format!("{}: {}", answer.verdict, answer.rules.join(", ")));
        }
        Ok(exit_code(answer.verdict))
    }
}

/// 0 allow, 10 ask, 20 block: scripts need not read the text.
fn exit_code(verdict: &str) -> ExitCode {
    match verdict {
        "allow" => ExitCode::SUCCESS,
        "ask" => ExitCode::from(10),
        _ => ExitCode::from(20),
    }
}

/// The whole of standard input as one command.
fn from_stdin() -> Result<String, Report> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| Report::usage(format!("standard input: {error}")))?;
    Ok(text)
}

/// A line that cannot be read gets an error line of its own; the others are still judged.
fn stream(checker: &Checker, session: &Session) -> Result<ExitCode, Report> {
    let mut code = ExitCode::SUCCESS;
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        if session.out.is_unread() {
            break;
        }
        let line = line.map_err(|error| Report::usage(format!("standard input: {error}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = match serde_json::from_str::<Line>(&line) {
            Ok(line) => verdict(&line.id, &checker.check(&line.command)),
            Err(error) => {
                code = ExitCode::FAILURE;
                let message = format!("line {} is not a request: {error}", number + 1);
                json!({ "id": null, "error": message })
            }
        };
        session.out.line(answer.to_string());
    }
    Ok(code)
}

fn verdict(id: &Value, checked: &Checked) -> Value {
    json!({ "id": id, "verdict": checked.verdict, "rules": checked.rules })
}
