//! `petasos sessions`: the conversations of this home.

mod change;
mod export;
mod list;
pub(super) mod mend;
mod prune;
mod search;
mod show;

use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_redact::Redactor;
use petasos_sqlite::Store;
use petasos_store::{SessionHead, SessionScope, SessionStore as _, StoreError};

use crate::command::{Command, Session, actions, parse};
use crate::host::Host;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "sessions",
    about: "List, search, export and check conversations",
    examples: &[
        ("petasos sessions list", "the newest conversations"),
        ("petasos sessions search lamp colour", "find them by words"),
        ("petasos sessions export latest --format markdown -o talk.md", "write one to a file"),
        ("petasos sessions prune --older-than 90 --dry-run", "what would be removed"),
    ],
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// List conversations, newest first
    List(list::List),
    /// Find conversations by words
    Search(search::Search),
    /// Print a conversation as Markdown, or as one object with --json
    Show(show::Show),
    /// Write a conversation, or all of them, as JSON lines or Markdown
    Export(export::Export),
    /// Continue a conversation in the chat
    Resume {
        /// Its id, the beginning of it, its title, or `latest`
        #[arg(default_value = "latest")]
        session: String,
    },
    /// Copy a conversation up to a message
    Fork(change::Fork),
    /// Give a conversation a title
    Rename(change::Rename),
    /// Hide a conversation from the usual lists, or show it again
    Archive(change::Archive),
    /// Remove conversations for good
    Delete(change::Delete),
    /// Remove conversations that nobody has used for long
    Prune(prune::Prune),
    /// Check the database, or one conversation
    Verify(mend::Verify),
    /// Repair the database; a damaged file is kept beside the new one
    Repair,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::List(list) => list.run(session),
        Action::Search(search) => search.run(session),
        Action::Show(show) => show.run(session),
        Action::Export(export) => export.run(session),
        Action::Resume { session: handle } => change::resume(session, &handle),
        Action::Fork(fork) => fork.run(session),
        Action::Rename(rename) => rename.run(session),
        Action::Archive(archive) => archive.run(session),
        Action::Delete(delete) => delete.run(session),
        Action::Prune(prune) => prune.run(session),
        Action::Verify(verify) => verify.run(session),
        Action::Repair => mend::repair(session),
    }
}

/// The conversation that a person means.
fn find(host: &Host, store: &Store, handle: &str) -> Result<SessionHead, Report> {
    host.wait(store.find(handle, &SessionScope::Everyone))?.map_err(report)
}

/// What of a text may leave the house.
fn mask(host: &Host, unmasked: bool) -> impl Fn(&str) -> String + Send + Clone + use<> {
    let redactor = (!unmasked).then(|| Redactor::of(host.settings()));
    move |text: &str| match &redactor {
        Some(redactor) => redactor.text(text).into_owned(),
        None => text.to_owned(),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
fn report(error: StoreError) -> Report {
    let code = match &error {
        StoreError::NotFound { .. } => "not_found",
        StoreError::Ambiguous { .. } => "ambiguous",
        StoreError::TitleTaken { .. } => "title_taken",
        StoreError::Damaged { .. } => "damaged",
        StoreError::Leased { .. } => "busy",
        _ => "store",
    };
    Report::new(error.to_string()).code(code)
}
