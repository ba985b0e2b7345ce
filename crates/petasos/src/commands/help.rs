//! `petasos help [COMMAND]…`: what `--help` prints.

use std::process::ExitCode;

use clap::{ArgMatches, Args};

use crate::cli::program;
use crate::command::{Command, Session, parse};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "help",
    about: "Show the help of a command",
    examples: &[("petasos help", "all commands"), ("petasos help sessions export", "one of them")],
    hidden: false,
    arguments: <Help as Args>::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Help {
    /// The command, and its action
    command: Vec<String>,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let Help { command } = parse(matches)?;
    let mut program = program();
    program.build();
    let mut found = &mut program;
    for name in &command {
        found = found.find_subcommand_mut(name).ok_or_else(|| {
            let hint = "`petasos help` lists the commands";
            Report::usage(format!("`{}` is not a command", command.join(" "))).hint(hint)
        })?;
    }
    session.out.text(&found.render_long_help().to_string());
    Ok(ExitCode::SUCCESS)
}
