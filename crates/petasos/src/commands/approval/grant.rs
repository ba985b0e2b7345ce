//! `approval grant`: an approval in advance, as narrow as its words.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use petasos_approval::grants::NewGrant;
use petasos_approval::{Facts, analyse};
use petasos_plugins::shell;

use crate::command::Session;
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Grant {
    /// Commands that begin with these words; options need quotes: 'git push --force'
    #[arg(value_name = "WORDS", num_args = 0..)]
    command: Vec<String>,
    /// Exactly these words and no others
    #[arg(long)]
    exact: bool,
    /// Files that match this pattern
    #[arg(long, value_name = "PATTERN")]
    path: Option<String>,
    /// Only what this rule asks about, such as `recursive delete`
    #[arg(long)]
    key: Option<String>,
    /// Only this tool
    #[arg(long)]
    tool: Option<String>,
    /// Only in this directory and below
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Let the grant expire after this many hours
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    hours: Option<u32>,
}

impl Grant {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let settings = host.settings();
        let here = settings.workspace();
        let command = words(self.command, settings.user_home())?;
        // A folder is meant as it is seen from here, and found again from anywhere.
        let project = self.project.map(|project| here.join(project));
        let project = project.map(|it| std::fs::canonicalize(&it).unwrap_or(it));
        let until = |hours: u32| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (now + Duration::from_hours(u64::from(hours))).as_secs()
        };
        let wanted = NewGrant {
            key: self.key,
            tool: self.tool,
            command,
            exact: self.exact,
            leaf: None,
            path: self.path,
            project,
            expires: self.hours.map(until),
        };
        let store = host.grants();
        let made = host.wait(store.grant(wanted, None))?.map_err(super::records::report)?;
        if out.is_json() {
            out.value(&made);
        } else {
            out.line(format!("granted: {}", super::records::shown(&made)));
            out.line(format!("`petasos approval revoke {}` takes it back", made.id));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The words of the command. One text with blanks is taken apart as the shell would; what the shell
/// would make something else of than plain words would never match, or grant more than it says.
fn words(given: Vec<String>, home: &Path) -> Result<Vec<String>, Report> {
    let [text] = given.as_slice() else { return Ok(given) };
    let text = super::spoken(text, "grant")?;
    if !text.contains(char::is_whitespace) {
        return Ok(given);
    }
    let read = analyse(text, &Facts::for_home(home.display().to_string())).leaves;
    let mut outer = read.iter().filter(|leaf| leaf.via.is_empty());
    match (shell::words(text, home), outer.next(), outer.next()) {
        (Ok(words), Some(leaf), None) if words == leaf.argv => Ok(words),
        _ => Err(Report::usage(format!("`{text}` is not one plain command"))
            .hint("a grant is for the words of one command: petasos approval grant 'git push'")),
    }
}
