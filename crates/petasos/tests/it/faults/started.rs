//! The program while it runs: started in a home, watched, killed, and what it left behind.

use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use petasos_testkit::Home;

/// The program under test.
pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_petasos");

/// A program that runs; it is ended when it is dropped.
pub(super) struct Started {
    pub(super) child: Child,
    begun: Instant,
    out: Option<JoinHandle<Vec<u8>>>,
    err: Option<JoinHandle<Vec<u8>>>,
}

/// How it ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) took: Duration,
    /// The most memory that was seen, in MB.
    pub(super) peak: u64,
}

/// Starts a command line of the shell in which `petasos` is the program under test.
#[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
pub(super) fn shell(home: &Home, script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    let line = format!("petasos() {{ {PROGRAM} \"$@\"; }}\n{script}");
    command.args(["-c", &line]);
    surroundings(&mut command, home);
    command
}

/// The program with these arguments.
#[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
pub(super) fn program(home: &Home, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    surroundings(&mut command, home);
    command
}

fn surroundings(command: &mut Command, home: &Home) {
    command
        .env_clear()
        .env("HOME", home.user())
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .current_dir(home.workspace())
        .stdin(Stdio::null());
}

impl Started {
    /// Starts it; its output is kept.
    pub(super) fn new(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let out = child.stdout.take().map(kept);
        let err = child.stderr.take().map(kept);
        Self { child, begun: Instant::now(), out, err }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it with SIGKILL, if it still runs; says whether it did.
    pub(super) fn kill(&mut self) -> bool {
        let runs = self.child.try_wait().expect("a child").is_none();
        self.child.kill().unwrap_or_default();
        self.child.wait().expect("it ended");
        runs
    }

    /// Waits for its end; after `limit` it is killed, which the caller sees by the signal.
    pub(super) fn end(mut self, limit: Duration) -> Ended {
        let mut peak = 0;
        let status = loop {
            peak = peak.max(memory(self.pid(), "VmHWM:"));
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            if self.begun.elapsed() > limit {
                self.child.kill().unwrap_or_default();
                break self.child.wait().expect("it ended");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        self.ended(status, peak)
    }

    fn ended(&mut self, status: ExitStatus, peak: u64) -> Ended {
        let took = self.begun.elapsed();
        let text = |kept: Option<JoinHandle<Vec<u8>>>| {
            let bytes = kept.map(|kept| kept.join().expect("a reader")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (stdout, stderr) = (text(self.out.take()), text(self.err.take()));
        Ended { code: status.code(), signal: status.signal(), stdout, stderr, took, peak }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().expect("it ended");
    }
}

fn kept(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        // What was read before an error is what it said.
        from.read_to_end(&mut all).unwrap_or_default();
        all
    })
}

/// Runs the program to its end.
pub(super) fn ran(home: &Home, arguments: &[&str]) -> Ended {
    Started::new(program(home, arguments)).end(Duration::from_mins(5))
}

/// A figure of `/proc/PID/status` in MB; 0 when the process is gone.
pub(super) fn memory(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let kilobytes: u64 = line.split_whitespace().next().unwrap_or("0").parse().unwrap_or(0);
    kilobytes / 1024
}

/// Whether a process has not ended yet.
pub(super) fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// How many descriptors a process holds.
pub(super) fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// The processes that were started in this home, with their command lines.
pub(super) fn left(home: &Path) -> Vec<String> {
    let variable = format!("HOME={}", home.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("the processes of this machine").flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes()) {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push(format!("{} {line}", entry.file_name().display()));
        }
    }
    found
}

/// Waits until nothing of this home runs; how long that took.
pub(super) fn gone(home: &Path, context: &str) -> Duration {
    let begun = Instant::now();
    loop {
        let left = left(home);
        if left.is_empty() {
            return begun.elapsed();
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{context}: left running: {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
