//! A workbench: a temporary workspace, and any built-in tool to run in it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::context::Surface;
use petasos_contract::effect::Effects;
use petasos_contract::ports::Ports;
use petasos_contract::settings::Parts;
use petasos_contract::{Args, CallContext, SessionId, Settings, ToolError, ToolOutput};
use petasos_tools::discover_builtin_tools;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Nothing here takes long; a tool that hangs fails its test instead of the suite.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Bench {
    _folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) cx: CallContext,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(&json!({}))
    }

    /// With settings; the workspace is `work`, the user's home `home`, the agent's `home/.agent`.
    pub(crate) fn with(settings: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let parts = Parts {
            home: root.join("home/.agent"),
            user_home: root.join("home"),
            workspace: root.join("work"),
            values: settings.as_object().unwrap().clone(),
            ..Parts::default()
        };
        fs::create_dir_all(&parts.home).unwrap();
        fs::create_dir_all(&parts.workspace).unwrap();
        let settings = Arc::new(Settings::new(parts));
        let cx = CallContext::new(settings, Surface::Embedded, SessionId::new("bench"));
        Self { _folder: folder, root, cx }
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

    pub(crate) fn try_run(&self, tool: &str, args: &Value) -> Result<ToolOutput, ToolError> {
        let tool = discover_builtin_tools().iter().find(|def| def.name == tool).unwrap();
        let tool = (tool.build)(&Ports::default());
        let args = Args::try_from(args.clone()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let result = runtime
            .block_on(async { tokio::time::timeout(PATIENCE, tool.run(args, &self.cx)).await });
        runtime.shutdown_background();
        result.expect("the tool hangs")
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
        let tool = discover_builtin_tools().iter().find(|def| def.name == tool).unwrap();
        let args = Args::try_from(args.clone()).unwrap();
        (tool.build)(&Ports::default()).effects(&args, &self.cx)
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
