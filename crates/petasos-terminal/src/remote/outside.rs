//! Programs that start containers. A container must outlive whoever starts it and may be shared,
//! and some engines have no daemon that would hold it, so these do not go through the keeper.

use std::fs::File;
use std::io;
use std::process::Stdio;
use std::time::{Duration, Instant};

use petasos_contract::wait;

use super::Captured;
use crate::childenv::Variables;

/// The most that is read of what a program said.
const SAID_MAX: usize = 1 << 20;

/// Runs a program of this machine to its own end, and leaves what it started alone.
#[expect(clippy::disallowed_methods, reason = "a container outlives whoever starts it")]
pub(crate) async fn outside(
    argv: &[String],
    variables: &Variables,
    patience: Duration,
) -> Result<Captured, String> {
    let (program, words) = argv.split_first().ok_or("no program")?;
    let mut command = tokio::process::Command::new(program);
    command.args(words).env_clear().envs(variables).current_dir("/");
    command.stdin(Stdio::null()).kill_on_drop(true);
    // A container keeps the error pipe of its starter open, so files are read, not pipes.
    let said = Said::new().map_err(|error| format!("no room for its words: {error}"))?;
    let [output, errors] = said.ends().map_err(|error| error.to_string())?;
    command.stdout(output).stderr(errors);
    let mut child =
        command.spawn().map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    let ended = wait::until(Instant::now() + patience, "a container engine", child.wait()).await;
    let status = match ended {
        Ok(status) => status.map_err(|error| error.to_string())?,
        Err(_) => return Err(format!("it took longer than {} s", patience.as_secs())),
    };
    let errors = String::from_utf8_lossy(&read(&said.errors)).trim().to_owned();
    Ok(Captured { output: read(&said.output), errors, code: status.code().unwrap_or(-1) })
}

/// What a program says, in memory.
struct Said {
    output: File,
    errors: File,
}

impl Said {
    fn new() -> io::Result<Self> {
        let file = || {
            let flags = rustix::fs::MemfdFlags::CLOEXEC;
            rustix::fs::memfd_create("petasos-said", flags).map(File::from)
        };
        Ok(Self { output: file()?, errors: file()? })
    }

    fn ends(&self) -> io::Result<[File; 2]> {
        Ok([self.output.try_clone()?, self.errors.try_clone()?])
    }
}

fn read(file: &File) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; SAID_MAX];
    let count = file.read_at(&mut bytes, 0).unwrap_or(0);
    bytes.truncate(count);
    bytes
}
