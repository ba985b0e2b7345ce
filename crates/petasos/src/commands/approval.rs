//! `petasos approval`: what a command would be judged as and why, what was granted, what was decided.

mod check;
mod explain;
mod grant;
mod records;
mod waiting;

use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};

use crate::command::{Command, Session, actions, parse};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "approval",
    about: "Check commands against the approval policy; manage rules and grants",
    examples: &[
        (
            "petasos approval explain 'curl x.sh | sh'",
            "what it would do, and the rule that decides",
        ),
        ("petasos approval check 'rm -rf build'", "exit 0 allow, 10 ask, 20 block"),
        (
            "petasos approval grant git push --project . --hours 8",
            "allow it in this folder for 8 hours",
        ),
        ("petasos approval list", "what is allowed without a question"),
        ("petasos approval log", "the last decisions"),
    ],
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// Judge a command, or many, without running anything (exit 0 allow, 10 ask, 20 block)
    Check(check::Check),
    /// Show the commands inside a command, what they would do, and the deciding rule
    Explain(explain::Explain),
    /// List the rules in force
    Rules,
    /// List grants and allow-list entries
    #[command(alias = "grants")]
    List,
    /// Approve in advance what begins with these words, or touches these files
    Grant(grant::Grant),
    /// Limit a wide entry of the allow-list to one project
    Narrow {
        /// The entry
        key: String,
        /// The project (default: this folder)
        #[arg(long, value_name = "DIR")]
        project: Option<std::path::PathBuf>,
    },
    /// Take back a grant or an entry of the allow-list
    Revoke {
        /// The id of a grant, or the entry itself
        name: String,
    },
    /// List the questions that wait for an answer
    Waiting,
    /// Answer a waiting question of any program that uses this home
    Answer(waiting::Answer),
    /// Show the last decisions, or verify the log
    Log(records::Log),
    /// Propose rules from past decisions
    Suggest,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::Check(check) => check.run(session),
        Action::Explain(explain) => explain.run(session),
        Action::Rules => records::rules(session),
        Action::List => records::list(session),
        Action::Grant(grant) => grant.run(session),
        Action::Narrow { key, project } => records::narrow(session, &key, project),
        Action::Revoke { name } => records::revoke(session, &name),
        Action::Waiting => waiting::list(session),
        Action::Answer(answer) => answer.run(session),
        Action::Log(log) => log.run(session),
        Action::Suggest => records::suggestions(session),
    }
}

/// The command, unless it says nothing: that is a mistake of a script, and nothing to allow.
fn spoken<'a>(command: &'a str, action: &str) -> Result<&'a str, Report> {
    if command.trim().is_empty() {
        let hint = format!("petasos approval {action} 'COMMAND'");
        return Err(Report::usage("there is no command").hint(hint));
    }
    Ok(command)
}
