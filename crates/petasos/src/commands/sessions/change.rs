//! `sessions resume`, `fork`, `rename`, `archive` and `delete`: what changes a conversation.

use std::process::ExitCode;

use clap::Args;
use petasos_runtime::budget::TempSpill;
use petasos_store::{Amend, NewSession, SessionStore as _};
use serde_json::json;

use super::{find, report};
use crate::command::Session;
use crate::report::Report;
use crate::{cli, commands, prompt};

/// Hands the conversation to `chat`, which is where people go on with one.
pub(super) fn resume(session: &mut Session, handle: &str) -> Result<ExitCode, Report> {
    let host = session.host.get()?;
    let id = find(host, &*host.store()?, handle)?.id;
    let run = format!("`petasos run --resume {id} \"…\"` goes on without a terminal");
    if !prompt::somebody_is_there(session.out) {
        return Err(Report::usage("there is no terminal to chat at").hint(run));
    }
    let words = ["petasos", "chat", "--resume", &id];
    let matches = cli::program().try_get_matches_from(words);
    let matches = matches.map_err(|error| Report::new(error.to_string()).hint(&run))?;
    let chat = commands::COMMANDS.iter().find(|command| command.name == "chat");
    match (chat, matches.subcommand()) {
        (Some(chat), Some((_, arguments))) => (chat.run)(arguments, session),
        _ => Err(Report::new("this program was built without `chat`").hint(run)),
    }
}

#[derive(Debug, Args)]
pub(super) struct Fork {
    /// Its id, the beginning of it, its title, or `latest`
    session: String,
    /// Only up to this message, as `sessions show --json` numbers them
    #[arg(long, value_name = "MESSAGE")]
    until: Option<i64>,
    /// The title of the copy
    #[arg(long)]
    title: Option<String>,
}

impl Fork {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let store = host.store()?;
        let from = find(host, &store, &self.session)?.session();
        let new = NewSession { title: self.title, ..NewSession::default() };
        let head = host.wait(store.fork(&from, self.until, new))?.map_err(report)?;
        if out.is_json() {
            out.value(&json!({ "session": head, "from": from }));
        } else {
            out.line(&head.id);
            out.remark(format!("it begins like {from}, with {} messages", head.messages));
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, Args)]
pub(super) struct Rename {
    /// Its id, the beginning of it, its title, or `latest`
    session: String,
    /// The title
    #[arg(required_unless_present = "clear")]
    title: Vec<String>,
    /// Remove the title instead
    #[arg(long, conflicts_with = "title")]
    clear: bool,
}

impl Rename {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let store = host.store()?;
        let id = find(host, &store, &self.session)?.session();
        let title = self.title.join(" ");
        let title = Some(title.trim().to_owned()).filter(|title| !title.is_empty());
        if title.is_none() && !self.clear {
            return Err(Report::usage("the title is empty").hint("`--clear` removes the title"));
        }
        host.wait(store.amend(&id, Amend::Title(title)))?.map_err(report)?;
        let head = find(host, &store, id.as_str())?;
        if out.is_json() {
            out.value(&json!({ "session": head }));
        } else {
            match &head.title {
                Some(title) => out.line(format!("Renamed {id} to `{title}`")),
                None => out.line(format!("{id} has no title")),
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, Args)]
pub(super) struct Archive {
    /// Its id, the beginning of it, its title, or `latest`
    session: String,
    /// Put it back
    #[arg(long)]
    undo: bool,
}

impl Archive {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let store = host.store()?;
        let id = find(host, &store, &self.session)?.session();
        host.wait(store.amend(&id, Amend::Archive(!self.undo)))?.map_err(report)?;
        if out.is_json() {
            out.value(&json!({ "id": id, "archived": !self.undo }));
        } else {
            let state = if self.undo { "is in the lists again" } else { "is archived" };
            out.line(format!("{id} {state}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, Args)]
pub(super) struct Delete {
    /// Ids, beginnings of them, or titles
    #[arg(required = true)]
    sessions: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Delete {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let store = host.store()?;
        // All are found before the first goes: a wrong name must not leave half of it done.
        let heads = self.sessions.iter().map(|handle| find(host, &store, handle));
        let heads = heads.collect::<Result<Vec<_>, _>>()?;
        if !self.yes {
            if !prompt::somebody_is_there(out) {
                return Err(
                    Report::usage("this needs a confirmation").hint("pass --yes to confirm")
                );
            }
            for head in &heads {
                super::list::line(out, head);
            }
            if !prompt::confirm(out, "Remove for good?")? {
                return Err(Report::new("nothing was removed").code("declined"));
            }
        }
        for head in &heads {
            let session = head.session();
            host.wait(store.delete(&session))?.map_err(report)?;
            // The conversation is gone either way; what is left is told.
            if let Err(error) = TempSpill::remove(&session, host.settings()) {
                out.remark(format!("kept results of {session} were not removed: {error}"));
            }
        }
        let freed = host.wait(store.compact())?.map_err(report)?;
        let ids: Vec<&str> = heads.iter().map(|head| head.id.as_str()).collect();
        if out.is_json() {
            out.value(&json!({ "deleted": ids, "freed_bytes": freed }));
        } else {
            out.line(format!("removed {}", ids.join(", ")));
        }
        Ok(ExitCode::SUCCESS)
    }
}
