//! `petasos demo`: a guided tour in a temporary workspace, with no key and no account: the tools
//! first, then the real loop with a scripted model.

mod conversation;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::ArgMatches;
use petasos_contract::call::ToolCall;
use petasos_contract::context::Surface;
use petasos_contract::{CallContext, SessionId};
use petasos_runtime::{Dispatcher, round, toolsets};

use crate::command::{Command, Session};
use crate::host::Host;
use crate::out::{Out, Style};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "demo",
    about: "Take a guided tour, without any key",
    examples: &[
        ("petasos demo", "a guided tour; it needs no key and no account"),
        ("petasos demo | cat", "the same without pauses"),
    ],
    hidden: false,
    arguments: |command| command,
    run,
};

/// How long a part of the tour stays before the next one, and a line before what follows on it.
const PART: Duration = Duration::from_millis(2500);
pub(super) const STEP: Duration = Duration::from_millis(700);

fn run(_: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let workspace = tempfile::tempdir()?;
    furnish(workspace.path())?;
    let mut inputs = session.host.inputs().clone();
    workspace.path().clone_into(&mut inputs.cwd);
    let home = workspace.path().join(".petasos").display().to_string();
    inputs.environment.insert("PETASOS_HOME".to_owned(), home);
    let host = Arc::new(Host::open(&inputs)?);
    let (out, workspace) = (session.out, workspace.path());
    let tour = Tour { out, host: &host, inputs: &inputs, workspace };
    host.wait(tour.walk())??;
    Ok(ExitCode::SUCCESS)
}

/// A few files to read and search.
fn furnish(workspace: &Path) -> Result<(), Report> {
    let files = [
        ("README.md", "# Lamp\n\nA lamp that turns itself off.\nTODO: say after how long.\n"),
        ("lamp.py", "TIMEOUT = 300\n\n\ndef off():\n    # TODO: fade out\n    return False\n"),
        ("notes.txt", "Bought the parts on Monday.\n"),
    ];
    for (name, text) in files {
        let path = workspace.join(name);
        petasos_fs::write(&path, text.as_bytes(), petasos_fs::Mode::KeepOr(0o644))?;
    }
    Ok(())
}

struct Tour<'a> {
    out: Out,
    host: &'a Arc<Host>,
    inputs: &'a petasos_config::Inputs,
    workspace: &'a Path,
}

impl Tour<'_> {
    async fn walk(&self) -> Result<(), Report> {
        let out = self.out;
        out.line(out.paint(Style::Bold, "Petasos: the runtime an agent runs its tools on"));
        out.line(format!("Temporary workspace: {}", self.workspace.display()));
        self.show_toolset().await;
        let dispatcher = self.host.dispatcher(None)?;
        let cx = self.host.call_context(Surface::OneShot, SessionId::new("demo"));
        self.heading("A tool call, as a model would make it").await;
        self.call(&dispatcher, &cx, "read_file", r#"{"path": "lamp.py"}"#).await;
        self.heading("Numbers written as text are understood").await;
        self.call(&dispatcher, &cx, "read_file", r#"{"path": "README.md", "limit": "1"}"#).await;
        self.heading("Searching").await;
        self.call(&dispatcher, &cx, "search_files", r#"{"pattern": "TODO"}"#).await;
        self.heading("Whatever goes wrong, the model gets one well-formed answer").await;
        self.call(&dispatcher, &cx, "read_file", "not even JSON").await;
        self.call(&dispatcher, &cx, "raed_file", "{}").await;
        self.call(&dispatcher, &cx, "read_file", r#"{"path": "lamp.txt"}"#).await;
        self.batch(&dispatcher, &cx).await;
        self.heading("The agent on top: it works, asks, delegates, and remembers").await;
        conversation::show(self.host, self.inputs, out).await?;
        self.heading("Where to go from here").await;
        for line in [
            "petasos tools list --all                       every tool, and why some are hidden",
            "petasos tools explain read_file --surface telegram",
            "petasos approval explain 'rm -rf build'        how a command is judged, and why",
            "petasos provider explain                       who would answer, and with which key",
            "petasos config explain terminal.timeout        where a value comes from",
            "petasos doctor                                 what works here",
        ] {
            out.line(format!("  {line}"));
        }
        Ok(())
    }

    async fn show_toolset(&self) {
        self.heading("Toolsets are named bundles; each name keeps its reason").await;
        let tools = self.host.catalogue().registry().snapshot();
        let resolution = toolsets::resolve_toolset("file", &tools);
        let names: Vec<&str> =
            resolution.tools.iter().map(petasos_contract::ToolName::as_str).collect();
        self.out.line(format!("  file → {}", names.join(", ")));
    }

    /// Three calls in one model reply: those that only read run at the same time.
    async fn batch(&self, dispatcher: &Arc<Dispatcher>, cx: &CallContext) {
        self.heading("Three calls in one reply: reads run together, results keep their order")
            .await;
        let calls = vec![
            ToolCall::new("a", "read_file", r#"{"path": "README.md", "limit": 1}"#),
            ToolCall::new("b", "search_files", r#"{"pattern": "*.py", "target": "files"}"#),
            ToolCall::new("c", "read_file", r#"{"path": "notes.txt"}"#),
        ];
        for result in round::run(dispatcher, calls, cx).await {
            let line = format!("  [{}] {} → {}", result.id, result.name, result.content.text());
            self.out.line(line);
        }
    }

    async fn call(&self, dispatcher: &Dispatcher, cx: &CallContext, name: &str, arguments: &str) {
        let out = self.out;
        out.line(out.paint(Style::Faint, &format!("  $ petasos tools call {name} '{arguments}'")));
        out.pace(STEP).await;
        let result = dispatcher.dispatch(ToolCall::new("demo", name, arguments), cx).await;
        out.line(format!("  {}", result.content.text()));
    }

    /// Whoever watches has time to read what was before.
    async fn heading(&self, text: &str) {
        self.out.pace(PART).await;
        self.out.line("");
        self.out.line(self.out.paint(Style::Bold, text));
        self.out.pace(STEP).await;
    }
}
