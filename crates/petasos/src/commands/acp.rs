//! `petasos acp`: sessions in an editor, over standard input and output.
//!
//! Standard output carries the protocol and nothing else: whatever else would be printed goes to
//! standard error.

use std::fs::File;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Args};
use petasos_acp::{ServerParts, Transport, serve};
use petasos_config::Inputs;
use petasos_contract::hook::Hook;

use crate::command::{Command, Session, parse};
use crate::editor::EditorProgram;
use crate::host::Host;
use crate::out::{Out, Style};
use crate::report::Report;
use crate::services::Program;
use crate::signals;

pub(super) static COMMAND: Command = Command {
    name: "acp",
    about: "Serve an editor (Agent Client Protocol) over standard input and output",
    examples: &[
        ("petasos acp --setup zed", "the settings for an editor"),
        ("petasos acp --check", "test the server"),
    ],
    hidden: false,
    arguments: <Acp as Args>::augment_args,
    run,
};

// Arguments of `acp`.
#[derive(Debug, Args)]
struct Acp {
    /// Test the server against itself instead of serving
    #[arg(long)]
    check: bool,
    /// Print the settings for an editor: zed, jetbrains, neovim, emacs or vscode
    #[arg(long, value_name = "EDITOR", num_args = 0..=1, default_missing_value = "all", conflicts_with = "check")]
    setup: Option<String>,
    /// Run setup first; editors use this to sign in at a terminal
    #[arg(long, conflicts_with_all = ["check", "setup"])]
    sign_in: bool,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let acp: Acp = parse(matches)?;
    let out = session.out;
    if let Some(editor) = &acp.setup {
        return setup(editor, out);
    }
    if acp.sign_in {
        let setup = &super::setup::COMMAND;
        let command = (setup.arguments)(clap::Command::default().name(setup.name));
        return (setup.run)(&command.get_matches_from([setup.name]), session);
    }
    let inputs = session.host.inputs().clone();
    let host = Arc::new(Host::open(&inputs)?);
    crate::logging::start(host.settings());
    if acp.check {
        return check(&host, inputs, out);
    }
    let stdout = own_stdout()?;
    host.wait(async {
        let (stop, _watch) = signals::stop()?;
        let _warming = host.warm_terminal();
        let _pruning = crate::prune::start(&host);
        let parts = parts(&host, inputs, out).await?;
        let transport = Transport::blocking(io::stdin(), stdout)?;
        serve(parts, transport, stop).await;
        Ok::<(), Report>(())
    })??;
    Ok(ExitCode::SUCCESS)
}

async fn parts(host: &Arc<Host>, inputs: Inputs, out: Out) -> Result<ServerParts, Report> {
    let guests = crate::guests::open(host, Some(host.people()), out).await?;
    guests.watch(&inputs);
    let program = Program::new(Arc::clone(host), inputs.clone(), guests);
    let program = Arc::new(EditorProgram::new(Arc::clone(host), program, inputs, host.store()?));
    let (services, extras) = (Arc::clone(&program) as _, crate::extensions::slashes(host));
    let sessions = host.sessions_with(host.model(), Some(host.people()), services, extras)?;
    let rules = Arc::clone(host.editors());
    host.hooks().register(&(Arc::clone(&rules) as Arc<dyn Hook>));
    Ok(ServerParts { sessions, host: program, rules, version: env!("CARGO_PKG_VERSION") })
}

/// Takes standard output for the protocol; from now on everything else that is printed there, by
/// whatever part of the program, goes to standard error.
fn own_stdout() -> io::Result<File> {
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(own))
}

fn check(host: &Arc<Host>, inputs: Inputs, out: Out) -> Result<ExitCode, Report> {
    let cwd = host.settings().workspace().to_path_buf();
    let steps = host.wait(async {
        let parts = parts(host, inputs, out).await?;
        Ok::<_, Report>(petasos_acp::check(parts, &cwd).await)
    })??;
    let good = steps.iter().all(|step| step.problem.is_none());
    if out.is_json() {
        out.value(&serde_json::json!({ "ok": good, "steps": steps }));
    } else {
        for step in &steps {
            let (mark, beside) = match &step.problem {
                None => (out.paint(Style::Good, "✓"), step.detail.clone()),
                Some(problem) => (out.paint(Style::Bad, "✗"), problem.clone()),
            };
            out.line(format!("{mark} {}  {beside}", step.name));
        }
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn setup(editor: &str, out: Out) -> Result<ExitCode, Report> {
    let snippets: Vec<_> = petasos_acp::SNIPPETS
        .iter()
        .filter(|snippet| editor == "all" || snippet.editor == editor)
        .collect();
    if snippets.is_empty() {
        let known: Vec<&str> = petasos_acp::SNIPPETS.iter().map(|it| it.editor).collect();
        return Err(Report::usage(format!("no editor is named `{editor}`"))
            .hint(format!("there are {}", known.join(", "))));
    }
    for snippet in snippets {
        out.line(format!(
            "{} ({})\n\n{}",
            out.paint(Style::Bold, snippet.name),
            snippet.place,
            snippet.text
        ));
    }
    Ok(ExitCode::SUCCESS)
}
