//! How `sudo` on this machine gets its password: it runs a helper, which asks us by a pipe.
//!
//! `sudo` starts the helper only when it needs a password, so that nobody is asked for a text that
//! merely mentions it, and no text is changed. We answer a helper whose parent is `sudo`, with
//! root's rights and below this program, whose output nobody but `sudo` reads; and each `sudo`
//! once: a wrong password is not tried again.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use petasos_contract::environment::Launch;
use petasos_contract::path::TargetPath;
use petasos_contract::wait::Owned;
use petasos_contract::{Secret, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{self, Receiver, Sender};

use super::Purse;
use super::caller::Caller;
use crate::{childenv, ids, search};

/// How long a helper may take to read the answer.
const ANSWERED: Duration = Duration::from_secs(5);
/// How soon a helper that does not read yet is tried again.
const AGAIN: Duration = Duration::from_millis(5);
/// So many helpers may ask for one command; a loop of `sudo` is fine, a flood is not.
const ASKED_MAX: usize = 1000;

/// The folder of the helper, and the task that answers it. Both go when it is dropped.
#[derive(Debug)]
pub(crate) struct Askpass {
    folder: PathBuf,
    _answers: Owned<()>,
}

impl Askpass {
    /// Makes the helper; nothing where there is no `sudo`.
    pub(super) fn open(purse: Purse) -> io::Result<Option<Self>> {
        let settings = &purse.cx.settings;
        let Some(sudo) = search::program("sudo", &childenv::search_path(settings)) else {
            return Ok(None);
        };
        let folder = place(settings)?;
        let made = furnish(&folder, &sudo);
        if made.is_err() {
            discard(&folder);
        }
        let requests = made?;
        let server = Server { folder: folder.clone(), purse, answered: BTreeSet::new() };
        Ok(Some(Self { folder, _answers: Owned::start(server.serve(requests)) }))
    }

    /// Lets a launch find the helper.
    pub(super) fn lend(&self, launch: &mut Launch) {
        let helper = self.folder.join("askpass").display().to_string();
        launch.exports.insert("SUDO_ASKPASS".to_owned(), helper);
        launch.programs = Some(TargetPath::new(self.folder.join("bin")));
    }

    /// What a session must not carry on: names that mean nothing after the command.
    pub(crate) fn forget(&self, exports: &mut petasos_contract::environment::Exports) {
        let own = self.folder.display().to_string();
        exports.retain(|_, value| !value.starts_with(&own) || value.contains(':'));
        if let Some(path) = exports.get_mut("PATH") {
            let kept: Vec<&str> =
                path.split(':').filter(|folder| !folder.starts_with(&own)).collect();
            *path = kept.join(":");
        }
    }
}

impl Drop for Askpass {
    fn drop(&mut self) {
        discard(&self.folder);
    }
}

/// A new folder for us alone: in our own home, because temporary folders may forbid programs.
fn place(settings: &Settings) -> io::Result<PathBuf> {
    let home = settings.home();
    let around = if home.as_os_str().is_empty() { settings.temp() } else { home };
    let around = around.join("run");
    DirBuilder::new().recursive(true).mode(0o700).create(&around)?;
    let folder = around.join(format!("sudo-{}", ids::hex(8)));
    DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// The helper, a `sudo` that uses it, and the pipe by which the helper asks.
fn furnish(folder: &Path, sudo: &Path) -> io::Result<Receiver> {
    let asks = folder.join("ask");
    let owner = rustix::fs::Mode::from(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &asks, rustix::fs::FileType::Fifo, owner, 0)?;
    let own = quoted(folder);
    let helper = format!(
        "#!/bin/sh\n# sudo runs this to ask for a password; only sudo is answered.\n\
         PATH=/usr/bin:/bin; umask 077\nmkfifo {own}/$$ && echo $$ >{own}/ask && exec cat {own}/$$\n"
    );
    program(&folder.join("askpass"), &helper)?;
    DirBuilder::new().mode(0o700).create(folder.join("bin"))?;
    let shim = format!("#!/bin/sh\nexec {} -A \"$@\"\n", quoted(sudo));
    program(&folder.join("bin/sudo"), &shim)?;
    // Open for both, so that it never is at its end.
    pipe::OpenOptions::new().read_write(true).open_receiver(&asks)
}

fn program(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o700).open(path)?;
    file.write_all(text.as_bytes())
}

/// One word for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

fn discard(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder) {
        tracing::debug!(%error, folder = %folder.display(), "a helper's folder stays");
    }
}

/// Answers the helpers of one command.
struct Server {
    folder: PathBuf,
    purse: Purse,
    /// Each `sudo` that was answered.
    answered: BTreeSet<u32>,
}

impl Server {
    async fn serve(mut self, mut requests: Receiver) {
        let (mut bytes, mut text) = ([0; 256], String::new());
        while self.answered.len() < ASKED_MAX {
            let count = match requests.read(&mut bytes).await {
                Ok(count) if count > 0 => count,
                Ok(_) | Err(_) => return,
            };
            text.push_str(&String::from_utf8_lossy(bytes.get(..count).unwrap_or_default()));
            while let Some((line, rest)) = text.split_once('\n') {
                let (number, rest) = (line.trim().parse(), rest.to_owned());
                if let Ok(helper) = number {
                    self.answer(helper).await;
                }
                text = rest;
            }
            // No number is that long.
            if text.len() > 64 {
                text.clear();
            }
        }
    }

    async fn answer(&mut self, helper: u32) {
        let reply = self.folder.join(helper.to_string());
        let caller = Caller::of(helper).inspect_err(|why| {
            tracing::warn!(helper, why, "a request for the sudo password is refused");
        });
        let password = match caller {
            Ok(caller) if self.answered.insert(caller.sudo()) => {
                self.purse.password().await.map(|password| (caller, password))
            }
            Ok(_) | Err(_) => None,
        };
        if let Err(error) = hand_over(&reply, helper, password).await {
            tracing::warn!(%error, "the sudo password did not reach sudo");
        }
        if let Err(error) = fs::remove_file(&reply) {
            tracing::debug!(%error, "the answer's pipe stays until the command ends");
        }
    }
}

/// Waits until the helper reads, and writes; without a password it reads the end.
async fn hand_over(
    reply: &Path,
    helper: u32,
    password: Option<(Caller, Secret)>,
) -> io::Result<()> {
    let mut sender = opened(reply, helper).await?;
    let Some((caller, password)) = password else { return Ok(()) };
    caller.still_reads_alone(reply).map_err(io::Error::other)?;
    let mut line = password.expose().as_bytes().to_vec();
    line.push(b'\n');
    let done = tokio::time::timeout(ANSWERED, sender.write_all(&line)).await;
    line.fill(0);
    done.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

async fn opened(reply: &Path, helper: u32) -> io::Result<Sender> {
    let until = Instant::now() + ANSWERED;
    loop {
        match pipe::OpenOptions::new().open_sender(reply) {
            // Nobody reads yet.
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                let gone = crate::tree::start_time(helper).is_none();
                if gone || Instant::now() > until {
                    return Err(error);
                }
                tokio::time::sleep(AGAIN).await;
            }
            opened => return opened,
        }
    }
}
