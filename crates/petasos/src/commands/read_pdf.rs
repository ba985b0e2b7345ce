//! `petasos read-pdf`: the text of a PDF, for the program itself, which starts it with a file that
//! may be hostile on its input.

use std::io;
use std::process::ExitCode;

use clap::ArgMatches;

use crate::apart::READ_PDF;
use crate::command::{Command, Session};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: READ_PDF,
    about: "Print what a PDF on standard input holds, as the program tells it to itself",
    examples: &[],
    hidden: true,
    arguments: |command| command,
    run,
};

fn run(_: &ArgMatches, _: &mut Session) -> Result<ExitCode, Report> {
    let served = petasos_web::serve_pdf(io::stdin().lock(), io::stdout().lock());
    served.map_err(|error| Report::new(format!("the PDF cannot be read: {error}")))?;
    Ok(ExitCode::SUCCESS)
}
