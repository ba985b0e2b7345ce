//! Runs a program in a throw-away home: nothing of the machine's own environment gets in.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Home, canary};

/// A program with its surroundings.
#[derive(Debug)]
pub struct Program {
    binary: PathBuf,
    home: PathBuf,
    workspace: PathBuf,
    variables: Vec<(String, String)>,
    input: Vec<u8>,
}

/// A program that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it remarked.
    pub stderr: String,
}

impl Program {
    /// This binary, in this home.
    pub fn new(binary: impl AsRef<Path>, home: &Home) -> Self {
        Self {
            binary: binary.as_ref().to_owned(),
            home: home.user().to_owned(),
            workspace: home.workspace(),
            variables: Vec::new(),
            input: Vec::new(),
        }
    }

    /// With a variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In this folder instead of the workspace.
    #[must_use]
    pub fn at(mut self, folder: &Path) -> Self {
        folder.clone_into(&mut self.workspace);
        self
    }

    /// With this on its standard input.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Runs it to its end. It is given a secret that must not come out again anywhere.
    #[expect(clippy::expect_used, reason = "tests only")]
    #[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
    pub fn run(&self, arguments: &[&str]) -> Finished {
        let mut child = Command::new(&self.binary)
            .args(arguments)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env(canary::NAME, canary::SECRET)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = self.input.clone();
        // A program that does not read its input closes it early, which is its right.
        let feed = std::thread::spawn(move || stdin.write_all(&input).is_ok());
        let output = child.wait_with_output().expect("the program ends");
        feed.join().expect("the feeder ends");
        canary::is_not_in(&output.stdout, "its output");
        canary::is_not_in(&output.stderr, "its remarks");
        canary::is_not_below(&self.home);
        Finished {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Finished {
    /// What it printed, as JSON.
    #[expect(clippy::expect_used, reason = "tests only")]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .map_err(|error| format!("{error}: stdout {:?}, stderr {:?}", self.stdout, self.stderr))
            .expect("JSON on standard output")
    }
}
