//! Which slash commands there are on all surfaces: who may run one in a chat, what it does while a
//! turn runs, and where it works. A command of sessions says so in its own file; those of one
//! surface stand here.

use crate::command::{CommandClass, MidRun, proper};
use crate::commands::COMMANDS;
use CommandClass::{Admin, Everybody, Owner, User};
use MidRun::{Busy, Now};

/// A command, as all surfaces know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandRow {
    /// Without the slash.
    pub name: &'static str,
    /// Who may run it in a chat.
    pub class: CommandClass,
    /// What it does while a turn runs.
    pub mid_run: MidRun,
    /// Where it works: `c` the chat at a terminal, `g` chat platforms, `e` editors.
    pub places: &'static str,
}

const fn row(
    name: &'static str,
    class: CommandClass,
    mid_run: MidRun,
    places: &'static str,
) -> CommandRow {
    CommandRow { name, class, mid_run, places }
}

/// The commands of single surfaces.
const OF_SURFACES: &[CommandRow] = &[
    row("answer", Everybody, Now, "g"),
    row("busy", User, Now, "cg"),
    row("copy", User, Now, "c"),
    row("curator", User, Now, "cg"),
    row("debug", Admin, Now, "cge"),
    row("diff", User, Now, "c"),
    row("footer", User, Now, "cg"),
    row("kanban", User, Now, "cg"),
    row("pair", Owner, Now, "g"),
    row("platform", Admin, Now, "g"),
    row("quit", User, Now, "c"),
    row("redraw", User, Now, "c"),
    row("reload", Admin, Now, "g"),
    row("restart", Owner, Now, "g"),
    row("sethome", Admin, Now, "g"),
    row("skin", User, Now, "c"),
    row("start", Everybody, Now, "g"),
    row("topic", User, Busy, "g"),
    row("update", Owner, Now, "g"),
    row("verbose", User, Now, "cg"),
    row("vim", User, Now, "c"),
    row("voice", User, Now, "cg"),
    row("whoami", Everybody, Now, "g"),
];

/// Every built-in command, by name.
pub fn command_table() -> Vec<CommandRow> {
    let of_sessions = COMMANDS.iter().map(|it| row(it.name, it.class, it.mid_run, it.places));
    let mut rows: Vec<CommandRow> = of_sessions.chain(OF_SURFACES.iter().copied()).collect();
    rows.sort_unstable_by_key(|row| row.name);
    rows
}

/// What is known about a command.
pub fn command_row(name: &str) -> Option<CommandRow> {
    let name = proper(name);
    command_table().into_iter().find(|row| row.name == name)
}
