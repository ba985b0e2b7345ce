//! A real X server under Xvfb with a real terminal in it.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// An X server and a terminal that writes down what is typed into it.
pub(crate) struct Screen {
    children: Vec<Child>,
    pub(crate) display: String,
    pub(crate) heard: PathBuf,
    _folder: tempfile::TempDir,
}

impl Drop for Screen {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            child.kill().unwrap_or_default();
            child.wait().ok();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the test starts its own X server and terminal")]
fn start(program: &str, arguments: &[&str]) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(Stdio::piped()).spawn()
}

pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let late = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < late, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn screen(test: &str) -> Option<Screen> {
    let is_there = |name: &str| Path::new("/usr/bin").join(name).exists();
    if !is_there("Xvfb") || !is_there("xterm") {
        petasos_testkit::skip(test, "Xvfb", "Xvfb and xterm are not installed");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let heard = folder.path().join("heard");
    // The server chooses a free number and says which.
    let mut server = start(
        "Xvfb",
        &["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp", "-noreset"],
    )
    .unwrap();
    let mut told = String::new();
    let mut pipe = server.stdout.take().unwrap();
    let mut byte = [0_u8; 1];
    while pipe.read(&mut byte).unwrap_or(0) == 1 && byte != *b"\n" {
        told.push(char::from(byte[0]));
    }
    let display = format!(":{}", told.trim());
    let listen = format!("stty -echo; touch {0}.ready; cat > {0}", heard.display());
    let terminal = start(
        "xterm",
        &[
            "-display",
            &display,
            "-geometry",
            "40x10+50+60",
            "-title",
            "listener",
            "-e",
            "sh",
            "-c",
            &listen,
        ],
    );
    let screen =
        Screen { children: vec![server, terminal.unwrap()], display, heard, _folder: folder };
    let ready = screen.heard.with_extension("ready");
    until("the terminal is there", || ready.exists());
    Some(screen)
}
