//! A control group for each tree, where the kernel lets us make them.
//!
//! The process that will become the program is born in its group, so that a call pays nothing for
//! it; ending the group ends everything in it at once, however fast it forks. A tree is owned
//! through its sitter all the same: without groups, and when a process has left its own.

#![expect(unsafe_code, reason = "raw calls without an allocator, as in `sys`")]

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{OwnedFd, RawFd};
use std::os::raw::{c_int, c_long};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::keep::GROUPS;
use super::sys;

/// The name of a program's own folder begins so; the rest is its number.
const PREFIX: &str = "petasos-";

/// The folder in which the trees of this program get their groups.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    pub(super) fd: OwnedFd,
}

impl Folder {
    /// Makes the folder below the group of this program; `None` where that is not allowed.
    pub(super) fn make() -> Option<Self> {
        let above = own_group()?;
        sweep(&above);
        let number = std::process::id();
        let path = (0..100).map(|again| above.join(format!("{PREFIX}{number}-{again}"))).find(
            // Another keeper of this program may have one.
            |path| std::fs::create_dir(path).is_ok(),
        )?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&path, flags, Mode::empty()).ok();
        // Kernels before 5.14 cannot end a group at once, which is what it is for.
        let Some(fd) = fd.filter(|_| path.join("cgroup.kill").exists()) else {
            remove(&path);
            return None;
        };
        Some(Self { path, fd })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// The group that this program is in.
fn own_group() -> Option<PathBuf> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mounted = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let point = mounted.split(' ').nth(4)?;
    Some(Path::new(point).join(own))
}

/// Removes what programs left that are no more. A group whose sitter lives is a kept job's and
/// stays; without a sitter nobody owns what is in it, and it is ended.
fn sweep(above: &Path) {
    let left = std::fs::read_dir(above).into_iter().flatten().flatten();
    for folder in left.map(|entry| entry.path()) {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        let number = number.and_then(|number| number.parse().ok());
        if number.is_some_and(|number| !lives(number)) {
            end_ownerless(&folder);
            remove(&folder);
        }
    }
}

/// Whether a process lives; one that waits to be taken by its parent does not.
fn lives(number: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat"));
    stat.is_ok_and(|stat| {
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        !state.starts_with(['Z', 'X'])
    })
}

/// Ends the groups in a folder whose sitters are gone: killed, together with their keeper.
fn end_ownerless(folder: &Path) {
    for group in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = group.file_name();
        // The number of the sitter, its last digit first.
        let sitter: String = name.to_string_lossy().chars().rev().collect();
        if sitter.parse().map_or(true, lives) {
            continue;
        }
        let order = group.path().join("cgroup.kill");
        let killed = File::options()
            .write(true)
            .open(order)
            .and_then(|mut order| std::io::Write::write_all(&mut order, b"1"));
        if let Err(error) = killed {
            tracing::debug!(%error, "processes that nobody owns were not ended");
        }
    }
}

/// Removes a folder of groups as far as they are empty; a kept job is still in its own.
fn remove(folder: &Path) {
    let inside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for group in inside.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        std::fs::remove_dir(group).unwrap_or_default();
    }
    std::fs::remove_dir(folder).unwrap_or_default();
}

/// The group of one tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    fd: RawFd,
    name: [u8; 16],
}

impl Group {
    /// Makes a group with the number of its sitter.
    pub(super) fn make(sitter: i32) -> Option<Self> {
        let mut name = [0; 16];
        let mut rest = sitter.unsigned_abs();
        // The last byte stays zero.
        for slot in name.iter_mut().take(10) {
            *slot = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
        let group = Self { fd: -1, name };
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: the name ends with a zero.
        let fd = unsafe {
            if libc::mkdirat(GROUPS, group.name().as_ptr(), 0o755) < 0 {
                return None;
            }
            libc::openat(GROUPS, group.name().as_ptr(), flags)
        };
        if fd < 0 {
            group.remove();
            return None;
        }
        Some(Self { fd, ..group })
    }

    fn name(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.name).unwrap_or(c"none")
    }

    /// Makes a copy of this process in the group: 0 in the copy, its number in the original.
    pub(super) fn fork(&self) -> Result<i32, i32> {
        const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
        let signal = libc::SIGCHLD.unsigned_abs().into();
        let group = u64::try_from(self.fd).map_err(|_| libc::EBADF)?;
        // Flags, four unused, the signal, four unused, the group.
        let arguments: [u64; 11] = [CLONE_INTO_CGROUP, 0, 0, 0, signal, 0, 0, 0, 0, 0, group];
        // SAFETY: without CLONE_VM and without a stack the copy has its own memory and goes on
        // here; the table has the size that is given.
        let pid: c_long =
            unsafe { libc::syscall(libc::SYS_clone3, arguments.as_ptr(), size_of_val(&arguments)) };
        if pid < 0 { Err(sys::errno()) } else { i32::try_from(pid).map_err(|_| libc::EOVERFLOW) }
    }

    /// Ends everything in it.
    pub(super) fn kill(&self) {
        // SAFETY: the name ends with a zero.
        let fd: c_int = unsafe {
            libc::openat(self.fd, c"cgroup.kill".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC)
        };
        if fd >= 0 {
            sys::write(fd, b"1");
            sys::close(fd);
        }
    }

    /// Removes it; one that somebody is still in stays for the next program to sweep.
    pub(super) fn remove(&self) {
        sys::close(self.fd);
        // SAFETY: the name ends with a zero.
        unsafe { libc::unlinkat(GROUPS, self.name().as_ptr(), libc::AT_REMOVEDIR) };
    }
}
