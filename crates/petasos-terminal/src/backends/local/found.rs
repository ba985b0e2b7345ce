//! Kept trees: what is written down about one, and how a later program takes it up again.
//!
//! While nobody is there its sitter drains the output into a raw file that only its owner may
//! read. Whoever takes the tree up reads from there, masks, and the raw text goes with the job.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::{Control, EnvError, Exit, Input, Process, Size, Step};
use petasos_contract::{BoxFuture, wait};
use rustix::fs::FallocateFlags;
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::keeper::ending;
use crate::{ids, ready, tree};

/// How often a tree without a pipe to us is looked at for new output.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long the sitter of a tree that ended may take to write down its last words.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The text of a handle.
#[derive(Debug, Serialize, Deserialize)]
struct Handle {
    pid: u32,
    sitter: u32,
    sitter_started: u64,
    raw: PathBuf,
    exit: PathBuf,
}

/// How far the raw output was read and is safe, and the mark of whoever made it so. In a file of
/// its own, so that the next program gets nothing twice.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Settled {
    read: u64,
    mark: u64,
}

impl Settled {
    fn path(raw: &Path) -> PathBuf {
        raw.with_extension("read")
    }

    fn load(raw: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(Self::path(raw)).ok()?).ok()
    }

    fn store(self, raw: &Path) -> io::Result<()> {
        let draft = raw.with_extension("draft");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(&serde_json::to_vec(&self)?)?;
        fs::rename(&draft, Self::path(raw))
    }
}

/// The files of a kept tree, and its handle.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) raw: File,
    pub(super) exit: File,
    pub(super) handle: String,
}

impl Kept {
    /// Makes the files.
    pub(super) fn make(folder: &Path, pid: u32, sitter: u32) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let name = ids::hex(8);
        let (raw, exit) = (folder.join(format!("{name}.raw")), folder.join(format!("{name}.exit")));
        let open =
            |path: &Path| OpenOptions::new().append(true).create_new(true).mode(0o600).open(path);
        let files = (open(&raw)?, open(&exit)?);
        let started = tree::start_time(sitter).unwrap_or(0);
        let handle = Handle { pid, sitter, sitter_started: started, raw, exit };
        let handle = serde_json::to_string(&handle)?;
        Ok(Self { raw: files.0, exit: files.1, handle })
    }
}

/// Removes the files that a handle names.
pub(super) fn discard(handle: &str) {
    if let Ok(handle) = serde_json::from_str(handle) {
        remove(&handle);
    }
}

fn remove(handle: &Handle) {
    for path in [&handle.raw, &handle.exit, &Settled::path(&handle.raw)] {
        if let Err(error) = fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!(%error, path = %path.display(), "a kept file stays behind");
        }
    }
}

/// Takes a tree up again.
pub(super) fn find(handle: &str) -> Result<Option<Box<dyn Process>>, EnvError> {
    let handle: Handle = serde_json::from_str(handle)
        .map_err(|error| EnvError::Settings(format!("this is no handle of a job: {error}")))?;
    let sitter = tree::handle(handle.sitter, handle.sitter_started).map_err(|e| lost(&e))?;
    if sitter.is_none() && exit_status(&handle.exit).is_none() {
        return Ok(None);
    }
    let sitter = sitter.map(|fd| ready::register(fd, Interest::READABLE)).transpose();
    let sitter = sitter.map_err(|error| lost(&error))?.map(Arc::new);
    let settled = Settled::load(&handle.raw);
    let read = settled.map_or(0, |settled| settled.read);
    let found = Found { handle, sitter, settled, read, has_lingered: false, has_exited: false };
    Ok(Some(Box::new(found)))
}

fn exit_status(path: &Path) -> Option<i32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn lost(error: &io::Error) -> EnvError {
    EnvError::Lost { target: "local".to_owned(), why: error.to_string() }
}

/// A tree that an earlier program started.
#[derive(Debug)]
struct Found {
    handle: Handle,
    sitter: Option<Arc<AsyncFd<OwnedFd>>>,
    settled: Option<Settled>,
    read: u64,
    has_lingered: bool,
    has_exited: bool,
}

impl Drop for Found {
    fn drop(&mut self) {
        if self.has_exited {
            remove(&self.handle);
        }
    }
}

impl Found {
    async fn step(&mut self, into: &mut Vec<u8>) -> Result<Step, EnvError> {
        loop {
            // Looked at before the output, so that what came before the end is not missed; and the
            // sitter before the status, which it leaves before it goes.
            let gone = self.sitter_is_gone().await;
            let over = exit_status(&self.handle.exit);
            if self.more(into).map_err(|error| lost(&error))? {
                return Ok(Step::Output);
            }
            match over {
                // The status may be there before the last output is.
                Some(_) if !gone && !self.has_lingered => {
                    self.has_lingered = true;
                    self.pause(LAST_WORDS).await;
                    continue;
                }
                Some(status) if !self.has_exited => {
                    self.has_exited = true;
                    let survivors = u32::from(!gone);
                    let ending = ending(status);
                    return Ok(Step::Exited(Exit { ending, session: None, survivors }));
                }
                _ if gone && self.has_exited => return Ok(Step::Closed),
                None if gone => {
                    let error = io::Error::other("it ended and nobody saw how");
                    return Err(lost(&error));
                }
                Some(_) | None => {}
            }
            self.pause(LOOK_AGAIN).await;
        }
    }

    async fn sitter_is_gone(&self) -> bool {
        let Some(sitter) = &self.sitter else { return true };
        let ended = sitter.readable();
        wait::until(Instant::now(), "a look", ended).await.is_ok()
    }

    /// Until its sitter ends, or it is time to look for output.
    async fn pause(&self, longest: Duration) {
        let until = Instant::now() + longest;
        let ended = async {
            match &self.sitter {
                Some(sitter) if !self.has_exited => drop(sitter.readable().await),
                Some(_) | None => std::future::pending().await,
            }
        };
        // Running out of time is the ordinary case here.
        drop(wait::until(until, "output of a job", ended).await);
    }

    fn more(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let mut file = File::open(&self.handle.raw)?;
        file.seek(SeekFrom::Start(self.read))?;
        let count = file.take(256 * 1024).read_to_end(into)?;
        self.read += count as u64;
        Ok(count > 0)
    }
}

impl Process for Found {
    fn pid(&self) -> Option<u32> {
        Some(self.handle.pid)
    }

    fn next<'a>(&'a mut self, into: &'a mut Vec<u8>) -> BoxFuture<'a, Result<Step, EnvError>> {
        Box::pin(self.step(into))
    }

    fn input(&mut self) -> Option<Box<dyn Input>> {
        None
    }

    fn control(&self) -> Arc<dyn Control> {
        Arc::new(FoundControl { sitter: self.sitter.clone(), pid: self.handle.sitter })
    }

    fn confinement(&self) -> &'static str {
        "as it was started"
    }

    fn settle(&mut self, mark: u64) -> Result<(), EnvError> {
        let settled = Settled { read: self.read, mark };
        settled.store(&self.handle.raw).map_err(|error| lost(&error))?;
        self.settled = Some(settled);
        // What is masked elsewhere is not held unmasked here. A file system that cannot make a
        // hole holds it until the job ends.
        let raw = OpenOptions::new().write(true).open(&self.handle.raw);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let punched = raw.and_then(|raw| Ok(rustix::fs::fallocate(&raw, hole, 0, self.read)?));
        if let Err(error) = punched {
            tracing::debug!(%error, "raw output of a job stays until its end");
        }
        Ok(())
    }

    fn settled(&self) -> Option<u64> {
        self.settled.map(|settled| settled.mark)
    }
}

/// Ends a found tree through its sitter, which knows all of it.
#[derive(Debug)]
struct FoundControl {
    sitter: Option<Arc<AsyncFd<OwnedFd>>>,
    pid: u32,
}

impl Control for FoundControl {
    fn kill(&self, grace: Duration) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            let Some(sitter) = &self.sitter else { return Ok(()) };
            if let Err(error) = tree::terminate(sitter.get_ref())
                && error.raw_os_error() != Some(libc::ESRCH)
            {
                return Err(lost(&error));
            }
            let deadline = Instant::now() + grace + Duration::from_secs(10);
            let ended = wait::until(deadline, "a job to end", sitter.readable()).await;
            ended.map(drop).map_err(|error| lost(&io::Error::other(error)))
        })
    }

    fn keep(&self) -> BoxFuture<'_, Result<Option<String>, EnvError>> {
        Box::pin(async { Ok(None) })
    }

    fn emptied(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(sitter) = &self.sitter {
                // Without a runtime nobody is left who would wait for it.
                let _: bool = ready::readable(Some(sitter)).await;
            }
        })
    }

    fn resize(&self, _: Size) -> BoxFuture<'_, Result<(), EnvError>> {
        let what = "resize a job of an earlier run";
        Box::pin(async move { Err(EnvError::Unsupported { backend: "local", what }) })
    }

    fn pids(&self) -> Vec<u32> {
        tree::descendants(self.pid)
    }
}
