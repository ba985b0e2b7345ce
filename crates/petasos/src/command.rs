//! What a command is: a name, its arguments, and a function that runs it.
//!
//! Each file under `commands/` declares one. Arguments are built only for the command that was
//! asked for, because a start is paid for by every call.

use std::process::ExitCode;
use std::sync::Arc;

use crate::ask::TerminalApprover;
use clap::{ArgMatches, FromArgMatches, Subcommand};
use petasos_contract::approval::Approver;

use crate::console::Tty;
use crate::host::Host;
use crate::out::Out;
use crate::report::Report;

/// A longer line of an example pushes only its own words aside.
const EXAMPLE_COLUMNS: usize = 52;

/// One command of the program.
#[derive(Debug)]
pub(crate) struct Command {
    /// What a person types.
    pub(crate) name: &'static str,
    /// One line for `--help`.
    pub(crate) about: &'static str,
    /// Lines to type, and what each does.
    pub(crate) examples: &'static [(&'static str, &'static str)],
    /// Whether `--help` lists it.
    pub(crate) hidden: bool,
    /// Adds its arguments.
    pub(crate) arguments: fn(clap::Command) -> clap::Command,
    /// Runs it.
    pub(crate) run: Run,
}

/// Runs a command.
type Run = fn(&ArgMatches, &mut Session) -> Result<ExitCode, Report>;

impl Command {
    /// A command that is only the name of its actions.
    pub(crate) const fn of_actions<A: Subcommand>(
        name: &'static str,
        about: &'static str,
        run: Run,
    ) -> Self {
        Self { name, about, examples: &[], hidden: false, arguments: actions::<A>, run }
    }

    /// With these examples.
    pub(crate) const fn examples(self, examples: &'static [(&'static str, &'static str)]) -> Self {
        Self { examples, ..self }
    }

    /// The examples as the page of the command shows them.
    pub(crate) fn examples_page(&self) -> String {
        let widest = self.examples.iter().map(|(line, _)| line.chars().count()).max();
        let width = widest.unwrap_or_default().min(EXAMPLE_COLUMNS);
        // What a long line does stands below it, so that the others stay in line.
        let row = |(line, does): &(&str, &str)| match line.chars().count() {
            long if long > width => format!("  {line}\n  {:width$}  {does}", ""),
            _ => format!("  {line:width$}  {does}"),
        };
        let rows: Vec<String> = self.examples.iter().map(row).collect();
        let rows = rows.iter().map(|row| row.trim_end()).collect::<Vec<_>>().join("\n");
        if rows.is_empty() { rows } else { format!("Examples:\n{rows}") }
    }
}

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Session {
    /// The printer.
    pub(crate) out: Out,
    /// Opens the host on first use: `--help` and some commands need none of it.
    pub(crate) host: LazyHost,
}

impl Session {
    /// The person at the terminal; without one nobody is there, which a refusal says. Below a
    /// supervisor the terminal belongs to whoever started the command, who may be no person.
    pub(crate) fn people(&self) -> Option<Arc<dyn Approver>> {
        if petasos_terminal::is_supervised() {
            return None;
        }
        let terminal = Tty::open(self.out.look()).ok()?;
        Some(Arc::new(TerminalApprover::new(terminal)))
    }
}

/// A host that is opened when somebody needs it.
#[derive(Debug)]
pub(crate) struct LazyHost {
    inputs: petasos_config::Inputs,
    opened: Option<Arc<Host>>,
}

impl LazyHost {
    /// Will open a host with these inputs.
    pub(crate) fn new(inputs: petasos_config::Inputs) -> Self {
        Self { inputs, opened: None }
    }

    /// The inputs, for commands that look at the configuration themselves.
    pub(crate) fn inputs(&self) -> &petasos_config::Inputs {
        &self.inputs
    }

    /// The next use reads everything again: a command has changed the files.
    pub(crate) fn forget(&mut self) {
        self.opened = None;
    }

    /// Ends a look around: a host that started nothing is memory only, which the system takes back
    /// with the program. Taking it apart was an eighth of the work of `tools list`.
    pub(crate) fn leave(&mut self) {
        if let Some(host) = self.opened.take_if(|host| host.started_nothing()) {
            std::mem::forget(host);
        }
    }

    /// The host.
    pub(crate) fn get(&mut self) -> Result<&Host, Report> {
        if self.opened.is_none() {
            let host = Host::open(&self.inputs)?;
            crate::logging::start(host.settings());
            self.opened = Some(Arc::new(host));
        }
        // Filled just above; the second arm exists for the compiler only.
        self.opened.as_deref().ok_or_else(|| Report::new("the host could not be opened"))
    }

    /// The host, for those who keep it while they work.
    pub(crate) fn shared(&mut self) -> Result<Arc<Host>, Report> {
        self.get()?;
        self.opened.clone().ok_or_else(|| Report::new("the host could not be opened"))
    }
}

/// Adds the subcommands of a command; naming none of them prints the help.
pub(crate) fn actions<A: Subcommand>(command: clap::Command) -> clap::Command {
    A::augment_subcommands(command).subcommand_required(true).arg_required_else_help(true)
}

/// The words of a command as its own type.
pub(crate) fn parse<A: FromArgMatches>(matches: &ArgMatches) -> Result<A, Report> {
    A::from_arg_matches(matches).map_err(|error| Report::usage(error.to_string()))
}
