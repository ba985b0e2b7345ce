//! Files of a place. Whole operations, so that a remote backend needs one round trip for each.

use serde::Serialize;

use super::EnvError;
use crate::BoxFuture;
use crate::path::{HostPath, TargetPath};

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link (only from `list`; `stat` follows it).
    Link,
    /// A device, pipe or socket: opening one may block for ever.
    Special,
}

/// What is known about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// When its content last changed, in nanoseconds since the epoch, by the clock of the place.
    pub modified_ns: i128,
    /// Permission bits, where the place has them.
    pub mode: Option<u32>,
    /// Where it really is, with links resolved.
    pub resolved: TargetPath,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its name, lossy when it is no text.
    pub name: String,
    /// What it is.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
}

/// How a write treats what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// Replaces the file in one step, keeping its permissions; parents are created.
    Replace,
    /// Adds to the end.
    Append,
    /// Fails when the file is there.
    Create,
}

/// File access in a place.
pub trait Files: Send + Sync {
    /// At most `limit` bytes from `offset` on; fewer at the end.
    fn read<'a>(
        &'a self,
        path: &'a TargetPath,
        offset: u64,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, EnvError>>;

    /// Writes a whole content.
    fn write<'a>(
        &'a self,
        path: &'a TargetPath,
        content: &'a [u8],
        mode: WriteMode,
    ) -> BoxFuture<'a, Result<(), EnvError>>;

    /// The entries of a directory, by name.
    fn list<'a>(&'a self, path: &'a TargetPath) -> BoxFuture<'a, Result<Vec<Entry>, EnvError>>;

    /// What is known about a file; links are followed.
    fn stat<'a>(&'a self, path: &'a TargetPath) -> BoxFuture<'a, Result<Stat, EnvError>>;

    /// Removes a file; a directory only when it is empty.
    fn remove<'a>(&'a self, path: &'a TargetPath) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Moves a file within the place.
    fn rename<'a>(
        &'a self,
        from: &'a TargetPath,
        to: &'a TargetPath,
    ) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Brings a file of the host into the place.
    fn copy_in<'a>(
        &'a self,
        from: &'a HostPath,
        to: &'a TargetPath,
    ) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Brings a file of the place to the host.
    fn copy_out<'a>(
        &'a self,
        from: &'a TargetPath,
        to: &'a HostPath,
    ) -> BoxFuture<'a, Result<(), EnvError>>;
}
