//! `petasos completions SHELL`: a script that lets a shell complete our commands and options.

use std::process::ExitCode;

use clap::{ArgMatches, Args};
use clap_complete::{Shell, generate};

use crate::cli::described;
use crate::command::{Command, Session, parse};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "completions",
    about: "Print a completion script for a shell",
    examples: &[
        ("petasos completions bash > ~/.local/share/bash-completion/completions/petasos", ""),
        ("petasos completions zsh > \"${fpath[1]}/_petasos\"", ""),
        ("petasos completions fish > ~/.config/fish/completions/petasos.fish", ""),
    ],
    hidden: false,
    arguments: <Completions as Args>::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let Completions { shell } = parse(matches)?;
    let mut script = Vec::new();
    generate(shell, &mut described(), "petasos", &mut script);
    session.out.text(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}
