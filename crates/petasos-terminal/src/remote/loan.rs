//! Files of the home that are in the target while a command runs. A shell over there puts them in
//! place and removes them when its input ends, so that a death of this program takes them back.

use std::fmt::Write as _;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use petasos_contract::environment::{EnvError, Input, Process, Step};
use petasos_contract::path::TargetPath;
use petasos_contract::wait;

use super::{Carrier, Order};
use crate::ids;
use crate::sync::ROOT;

const LEND: &str = include_str!("scripts/lend.sh");
/// How long the target may take to have the files, and to have them no more.
const PATIENCE: Duration = Duration::from_secs(30);
/// A key or a token is smaller than this.
const FILE_MAX: u64 = 64 << 10;

/// Files that are lent as long as this lives.
pub(super) struct Loan {
    process: Box<dyn Process>,
    input: Option<Box<dyn Input>>,
}

impl Loan {
    /// Puts the files there; nothing when none can be read here.
    pub(super) async fn take(
        carrier: &dyn Carrier,
        files: &[(PathBuf, String)],
    ) -> Result<Option<Self>, EnvError> {
        let mut stdin = String::new();
        for (path, name) in files {
            match read(path) {
                Ok(bytes) => written(&mut stdin, name, &bytes),
                // What a skill lacks is told where it is read.
                Err(error) => tracing::warn!(%error, name, "a file is not lent"),
            }
        }
        if stdin.is_empty() {
            return Ok(None);
        }
        stdin.push('\n');
        let order = Order {
            stdin: stdin.into_bytes(),
            open: true,
            ..Order::script(LEND, &[ROOT, &ids::hex(8)])
        };
        let mut process = carrier.start(order).await?;
        let input = process.input();
        let mut loan = Self { process, input };
        let until = Instant::now() + PATIENCE;
        let lent = wait::until(until, "files to be lent", loan.is_there()).await;
        lent.map_err(|late| refused(&late.to_string()))??;
        Ok(Some(loan))
    }

    async fn is_there(&mut self) -> Result<(), EnvError> {
        let (mut bytes, mut said, mut complained) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            bytes.clear();
            match self.process.next(&mut bytes).await? {
                Step::Output => said.append(&mut bytes),
                Step::Errors => complained.append(&mut bytes),
                Step::Exited(_) | Step::Closed => {
                    return Err(refused(String::from_utf8_lossy(&complained).trim()));
                }
            }
            if said.split(|byte| *byte == b'\n').any(|line| line == b"lent") {
                return Ok(());
            }
        }
    }

    /// Takes the files back and waits until they are gone.
    pub(super) async fn give_back(mut self) {
        drop(self.input.take());
        let gone = async {
            let mut bytes = Vec::new();
            while let Ok(step) = self.process.next(&mut bytes).await {
                bytes.clear();
                if matches!(step, Step::Exited(_)) {
                    break;
                }
            }
        };
        if wait::until(Instant::now() + PATIENCE, "lent files to go", gone).await.is_err() {
            tracing::warn!("files that were lent to a command may still be in its place");
        }
    }
}

fn refused(why: &str) -> EnvError {
    let path = TargetPath::new(format!("~/{ROOT}"));
    EnvError::File { path, why: format!("files are not lent there: {why}"), missing: false }
}

/// A plain file of this size, and no link to another one.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() > FILE_MAX {
        return Err(std::io::Error::other("no plain file of 64 KB at most"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Its name, and its bytes as `printf %b` reads them, in a line each.
fn written(stdin: &mut String, name: &str, bytes: &[u8]) {
    stdin.push_str(name);
    stdin.push('\n');
    for byte in bytes {
        if matches!(byte, b' '..=b'[' | b']'..=b'~') {
            stdin.push(char::from(*byte));
        } else {
            // Writing to a string does not fail.
            let _written = write!(stdin, "\\0{byte:03o}");
        }
    }
    stdin.push('\n');
}
