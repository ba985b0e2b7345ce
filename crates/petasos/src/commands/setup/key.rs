//! Nothing was found: offers to keep a key that the person pastes, without showing it.

use std::io::{self, BufRead as _};

use petasos_config::{dotenv, home};
use petasos_providers::table::{Provider, Table};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::command::Session;
use crate::prompt;
use crate::report::Report;

/// Asks for a provider and its key, and keeps the key in `.env`.
pub(super) fn offer(session: &mut Session) -> Result<(), Report> {
    let out = session.out;
    let file = home::places(session.host.inputs())?.dotenv;
    let host = session.host.get()?;
    let table = Table::of(host.settings()).0;
    let mut known: Vec<&Provider> =
        table.providers().iter().filter(|row| !row.key_env.is_empty()).collect();
    known.sort_by_key(|row| (row.rank.unwrap_or(u8::MAX), row.id.clone()));
    out.remark("No key and no local model server was found. Whose key do you have?");
    for row in known.iter().take(12) {
        out.remark(format!("  {:16} {}", row.id, row.name));
    }
    let name = prompt::line(out, "Provider (Enter to cancel):")?;
    if name.is_empty() {
        return Ok(());
    }
    let Some(row) = table.find(&name) else {
        return Err(Report::usage(format!("no provider is named `{name}`"))
            .hint("`petasos provider list` shows them all"));
    };
    let Some(variable) = row.key_env.first() else {
        return Err(Report::usage(format!("{name} has no key"))
            .hint(format!("`petasos auth login {name}` logs in")));
    };
    out.remark(format!("{variable} (it is not shown):"));
    let key = unseen()?;
    if !key.is_empty() {
        dotenv::set(&file, variable, &key)?;
        out.remark(format!("{variable} is kept in {}", file.display()));
    }
    Ok(())
}

/// One typed line that the terminal does not show.
fn unseen() -> io::Result<String> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Flush, &silent)?;
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    // The terminal is put back whatever came of it.
    tcsetattr(&stdin, OptionalActions::Now, &before)?;
    read.map(|_| line.trim().to_owned())
}
