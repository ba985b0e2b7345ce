//! What every test needs: an engine, a home, a workspace, a call; and at the end, nothing left.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use petasos_contract::clock::SystemClock;
use petasos_contract::context::Surface;
use petasos_contract::path::TargetPath;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::terminal::{Command, Ended, Lender, Lent, OnTimeout, Ran, Terminal};
use petasos_contract::{CallContext, Secret, SessionId, Settings};
use petasos_terminal::Engine;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A secret that no child, output, log or file may ever show.
pub(crate) const CANARY: &str = "canary-5f3c9a7e-do-not-show";

pub(crate) struct Stage {
    pub(crate) engine: Arc<Engine>,
    pub(crate) home: TempDir,
    pub(crate) workspace: TempDir,
    pub(crate) values: Value,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(&json!({}))
    }

    pub(crate) fn with(terminal: &Value) -> Self {
        let mut values = json!({ "terminal": terminal, "model": { "api_key": CANARY } });
        if values["terminal"].get("auto_source_bashrc").is_none() {
            values["terminal"]["auto_source_bashrc"] = json!(false);
        }
        Self {
            engine: engine(),
            home: TempDir::new().unwrap(),
            workspace: TempDir::new().unwrap(),
            values,
        }
    }

    /// Gives the program a variable besides the usual ones.
    pub(crate) fn variable(&mut self, name: &str, value: &str) {
        self.values["variables"][name] = json!(value);
    }

    pub(crate) fn settings(&self) -> Settings {
        let variable = |name: &str, value: &str, source: Source| {
            (name.to_owned(), Variable { value: Secret::new(value), source })
        };
        let environment = |name: &str| Source::Environment { variable: name.to_owned() };
        let dotenv = Source::DotEnv { file: ".env".into(), variable: "SERVICE_TOKEN".into() };
        let variables = [
            variable("OPENAI_API_KEY", CANARY, environment("OPENAI_API_KEY")),
            variable("SERVICE_TOKEN", CANARY, dotenv),
            variable("LANG", "C.UTF-8", environment("LANG")),
            variable("PATH", "/usr/local/bin:/usr/bin:/bin", environment("PATH")),
        ];
        let extra = self.values["variables"].as_object().into_iter().flatten();
        let extra =
            extra.map(|(name, value)| variable(name, value.as_str().unwrap(), environment(name)));
        let variables = variables.into_iter().chain(extra).collect();
        Settings::new(Parts {
            home: self.home.path().join("petasos"),
            user_home: self.home.path().to_owned(),
            workspace: self.workspace.path().to_owned(),
            temp: self.home.path().join("tmp"),
            values: self.values.as_object().cloned().unwrap(),
            variables,
            ..Parts::default()
        })
    }

    pub(crate) fn cx(&self) -> CallContext {
        self.session("one")
    }

    pub(crate) fn session(&self, name: &str) -> CallContext {
        std::fs::create_dir_all(self.home.path().join("tmp")).unwrap();
        CallContext::new(Arc::new(self.settings()), Surface::Cli, SessionId::new(name))
    }

    pub(crate) fn path(&self) -> &Path {
        self.workspace.path()
    }

    /// Runs a command in the first session.
    pub(crate) async fn run(&self, script: &str) -> Ran {
        self.run_in(&self.cx(), command(script)).await
    }

    pub(crate) async fn run_in(&self, cx: &CallContext, command: Command) -> Ran {
        self.engine.run(command, cx).await.unwrap()
    }

    /// The output of a command that must succeed.
    pub(crate) async fn output(&self, script: &str) -> String {
        let ran = self.run(script).await;
        assert_eq!(ran.ended, Ended::Exited(0), "{script}: {}", ran.output);
        ran.output
    }
}

/// A skill that lends until it is no longer in use.
pub(crate) struct Lending(Mutex<Lent>);

impl Lending {
    pub(crate) fn of(variables: &[&str], files: &[&str]) -> Arc<Self> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Arc::new(Self(Mutex::new(Lent { variables: owned(variables), files: owned(files) })))
    }

    pub(crate) fn end(&self) {
        *self.0.lock().unwrap() = Lent::default();
    }
}

impl Lender for Lending {
    fn lent(&self) -> Lent {
        self.0.lock().unwrap().clone()
    }
}

/// An engine that knows every backend, as the program's own does.
pub(crate) fn engine() -> Arc<Engine> {
    Engine::with_backends(None, Arc::new(SystemClock), petasos_hosted::backends::BACKENDS)
}

pub(crate) fn command(script: &str) -> Command {
    Command {
        script: script.to_owned(),
        workdir: None,
        at: None,
        directory: None,
        timeout: Some(Duration::from_secs(30)),
        pty: false,
        on_timeout: OnTimeout::Kill,
        unconfined: false,
        stdin: None,
    }
}

pub(crate) fn within(seconds: f64, script: &str) -> Command {
    Command { timeout: Some(Duration::from_secs_f64(seconds)), ..command(script) }
}

pub(crate) fn at(workdir: &str, script: &str) -> Command {
    Command { workdir: Some(TargetPath::new(workdir)), ..command(script) }
}

/// Whether a process of this number lives.
pub(crate) fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}

/// The number that a test's command wrote into a file of the workspace.
pub(crate) fn pid_in(path: &Path) -> u32 {
    std::fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

/// Waits for something that another process does; the limit only ends a broken test.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(std::time::Instant::now() < until, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
