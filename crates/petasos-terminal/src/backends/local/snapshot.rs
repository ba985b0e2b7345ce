//! What the login files set up, learned once from a real login shell and replayed for each
//! command: variables through the environment, the rest as a short text that only holds what
//! differs from a plain shell.

use std::time::{Duration, Instant};

use petasos_contract::CallContext;
use petasos_contract::environment::{EnvError, Exports, Launch, Program, Sandbox, Step};
use petasos_contract::path::TargetPath;
use petasos_contract::wait;

use super::{Local, script};
use crate::settings::TerminalSettings;
use crate::{childenv, exports};

/// How long login files may take; commands then run without them, and the log says so.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the login files set up.
#[derive(Debug, Default, Clone)]
pub(super) struct Snapshot {
    pub(super) exports: Exports,
    /// Functions, aliases and options, as shell text.
    pub(super) prelude: String,
}

/// Learns it. A shell that fails gives an empty snapshot: plain shells work without one.
pub(super) async fn take(local: &Local, terminal: &TerminalSettings, cx: &CallContext) -> Snapshot {
    let files = if !terminal.shell_init_files.is_empty() {
        terminal.shell_init_files.clone()
    } else if terminal.auto_source_bashrc {
        vec![format!("{}/.bashrc", Local::home(cx))]
    } else {
        Vec::new()
    };
    let (login, plain) = (script::survey(&files), script::survey(&[]));
    let login = run(local, &["-l", "-c"], &login, cx);
    let plain = run(local, &["-c"], &plain, cx);
    let (login, plain) = tokio::join!(login, plain);
    match (login, plain) {
        (Ok(login), Ok(plain)) => differing(&login, &plain, terminal),
        (Err(error), _) | (_, Err(error)) => {
            tracing::warn!(%error, "login files could not be read; commands run without them");
            Snapshot::default()
        }
    }
}

async fn run(
    local: &Local,
    flags: &[&str],
    text: &str,
    cx: &CallContext,
) -> Result<Vec<u8>, EnvError> {
    let argv = std::iter::once("bash").chain(flags.iter().copied()).chain([text]);
    let program = Program::Argv(argv.map(str::to_owned).collect());
    let launch =
        Launch { sandbox: Sandbox::default(), ..Launch::of(program, TargetPath::new("/")) };
    let mut process = local.start(launch, cx, true).await?;
    let ended = async {
        let mut ignored = Vec::new();
        loop {
            if let Step::Exited(_) = process.step(&mut ignored).await? {
                return Ok(process.left().to_vec());
            }
            ignored.clear();
        }
    };
    let lost = |why: String| EnvError::Lost { target: "local".to_owned(), why };
    wait::until(Instant::now() + PATIENCE, "the login files", ended)
        .await
        .map_err(|error| lost(error.to_string()))?
}

fn differing(login: &[u8], plain: &[u8], terminal: &TerminalSettings) -> Snapshot {
    let part = |bytes: &[u8], at: usize| {
        let part = bytes.split(|byte| *byte == 0).nth(at).unwrap_or_default();
        String::from_utf8_lossy(part).into_owned()
    };
    let mut exports = exports::exported(&part(login, 0));
    let before = exports::exported(&part(plain, 0));
    exports.retain(|name, value| before.get(name) != Some(value) && may_keep(name, terminal));
    let functions = public_functions(&part(login, 1));
    let mut prelude = functions;
    let aliases = part(login, 2);
    if !aliases.trim().is_empty() {
        prelude.push_str("shopt -s expand_aliases\n");
        prelude.push_str(&aliases);
    }
    let known = part(plain, 3);
    let known: Vec<&str> = known.lines().collect();
    for line in part(login, 3).lines().filter(|line| !known.contains(line)) {
        // Being a login shell is not a setting to replay.
        if !line.ends_with("login_shell") {
            prelude.push_str(line);
            prelude.push('\n');
        }
    }
    Snapshot { exports, prelude }
}

/// A login file may export a secret; a child gets it only when it was granted.
fn may_keep(name: &str, terminal: &TerminalSettings) -> bool {
    let ours = matches!(name, "_" | "SHLVL" | "PWD" | "OLDPWD" | "TERM");
    let granted = terminal.env_passthrough.iter().any(|granted| granted == name);
    let secret = petasos_redact::is_secret_name(name) && !granted;
    !ours && !secret && !childenv::is_provider_secret(name)
}

/// Whole definitions whose name does not begin with a single underscore.
fn public_functions(text: &str) -> String {
    let mut kept = String::new();
    let mut keeping = true;
    for line in text.lines() {
        if let Some(name) = line.strip_suffix(" () ") {
            keeping = !name.starts_with('_') || name.starts_with("__");
        }
        if keeping {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}
