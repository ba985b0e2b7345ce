//! Files of a target, each operation one start of a small script. Bytes travel as they are, and
//! what did not arrive whole is never put in place.

use std::io;
use std::time::{Duration, Instant};

use petasos_contract::environment::{Entry, EnvError, FileKind, Files, Stat, Step, WriteMode};
use petasos_contract::path::{HostPath, TargetPath};
use petasos_contract::{BoxFuture, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::control::Link;
use super::{Captured, Order, capture};
use crate::ids;

const READ: &str = include_str!("scripts/read.sh");
const WRITE: &str = include_str!("scripts/write.sh");
const STAT: &str = include_str!("scripts/stat.sh");
const LIST: &str = include_str!("scripts/list.sh");
const REMOVE: &str = "[ -e \"$1\" ] || [ -h \"$1\" ] || { (: <\"$1\"); exit 44; }\n\
    if [ -d \"$1\" ] && [ ! -h \"$1\" ]; then rmdir \"$1\"; else rm -f \"$1\"; fi";
const RENAME: &str = "[ -e \"$1\" ] || [ -h \"$1\" ] || { (: <\"$1\"); exit 44; }\n\
    [ -d \"$2\" ] && [ ! -d \"$1\" ] && { echo \"is a directory\" >&2; exit 45; }\n\
    mv -f \"$1\" \"$2\"";

/// The code of the scripts for what is not there.
const MISSING: i32 = 44;
/// How long a target may be silent during a transfer.
const PATIENCE: Duration = Duration::from_mins(2);
/// How much of a file travels at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// The files of a target.
pub(super) struct RemoteFiles {
    link: Link,
}

impl RemoteFiles {
    pub(super) fn new(link: Link) -> Self {
        Self { link }
    }

    async fn script(
        &self,
        path: &TargetPath,
        text: &str,
        arguments: &[&str],
        stdin: Vec<u8>,
    ) -> Result<Captured, EnvError> {
        let name = word(path)?;
        let all: Vec<&str> = std::iter::once(name).chain(arguments.iter().copied()).collect();
        let order = Order { stdin, ..Order::script(text, &all) };
        let mut done = capture(&*self.link.carrier, order.clone(), PATIENCE).await;
        if let Err(why @ EnvError::NotStarted { .. }) = &done {
            self.link.carrier.revive(why).await?;
            done = capture(&*self.link.carrier, order, PATIENCE).await;
        }
        let done = done?;
        if done.code == 0 { Ok(done) } else { Err(failed(path, &done)) }
    }
}

fn word(path: &TargetPath) -> Result<&str, EnvError> {
    path.as_path().to_str().ok_or_else(|| EnvError::File {
        path: path.clone(),
        why: "a name that is not UTF-8 cannot be reached here".to_owned(),
        missing: false,
    })
}

fn failed(path: &TargetPath, done: &Captured) -> EnvError {
    let last = done.errors.lines().last().unwrap_or_default();
    // Shells put their own name and the path before what matters.
    let why = last.rsplit_once(": ").map_or(last, |(_, why)| why).trim();
    let missing = done.code == MISSING && !why.to_lowercase().contains("permission");
    let why = match (why.is_empty(), missing) {
        (_, true) => "No such file or directory".to_owned(),
        (false, false) => why.to_owned(),
        (true, false) => format!("the script in the target ended with {}", done.code),
    };
    EnvError::File { path: path.clone(), why, missing }
}

fn host(path: &TargetPath, error: &io::Error) -> EnvError {
    EnvError::File { path: path.clone(), why: format!("on this machine: {error}"), missing: false }
}

/// Kind and permissions from the numbers of `stat`: hexadecimal, or octal after an `o`.
fn kind_and_mode(text: &str) -> Option<(FileKind, u32)> {
    let mode = match text.strip_prefix('o') {
        Some(octal) => u32::from_str_radix(octal, 8).ok()?,
        None => u32::from_str_radix(text, 16).ok()?,
    };
    let kind = match mode & 0o170_000 {
        0o100_000 => FileKind::File,
        0o040_000 => FileKind::Directory,
        0o120_000 => FileKind::Link,
        _ => FileKind::Special,
    };
    Some((kind, mode & 0o7777))
}

fn nanoseconds(text: &str) -> Option<i128> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    Some(seconds.parse::<i128>().ok()? * 1_000_000_000 + fraction.parse::<i128>().ok()?)
}

impl Files for RemoteFiles {
    fn read<'a>(
        &'a self,
        path: &'a TargetPath,
        offset: u64,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        Box::pin(async move {
            let (offset, limit) = (offset.to_string(), limit.min(i64::MAX as u64).to_string());
            let done = self.script(path, READ, &[&offset, &limit], Vec::new()).await?;
            Ok(done.output)
        })
    }

    fn write<'a>(
        &'a self,
        path: &'a TargetPath,
        content: &'a [u8],
        mode: WriteMode,
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move {
            let how = match mode {
                WriteMode::Replace => "replace",
                WriteMode::Append => "append",
                WriteMode::Create => "create",
            };
            let size = content.len().to_string();
            let arguments = [how, &size, &ids::hex(6)];
            self.script(path, WRITE, &arguments, content.to_vec()).await.map(drop)
        })
    }

    fn list<'a>(&'a self, path: &'a TargetPath) -> BoxFuture<'a, Result<Vec<Entry>, EnvError>> {
        Box::pin(async move {
            let done = self.script(path, LIST, &[], Vec::new()).await?;
            let text = String::from_utf8_lossy(&done.output);
            let entry = |record: &str| {
                let mut parts = record.strip_suffix('\n').unwrap_or(record).splitn(3, ' ');
                let (kind, _) = kind_and_mode(parts.next()?)?;
                let size = parts.next()?.parse().ok()?;
                let name = parts.next()?;
                let name = name.strip_prefix("./").unwrap_or(name).to_owned();
                Some(Entry { name, kind, size })
            };
            let mut entries: Vec<Entry> = text.split('\u{1e}').filter_map(entry).collect();
            entries.sort_by(|left, right| left.name.cmp(&right.name));
            Ok(entries)
        })
    }

    fn stat<'a>(&'a self, path: &'a TargetPath) -> BoxFuture<'a, Result<Stat, EnvError>> {
        Box::pin(async move {
            let done = self.script(path, STAT, &[], Vec::new()).await?;
            let text = String::from_utf8_lossy(&done.output).into_owned();
            let mut parts = text.split('\0');
            let known = parts.next().and_then(|line| {
                let mut words = line.split_whitespace();
                let (kind, mode) = kind_and_mode(words.next()?)?;
                let size = words.next()?.parse().ok()?;
                Some((kind, mode, size, nanoseconds(words.next()?)?))
            });
            let resolved = parts.next().filter(|resolved| !resolved.is_empty());
            let (kind, mode, size, modified_ns) = known.ok_or_else(|| EnvError::File {
                path: path.clone(),
                why: "the target has no `stat` that we understand".to_owned(),
                missing: false,
            })?;
            let resolved = resolved.map_or_else(|| path.clone(), TargetPath::new);
            Ok(Stat { kind, size, modified_ns, mode: Some(mode), resolved })
        })
    }

    fn remove<'a>(&'a self, path: &'a TargetPath) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move { self.script(path, REMOVE, &[], Vec::new()).await.map(drop) })
    }

    fn rename<'a>(
        &'a self,
        from: &'a TargetPath,
        to: &'a TargetPath,
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move { self.script(from, RENAME, &[word(to)?], Vec::new()).await.map(drop) })
    }

    fn copy_in<'a>(
        &'a self,
        from: &'a HostPath,
        to: &'a TargetPath,
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(self.bring(from, to))
    }

    fn copy_out<'a>(
        &'a self,
        from: &'a TargetPath,
        to: &'a HostPath,
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(self.fetch(from, to))
    }
}

impl RemoteFiles {
    async fn bring(&self, from: &HostPath, to: &TargetPath) -> Result<(), EnvError> {
        let opened = tokio::fs::File::open(from.as_path()).await;
        let mut file = opened.map_err(|error| host(to, &error))?;
        let size = file.metadata().await.map_err(|error| host(to, &error))?.len();
        let arguments = [word(to)?, "replace", &size.to_string(), &ids::hex(6)];
        let order = Order { open: true, ..Order::script(WRITE, &arguments) };
        let mut process = self.link.carrier.start(order).await?;
        let mut input = process.input();
        let mut piece = vec![0; PIECE_BYTES];
        while let Some(input) = &mut input {
            let count = file.read(&mut piece).await.map_err(|error| host(to, &error))?;
            if count == 0 {
                break;
            }
            let bytes = piece.get(..count).unwrap_or_default();
            let deadline = Instant::now() + PATIENCE;
            let sent = wait::until(deadline, "the target to take a file", input.write(bytes)).await;
            match sent {
                Ok(Ok(())) => {}
                // Why it stopped reading is told by its end.
                Ok(Err(_)) => break,
                Err(late) => return Err(self.link.lost(&late.to_string())),
            }
        }
        if let Some(mut input) = input {
            // One that is gone already needs no end of input.
            drop(input.close().await);
        }
        let mut done = Captured::default();
        let (mut bytes, mut errors) = (Vec::new(), Vec::new());
        loop {
            bytes.clear();
            let deadline = Instant::now() + PATIENCE;
            let next = wait::until(deadline, "the target to keep a file", process.next(&mut bytes));
            match next.await.map_err(|late| self.link.lost(&late.to_string()))?? {
                Step::Errors => errors.extend_from_slice(&bytes),
                Step::Exited(exit) => {
                    done.code = exit.ending.code();
                    break;
                }
                Step::Output | Step::Closed => {}
            }
        }
        done.errors = String::from_utf8_lossy(&errors).trim().to_owned();
        if done.code == 0 { Ok(()) } else { Err(failed(to, &done)) }
    }

    async fn fetch(&self, from: &TargetPath, to: &HostPath) -> Result<(), EnvError> {
        let arguments = [word(from)?, "0", "9223372036854775807"];
        let mut process = self.link.carrier.start(Order::script(READ, &arguments)).await?;
        let draft = to.as_path().with_file_name(format!(".petasos-{}", ids::hex(6)));
        let fetched = async {
            let created = tokio::fs::File::create(&draft).await;
            let mut file = created.map_err(|error| host(from, &error))?;
            let (mut bytes, mut errors) = (Vec::new(), Vec::new());
            let (mut code, mut closed) = (None, false);
            while code.is_none() || !closed {
                bytes.clear();
                let deadline = Instant::now() + PATIENCE;
                let next =
                    wait::until(deadline, "the target to send a file", process.next(&mut bytes));
                match next.await.map_err(|late| self.link.lost(&late.to_string()))?? {
                    Step::Output => {
                        file.write_all(&bytes).await.map_err(|error| host(from, &error))?;
                    }
                    Step::Errors => errors.extend_from_slice(&bytes),
                    Step::Closed => closed = true,
                    Step::Exited(exit) => code = Some(exit.ending.code()),
                }
            }
            file.flush().await.map_err(|error| host(from, &error))?;
            let code = code.unwrap_or(-1);
            if code != 0 {
                let errors = String::from_utf8_lossy(&errors).trim().to_owned();
                return Err(failed(from, &Captured { output: Vec::new(), errors, code }));
            }
            tokio::fs::rename(&draft, to.as_path()).await.map_err(|error| host(from, &error))
        };
        let fetched = fetched.await;
        if fetched.is_err() {
            // A draft that is not there needs no removal.
            drop(tokio::fs::remove_file(&draft).await);
        }
        fetched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_both_kinds_of_stat_are_read() {
        assert_eq!(kind_and_mode("81a4"), Some((FileKind::File, 0o644)));
        assert_eq!(kind_and_mode("o40755"), Some((FileKind::Directory, 0o755)));
        assert_eq!(nanoseconds("12.000000034"), Some(12_000_000_034));
        assert_eq!(nanoseconds("12"), Some(12_000_000_000));
    }
}
