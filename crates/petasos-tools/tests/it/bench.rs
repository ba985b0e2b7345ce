//! A workbench: a temporary workspace, and any built-in tool to run in it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::context::Surface;
use petasos_contract::effect::Effects;
use petasos_contract::path::TargetPath;
use petasos_contract::ports::Ports;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{
    Args, CallContext, Secret, SessionId, Settings, Tool, ToolError, ToolOutput,
};
use petasos_sqlite::{OpenOptions, SqliteFiles, Store};
use petasos_store::{Boards, Databases};
use petasos_terminal::Engine;
use petasos_tools::{FileMemory, discover_builtin_tools};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::elsewhere::Elsewhere;

/// Nothing here takes long; a tool that hangs fails its test instead of the suite.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Bench {
    _folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) cx: CallContext,
    pub(crate) ports: Ports,
    pub(crate) runtime: Runtime,
    /// Closed at the end when it is not this machine's.
    engine: Option<Arc<Engine>>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            let failed = self.runtime.block_on(engine.close_places());
            assert!(failed.is_empty() || std::thread::panicking(), "{failed:?}");
        }
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(&json!({}))
    }

    /// With settings; the workspace is `work`, the user's home `home`, the agent's `home/.agent`.
    pub(crate) fn with(settings: &Value) -> Self {
        Self::made(tempfile::tempdir().unwrap(), settings, &[])
    }

    fn made(folder: TempDir, settings: &Value, variables: &[(&str, &str)]) -> Self {
        let root = folder.path().canonicalize().unwrap();
        let mut values = settings.as_object().unwrap().clone();
        values.entry("terminal").or_insert(json!({}))["auto_source_bashrc"] = json!(false);
        let usual = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
        let variables = usual.iter().chain(variables).map(|(name, value)| {
            let source = Source::Environment { variable: (*name).to_owned() };
            ((*name).to_owned(), Variable { value: Secret::new(*value), source })
        });
        let known = Parts {
            home: root.join("home/.agent"),
            user_home: root.join("home"),
            workspace: root.join("work"),
            temp: root.join("tmp"),
            values,
            variables: variables.collect(),
            ..Parts::default()
        };
        for folder in [&known.home, &known.workspace, &known.temp] {
            fs::create_dir_all(folder).unwrap();
        }
        let settings = Arc::new(Settings::new(known));
        let cx =
            CallContext::new(settings, Surface::Embedded, SessionId::new("bench")).attended(true);
        let mut ports = Ports::default();
        ports.file_memory = Some(FileMemory::new());
        let board = root.join("home/.agent/petasos.db");
        let open = move || Ok(Arc::new(Store::open(&OpenOptions::new(&board))?) as _);
        ports.boards = Some(Boards::new(open));
        ports.databases = Some(Arc::new(Databases(SqliteFiles::shared())));
        // One thread, as commands have it: a tool that blocks it hangs.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { _folder: folder, root, cx, ports, runtime, engine: None }
    }

    /// With settings and variables.
    pub(crate) fn set_up(settings: &Value, variables: &[(&str, &str)]) -> Self {
        Self::made(tempfile::tempdir().unwrap(), settings, variables)
    }

    /// With the terminal of this machine.
    pub(crate) fn local(settings: &Value) -> Self {
        Self::with(settings).at_the_terminal()
    }

    /// With the terminal of this machine and programs of the test's own, which are found first.
    pub(crate) fn equipped(programs: &[(&str, &str)]) -> Self {
        Self::equipped_with(programs, &[])
    }

    /// The same with variables.
    pub(crate) fn equipped_with(programs: &[(&str, &str)], variables: &[(&str, &str)]) -> Self {
        Self::equipped_set_up(programs, variables, &json!({}))
    }

    /// The same with settings.
    pub(crate) fn equipped_set_up(
        programs: &[(&str, &str)],
        variables: &[(&str, &str)],
        settings: &Value,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().canonicalize().unwrap().join("bin");
        fs::create_dir(&bin).unwrap();
        for (name, script) in programs {
            put(&bin.join(name), format!("#!/bin/sh\n{script}"));
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
        let path = [("PATH", path.as_str())];
        let variables: Vec<_> = variables.iter().chain(&path).copied().collect();
        Self::made(folder, settings, &variables).at_the_terminal()
    }

    fn at_the_terminal(self) -> Self {
        let mut bench = self;
        let inside = bench.runtime.enter();
        Engine::new(None).fill(&mut bench.ports);
        drop(inside);
        bench
    }

    /// With a terminal in a container that has the same folder at the same path; `None` without
    /// an engine, which is said.
    pub(crate) fn docker(test: &str) -> Option<Self> {
        let Some(host) = told("PETASOS_TEST_DOCKER_DOCKER_HOST").or_else(|| told("DOCKER_HOST"))
        else {
            petasos_testkit::skip(test, "docker", "no engine: start scripts/services/docker.sh");
            return None;
        };
        Some(Self::away(&[("DOCKER_HOST", &host)], |root| {
            json!({
                "backend": "docker",
                "docker_image": "petasos-test:latest",
                "container_persistent": false,
                "docker_volumes": [format!("{0}:{0}", root.display())],
                "cwd": root.join("work"),
            })
        }))
    }

    /// With a terminal behind a real sshd that has the same folder at the same path; `None`
    /// without one, which is said.
    pub(crate) fn ssh(test: &str) -> Option<Self> {
        let Some(config) = told("PETASOS_TEST_SSHD_SSH_CONFIG").or_else(|| told("SSH_CONFIG"))
        else {
            petasos_testkit::skip(test, "sshd", "no server: start scripts/services/sshd.sh");
            return None;
        };
        Some(Self::away(&[], |root| {
            json!({
                "backend": "ssh",
                "ssh_host": "petasos-test",
                "ssh_config": config,
                "cwd": root.join("work"),
            })
        }))
    }

    /// With a terminal in another place.
    fn away(variables: &[(&str, &str)], terminal: impl FnOnce(&Path) -> Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let settings = json!({ "terminal": terminal(&root) });
        let mut bench = Self::made(folder, &settings, variables);
        let engine = Engine::new(None);
        engine.fill(&mut bench.ports);
        bench.engine = Some(engine);
        bench
    }

    /// With a terminal that says it is another machine.
    pub(crate) fn elsewhere(settings: &Value) -> Self {
        let mut bench = Self::local(settings);
        let here = bench.ports.environments.take().unwrap();
        bench.ports.environments = Some(Arc::new(Elsewhere(here)));
        bench
    }

    /// Begins another conversation in a folder of its own.
    pub(crate) fn go_to(&mut self, name: &str) {
        let folder = self.root.join("work").join(name.replace(' ', "-"));
        fs::create_dir_all(&folder).unwrap();
        self.cx.session = SessionId::new(name);
        self.cx.workspace = Arc::from(folder.as_path());
        if let Some(environments) = &self.ports.environments {
            environments.set_cwd(&self.cx, TargetPath::new(folder));
        }
    }

    /// The same bench, seen by another conversation.
    pub(crate) fn as_session(&self, name: &str) -> CallContext {
        CallContext { session: SessionId::new(name), ..self.cx.clone() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.cx.workspace.join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        put(&path, content);
        path
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tool = discover_builtin_tools().iter().find(|def| def.name == name).unwrap();
        (tool.build)(&self.ports)
    }

    pub(crate) fn try_run(&self, tool: &str, args: &Value) -> Result<ToolOutput, ToolError> {
        self.try_run_in(&self.cx, tool, args)
    }

    pub(crate) fn try_run_in(
        &self,
        cx: &CallContext,
        tool: &str,
        args: &Value,
    ) -> Result<ToolOutput, ToolError> {
        let tool = self.tool(tool);
        let args = Args::try_from(args.clone()).unwrap();
        let result = self.runtime.block_on(async {
            tokio::time::timeout(PATIENCE, petasos_testkit::call(&*tool, args, cx)).await
        });
        result.expect("the tool hangs")
    }

    /// Runs a tool for another conversation.
    pub(crate) fn run_in(&self, cx: &CallContext, tool: &str, args: &Value) -> Value {
        let ToolOutput::Text(text) = self.try_run_in(cx, tool, args).unwrap() else { panic!() };
        serde_json::from_str(&text).unwrap()
    }

    /// Runs a tool; the result must be one JSON object.
    pub(crate) fn run(&self, tool: &str, args: &Value) -> Value {
        let text = match self.try_run(tool, args).unwrap() {
            ToolOutput::Text(text) | ToolOutput::Untrusted(text) => text,
            other => panic!("not text: {other:?}"),
        };
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(value.is_object(), "{text}");
        value
    }

    /// Runs a tool that must refuse; gives the message.
    pub(crate) fn refused(&self, tool: &str, args: &Value) -> String {
        let result = self.run(tool, args);
        result["error"].as_str().unwrap_or_else(|| panic!("no error: {result}")).to_owned()
    }

    pub(crate) fn effects(&self, tool: &str, args: &Value) -> Effects {
        let args = Args::try_from(args.clone()).unwrap();
        let tool = self.tool(tool);
        let plan = self.runtime.block_on(tool.plan(args, &self.cx));
        plan.map_or(Effects::none(), |plan| plan.effects)
    }
}

/// What a service told about itself.
#[expect(clippy::disallowed_methods, reason = "services tell their addresses by variables")]
pub(crate) fn told(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[expect(clippy::disallowed_methods, reason = "a test's own file needs no atomic writer")]
pub(crate) fn put(path: &Path, content: impl AsRef<[u8]>) {
    fs::write(path, content).unwrap();
}

/// The most memory that this process ever had, in bytes.
pub(crate) fn memory_peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Whether permissions do not bind us.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}
