//! Which slash commands there are on all surfaces: who may run one in a chat, what it does while a
//! turn runs, and where it works. What each does, and with which words, is said by its own file.

use CommandClass::{Admin, Everybody, Owner, User};
use MidRun::{Busy, Ends, Now};

/// Who may run a command in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandClass {
    /// Everybody who may write.
    Everybody,
    /// Those whom a list of commands lets, and administrators.
    User,
    /// Administrators.
    Admin,
    /// The owner.
    Owner,
}

/// What a command does while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MidRun {
    /// It is done at once; a choice counts from the next request or turn on.
    Now,
    /// It ends the turn.
    Ends,
    /// It says that the agent works.
    Busy,
}

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

/// Every built-in command, by name.
pub const COMMAND_TABLE: &[CommandRow] = &[
    row("answer", Everybody, Now, "g"),
    row("approve", Everybody, Now, "cg"),
    row("background", User, Now, "cg"),
    row("branch", User, Busy, "cge"),
    row("bundles", User, Now, "cg"),
    row("busy", User, Now, "cg"),
    row("compress", User, Busy, "cge"),
    row("config", Admin, Now, "ce"),
    row("copy", User, Now, "c"),
    row("cron", Admin, Now, "cg"),
    row("curator", User, Now, "cg"),
    row("debug", Admin, Now, "cge"),
    row("deny", Everybody, Now, "cg"),
    row("diff", User, Now, "c"),
    row("footer", User, Now, "cg"),
    row("go", User, Busy, "cge"),
    row("help", Everybody, Now, "cge"),
    row("history", User, Now, "ce"),
    row("insights", User, Now, "cge"),
    row("jobs", User, Now, "cge"),
    row("kanban", User, Now, "cg"),
    row("learn", User, Busy, "cg"),
    row("memory", User, Now, "cge"),
    row("moa", User, Busy, "cg"),
    row("model", User, Now, "cge"),
    row("models", User, Now, "cge"),
    row("new", User, Ends, "cge"),
    row("pair", Owner, Now, "g"),
    row("personality", User, Busy, "cge"),
    row("plan", User, Now, "cge"),
    row("platform", Admin, Now, "g"),
    row("profile", User, Now, "cge"),
    row("provider", User, Now, "cge"),
    row("providers", User, Now, "cge"),
    row("queue", User, Now, "cge"),
    row("quit", User, Now, "c"),
    row("reasoning", User, Now, "cge"),
    row("redraw", User, Now, "c"),
    row("reload", Admin, Now, "g"),
    row("reload-mcp", Admin, Busy, "cge"),
    row("reload-skills", Admin, Busy, "cge"),
    row("restart", Owner, Now, "g"),
    row("resume", User, Busy, "cge"),
    row("retry", User, Busy, "cge"),
    row("rollback", Admin, Busy, "cge"),
    row("save", User, Now, "ce"),
    row("sessions", User, Now, "cge"),
    row("sethome", Admin, Now, "g"),
    row("skills", User, Now, "cge"),
    row("skin", User, Now, "c"),
    row("sources", User, Now, "cge"),
    row("start", Everybody, Now, "g"),
    row("status", Everybody, Now, "cge"),
    row("steer", User, Now, "cge"),
    row("stop", Everybody, Ends, "cge"),
    row("taint", User, Now, "cge"),
    row("title", User, Busy, "cge"),
    row("tools", User, Now, "cge"),
    row("toolsets", User, Now, "cge"),
    row("topic", User, Busy, "g"),
    row("trust", Admin, Now, "cge"),
    row("undo", User, Busy, "cge"),
    row("update", Owner, Now, "g"),
    row("usage", User, Now, "cge"),
    row("verbose", User, Now, "cg"),
    row("version", User, Now, "cge"),
    row("vim", User, Now, "c"),
    row("voice", User, Now, "cg"),
    row("whoami", Everybody, Now, "g"),
    row("yolo", Admin, Now, "cge"),
];

/// What is known about a command.
pub fn command_row(name: &str) -> Option<&'static CommandRow> {
    let name = crate::command::proper(name);
    COMMAND_TABLE.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_sessions_has_a_row_and_rows_are_in_order() {
        let names: Vec<&str> = COMMAND_TABLE.iter().map(|row| row.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        for name in crate::built_in() {
            assert!(command_row(name).is_some(), "/{name} is not in the table");
        }
    }
}
