//! The configuration through its public doors.
#![expect(clippy::unwrap_used, reason = "in a test, what cannot be set up fails the test")]
#![expect(clippy::format_push_string, reason = "documents are generated for clarity, not speed")]

mod files;
mod kills;
mod layering;
mod project;
mod properties;
mod readers;
mod rows;
mod strictness;

use std::collections::BTreeMap;
use std::path::PathBuf;

use petasos_config::Inputs;

/// A home and a workspace in a directory of their own.
pub(crate) struct Setting {
    dir: tempfile::TempDir,
    environment: BTreeMap<String, String>,
}

impl Setting {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home")).unwrap();
        std::fs::create_dir_all(dir.path().join("work/.petasos")).unwrap();
        let home = dir.path().join("home").display().to_string();
        let environment = BTreeMap::from([("PETASOS_HOME".to_owned(), home)]);
        Self { dir, environment }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("home/config.yaml")
    }

    pub(crate) fn user(self, text: &str) -> Self {
        self.put("home/config.yaml", text.as_bytes())
    }

    pub(crate) fn project(self, text: &str) -> Self {
        self.put("work/.petasos/config.yaml", text.as_bytes())
    }

    pub(crate) fn dotenv(self, text: &str) -> Self {
        self.put("home/.env", text.as_bytes())
    }

    #[expect(clippy::disallowed_methods, reason = "a test lays out files as others leave them")]
    pub(crate) fn put(self, name: &str, bytes: &[u8]) -> Self {
        std::fs::write(self.path(name), bytes).unwrap();
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn inputs(&self) -> Inputs {
        Inputs {
            environment: self.environment.clone(),
            cwd: self.path("work"),
            user_home: Some(self.path("user")),
            ..Inputs::default()
        }
    }
}
