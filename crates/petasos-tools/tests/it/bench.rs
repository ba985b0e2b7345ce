//! A workbench: a temporary workspace, and any built-in tool to run in it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::context::Surface;
use petasos_contract::effect::Effects;
use petasos_contract::ports::Ports;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{
    Args, CallContext, Secret, SessionId, Settings, Tool, ToolError, ToolOutput,
};
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
        let cx = CallContext::new(settings, Surface::Embedded, SessionId::new("bench"));
        let mut ports = Ports::default();
        ports.file_memory = Some(FileMemory::new());
        // One thread, as commands have it: a tool that blocks it hangs.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { _folder: folder, root, cx, ports, runtime, engine: None }
    }

    /// With the terminal of this machine.
    pub(crate) fn local(settings: &Value) -> Self {
        let mut bench = Self::with(settings);
        let inside = bench.runtime.enter();
        Engine::new(None).fill(&mut bench.ports);
        drop(inside);
        bench
    }

    /// With a terminal in a container that has the same folder at the same path; `None` without
    /// an engine, which is said.
    #[expect(clippy::disallowed_methods, reason = "the service tells its address by a variable")]
    pub(crate) fn docker(test: &str, settings: &Value) -> Option<Self> {
        let told = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let host = told("PETASOS_TEST_DOCKER_DOCKER_HOST").or_else(|| told("DOCKER_HOST"));
        let Some(host) = host else {
            petasos_testkit::skip(test, "docker", "no engine: start scripts/services/docker.sh");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let mut settings = settings.clone();
        let terminal = &mut settings["terminal"];
        terminal["backend"] = json!("docker");
        terminal["docker_image"] = json!("petasos-test:latest");
        terminal["container_persistent"] = json!(false);
        terminal["docker_volumes"] = json!([format!("{0}:{0}", root.display())]);
        terminal["cwd"] = json!(root.join("work"));
        let mut bench = Self::made(folder, &settings, &[("DOCKER_HOST", &host)]);
        let engine = Engine::new(None);
        engine.fill(&mut bench.ports);
        bench.engine = Some(engine);
        Some(bench)
    }

    /// With a terminal that says it is another machine.
    pub(crate) fn elsewhere(settings: &Value) -> Self {
        let mut bench = Self::local(settings);
        let here = bench.ports.environments.take().unwrap();
        bench.ports.environments = Some(Arc::new(Elsewhere(here)));
        bench
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
        let result = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, tool.run(args, cx)).await });
        result.expect("the tool hangs")
    }

    /// Runs a tool for another conversation.
    pub(crate) fn run_in(&self, cx: &CallContext, tool: &str, args: &Value) -> Value {
        let ToolOutput::Text(text) = self.try_run_in(cx, tool, args).unwrap() else { panic!() };
        serde_json::from_str(&text).unwrap()
    }

    /// Runs a tool; the result must be one JSON object.
    pub(crate) fn run(&self, tool: &str, args: &Value) -> Value {
        let ToolOutput::Text(text) = self.try_run(tool, args).unwrap() else { panic!("not text") };
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
        self.tool(tool).effects(&Args::try_from(args.clone()).unwrap(), &self.cx)
    }
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
