//! One file on its way: its draft, its second name, and the way back.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{
    Access, AtFlags, Dir, Gid, Mode, OFlags, RenameFlags, Stat, Uid, accessat, fchmod, fchown,
    fstat, linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::Change;
use super::anchor::{Anchor, removed};

/// What the names of drafts begin with.
const PREFIX: &str = ".petasos-";

/// How far a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Its draft is written; no other file depends on it.
    Alone,
    /// Its draft is written; it may have to go back because of another.
    Together,
    /// It has its new content.
    Applied,
}

/// A file whose draft is written and whose name is still the old content's.
pub(super) struct Staged {
    path: PathBuf,
    folder: OwnedFd,
    name: OsString,
    draft: Option<OsString>,
    /// A second name of the old file, while it may be needed again.
    backup: Option<OsString>,
    was_there: bool,
    progress: Progress,
    /// Folders that were made for it, the outermost first.
    pub(super) folders: Vec<PathBuf>,
    notes: Vec<String>,
}

impl Staged {
    /// Writes the draft. Nothing that has a name has changed when this fails.
    pub(super) fn new(change: &Change<'_>, wants_backup: bool) -> io::Result<Self> {
        let path = change.real.clone();
        let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let anchor = match &change.anchor {
            Some(anchor) => Arc::clone(anchor),
            None => Arc::new(Anchor::hold(&parent)?),
        };
        let (folder, folders) = anchor.enter(&parent)?;
        let mut staged = Self {
            path,
            folder,
            name,
            draft: None,
            backup: None,
            was_there: false,
            progress: if wants_backup { Progress::Together } else { Progress::Alone },
            folders,
            notes: Vec::new(),
        };
        staged.write(change)?;
        Ok(staged)
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn write(&mut self, change: &Change<'_>) -> io::Result<()> {
        let known = self.known()?;
        self.was_there = known.is_some();
        let Some(content) = &change.after else { return Ok(()) };
        if self.was_there {
            // A rename would replace what a shell could not write to.
            accessat(&self.folder, &self.name, Access::WRITE_OK, AtFlags::EACCESS).map_err(
                |errno| match errno {
                    Errno::ACCESS => io::Error::new(
                        io::ErrorKind::PermissionDenied,
                        "it is read-only: `chmod u+w` first if it is meant to change",
                    ),
                    errno => errno.into(),
                },
            )?;
        }
        sweep(&self.folder);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let draft = hidden_name("new")?;
        let fd = openat(&self.folder, &draft, flags, Mode::from_raw_mode(0o666))?;
        self.draft = Some(draft);
        let mut file = File::from(fd);
        let like = change.like.as_ref().map(rustix::fs::lstat).transpose()?;
        if let Some(known) = known.as_ref().or(like.as_ref()) {
            self.keep_rights(&file, known)?;
        }
        file.write_all(content)?;
        file.sync_data()
    }

    fn known(&self) -> io::Result<Option<Stat>> {
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(known) if rustix::fs::FileType::from_raw_mode(known.st_mode).is_file() => {
                Ok(Some(known))
            }
            Ok(_) => Err(io::Error::other("it is not a regular file")),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn keep_rights(&mut self, file: &File, known: &Stat) -> io::Result<()> {
        let own = fstat(file)?;
        if (own.st_uid, own.st_gid) != (known.st_uid, known.st_gid) {
            let (user, group) = (Uid::from_raw(known.st_uid), Gid::from_raw(known.st_gid));
            if fchown(file, Some(user), Some(group)).is_err() {
                self.notes.push(format!(
                    "the file now belongs to {}:{} (user:group) and no longer to {}:{}",
                    own.st_uid, own.st_gid, known.st_uid, known.st_gid
                ));
            }
        }
        fchmod(file, Mode::from_raw_mode(known.st_mode & 0o7777))?;
        if known.st_nlink > 1 {
            self.notes.push("other names of the file (hard links) keep the old content".to_owned());
        }
        Ok(())
    }

    /// Gives the name to the draft, or takes it away.
    pub(super) fn apply(&mut self) -> io::Result<()> {
        if self.progress == Progress::Together && self.was_there {
            let backup = hidden_name("old")?;
            linkat(&self.folder, &self.name, &self.folder, &backup, AtFlags::empty())?;
            self.backup = Some(backup);
        }
        match self.draft.take() {
            Some(draft) => {
                if let Err(error) = self.rename(&draft) {
                    self.draft = Some(draft);
                    return Err(error);
                }
            }
            None => unlinkat(&self.folder, &self.name, AtFlags::empty())?,
        }
        self.progress = Progress::Applied;
        Ok(())
    }

    fn rename(&self, draft: &OsStr) -> io::Result<()> {
        if !self.was_there {
            // Somebody may have made the file meanwhile; theirs is not overwritten.
            match renameat_with(
                &self.folder,
                draft,
                &self.folder,
                &self.name,
                RenameFlags::NOREPLACE,
            ) {
                Err(Errno::INVAL | Errno::NOSYS) => {}
                other => return other.map_err(Into::into),
            }
        }
        renameat(&self.folder, draft, &self.folder, &self.name).map_err(Into::into)
    }

    /// Puts everything back.
    pub(super) fn undo(mut self) -> io::Result<()> {
        if self.progress == Progress::Applied {
            match self.backup.take() {
                Some(backup) => renameat(&self.folder, &backup, &self.folder, &self.name)?,
                None if self.was_there => {
                    return Err(io::Error::other("its old content has no second name"));
                }
                None => unlinkat(&self.folder, &self.name, AtFlags::empty())?,
            }
        }
        let folders = std::mem::take(&mut self.folders);
        drop(self);
        removed(&folders);
        Ok(())
    }

    /// The change stays; tells what could not be kept.
    pub(super) fn keep(mut self) -> Vec<String> {
        self.folders.clear();
        std::mem::take(&mut self.notes)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        for name in self.draft.take().into_iter().chain(self.backup.take()) {
            // What cannot be removed is a hidden file beside; the content itself is right.
            unlinkat(&self.folder, name, AtFlags::empty()).unwrap_or_default();
        }
        if self.progress != Progress::Applied {
            removed(&self.folders);
        }
    }
}

/// A draft is there for a moment. One that is older was left by a program that was killed.
const DRAFT_AGE_MAX: Duration = Duration::from_mins(1);

/// So much of a folder is looked at for drafts.
const LOOKED_AT: usize = 2000;

/// Removes the drafts that a killed program left in a folder.
fn sweep(folder: &OwnedFd) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.take(LOOKED_AT).flatten() {
        let name = entry.file_name().to_bytes();
        if !name.starts_with(PREFIX.as_bytes()) || !name.ends_with(b".new") {
            continue;
        }
        let Ok(about) = statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let modified = u64::try_from(about.st_mtime).unwrap_or(0);
        let age = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH + Duration::from_secs(modified))
            .unwrap_or_default();
        if age > DRAFT_AGE_MAX {
            // One that cannot be removed is tried again by the next write.
            unlinkat(folder, entry.file_name(), AtFlags::empty()).unwrap_or_default();
        }
    }
}

fn hidden_name(kind: &str) -> io::Result<OsString> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{PREFIX}{:016x}.{kind}", u64::from_ne_bytes(bytes)).into())
}
