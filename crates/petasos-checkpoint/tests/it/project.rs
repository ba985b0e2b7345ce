//! What the tests of this crate share.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_checkpoint::Checkpoints;
use petasos_contract::context::Surface;
use petasos_contract::environment::Environments;
use petasos_contract::ports::Ports;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{CallContext, Secret, SessionId, Settings};
use petasos_terminal::Engine;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A workspace, a home, and checkpoints of the one in the other.
pub(crate) struct Project {
    pub(crate) folder: TempDir,
    pub(crate) cx: CallContext,
    pub(crate) checkpoints: Arc<Checkpoints>,
    pub(crate) environments: Arc<dyn Environments>,
}

impl Project {
    pub(crate) fn new(settings: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (cx, environments) = within(&root, settings);
        let checkpoints = Checkpoints::new(Arc::clone(&environments));
        Self { folder, cx, checkpoints, environments }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.cx.workspace.join(name)
    }

    pub(crate) fn put(&self, name: &str, content: &str) {
        write(&self.path(name), content);
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    pub(crate) async fn take(&self) -> String {
        self.checkpoints.take("test", &self.cx).await.unwrap().id().to_owned()
    }

    pub(crate) fn store(&self) -> PathBuf {
        let all = fs::read_dir(self.folder.path().join("home/.petasos/checkpoints")).unwrap();
        all.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap()
    }
}

/// A call in the workspace below this folder. Programs in `bin` come before the system's.
pub(crate) fn within(root: &Path, settings: &Value) -> (CallContext, Arc<dyn Environments>) {
    let path = Variable {
        value: Secret::new(format!("{}/bin:/usr/local/bin:/usr/bin:/bin", root.display())),
        source: Source::Environment { variable: "PATH".to_owned() },
    };
    let known = Parts {
        home: root.join("home/.petasos"),
        user_home: root.join("home"),
        workspace: root.join("work"),
        temp: root.join("tmp"),
        values: json!({ "terminal": { "auto_source_bashrc": false }, "checkpoints": settings })
            .as_object()
            .cloned()
            .unwrap(),
        variables: [("PATH".to_owned(), path)].into(),
        ..Parts::default()
    };
    for folder in [&known.home, &known.workspace, &known.temp] {
        fs::create_dir_all(folder).unwrap();
    }
    let cx =
        CallContext::new(Arc::new(Settings::new(known)), Surface::Cli, SessionId::new("session"));
    let mut ports = Ports::default();
    Engine::new(None).fill(&mut ports);
    let environments = ports.environments.unwrap();
    (cx, environments)
}

/// Every file below a folder and its content.
pub(crate) fn snapshot(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut snapshot(&path));
        } else {
            found.insert(path.clone(), fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// Writes a file and the folders above it.
#[expect(clippy::disallowed_methods, reason = "a test's own file needs no atomic writer")]
pub(crate) fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A git that stops, for ever, before or after it does what the file `fault` says.
pub(crate) fn install_git(root: &Path) {
    let real = ["/usr/local/bin/git", "/usr/bin/git", "/bin/git"];
    let real = real.into_iter().find(|path| Path::new(path).exists()).unwrap();
    let root_name = root.display();
    let script = format!(
        "#!/bin/sh\n\
         command=; moment=; [ ! -e {root_name}/fault ] || read -r command moment < {root_name}/fault\n\
         hit=; for word in \"$@\"; do [ \"$word\" != \"$command\" ] || hit=1; done\n\
         [ -n \"$hit\" ] || exec {real} \"$@\"\n\
         [ \"$moment\" = before ] || {real} \"$@\"\n\
         : > {root_name}/reached\n\
         exec sleep 1000\n"
    );
    let git = root.join("bin/git");
    write(&git, &script);
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
}
