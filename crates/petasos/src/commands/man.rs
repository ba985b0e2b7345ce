//! `petasos man`: the manual page, or a page for every command in a folder.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Args};
use clap_mangen::Man;

use crate::cli::described;
use crate::command::{Command, Session, parse};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "man",
    about: "Print the manual page",
    examples: &[
        ("petasos man | man -l -", "read the manual"),
        ("petasos man --dir ~/.local/share/man/man1", "install a page for every command"),
    ],
    hidden: false,
    arguments: <Pages as Args>::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Pages {
    /// Write a page for every command into this folder instead
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let Pages { dir } = parse(matches)?;
    let failed = |error: std::io::Error| Report::new(error.to_string()).code("man");
    if let Some(dir) = dir {
        std::fs::create_dir_all(&dir).map_err(failed)?;
        clap_mangen::generate_to(described(), &dir).map_err(failed)?;
        session.out.line(format!("pages written to {}", dir.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = Vec::new();
    Man::new(described()).render(&mut page).map_err(failed)?;
    session.out.text(&String::from_utf8_lossy(&page));
    Ok(ExitCode::SUCCESS)
}
