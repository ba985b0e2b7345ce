//! System calls for processes that may not allocate: the keeper, the sitters and the moment
//! before a program begins.
//!
//! They are forks of a program with many threads, so a lock of the allocator may be held for
//! ever. Everything here is a thin, checked face of one call; nothing here decides anything.

#![expect(unsafe_code, reason = "fork, exec and signals have no safe face without an allocator")]

use std::ffi::CStr;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::RawFd;
use std::os::raw::{c_char, c_int, c_ulong, c_void};
use std::ptr::{null, null_mut};

pub(crate) use super::socket::{Received, receive, send, send_fd, socket_pair};

/// The error number of the last call that failed.
pub(crate) fn errno() -> i32 {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() }
}

/// Makes a copy of this process: 0 in the copy, its number in the original.
///
/// The bare call, because the C library's `fork` runs handlers and takes allocator locks.
pub(crate) fn fork() -> Result<i32, i32> {
    let flags = libc::SIGCHLD as c_ulong;
    let none: c_ulong = 0;
    // SAFETY: without CLONE_VM the copy has its own memory and goes on here, on its own stack.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    if pid < 0 { Err(errno()) } else { i32::try_from(pid).map_err(|_| libc::EOVERFLOW) }
}

/// Ends this process at once.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: takes no memory and runs no handlers.
    unsafe { libc::_exit(code) }
}

pub(crate) fn getpid() -> i32 {
    // SAFETY: takes nothing. The raw call, because a bare fork leaves cached numbers behind.
    i32::try_from(unsafe { libc::syscall(libc::SYS_getpid) }).unwrap_or(-1)
}

pub(crate) fn getppid() -> i32 {
    // SAFETY: takes nothing.
    unsafe { libc::getppid() }
}

/// Begins a session and a process group of its own.
pub(crate) fn setsid() {
    // SAFETY: takes nothing; fails only for a group leader, which a fresh fork is not.
    unsafe { libc::setsid() };
}

/// A `prctl` with one number.
pub(crate) fn prctl(option: c_int, value: c_ulong) -> Result<(), i32> {
    // SAFETY: the options used here take one number.
    let done = unsafe { libc::prctl(option, value, 0, 0, 0) };
    if done < 0 { Err(errno()) } else { Ok(()) }
}

/// The name that `ps` shows.
pub(crate) fn set_name(name: &CStr) {
    // SAFETY: the name ends with a zero and is copied.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr(), 0, 0, 0) };
}

/// Every signal has its default effect again, and none is blocked.
pub(crate) fn reset_signals() {
    for signal in 1..=64 {
        // SAFETY: the action is the default one and needs no memory.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: the set is initialised by `sigemptyset` before use.
    unsafe {
        let mut none = zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, null_mut());
    }
}

/// Ignores a signal.
pub(crate) fn ignore(signal: c_int) {
    // SAFETY: ignoring needs no handler.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Blocks every signal, so that none of the original's handlers runs in a copy.
pub(crate) fn block_signals() -> libc::sigset_t {
    // SAFETY: both sets are initialised before use.
    unsafe {
        let mut all = zeroed();
        let mut old = zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        old
    }
}

/// Puts an earlier mask back.
pub(crate) fn restore_signals(mask: &libc::sigset_t) {
    // SAFETY: the mask came from `block_signals`.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, null_mut()) };
}

/// A descriptor that is readable when one of two signals came; both are blocked.
pub(crate) fn signal_fd(first: c_int, second: c_int) -> RawFd {
    // SAFETY: the set is initialised before use.
    unsafe {
        let mut set = zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, first);
        libc::sigaddset(&raw mut set, second);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, null_mut());
        libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC)
    }
}

/// The number of the next signal on such a descriptor.
pub(crate) fn next_signal(fd: RawFd) -> Option<c_int> {
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the buffer is as long as the record that is read.
    let got = unsafe { libc::read(fd, info.as_mut_ptr().cast(), size) };
    if usize::try_from(got) != Ok(size) {
        return None;
    }
    // SAFETY: a whole record was read.
    c_int::try_from(unsafe { info.assume_init() }.ssi_signo).ok()
}

/// Waits for one of the descriptors; a negative one is skipped. A negative time is for ever.
pub(crate) fn poll(fds: &mut [libc::pollfd], timeout_ms: c_int) {
    let count = libc::nfds_t::try_from(fds.len()).unwrap_or(0);
    // SAFETY: the slice and its length belong together.
    unsafe { libc::poll(fds.as_mut_ptr(), count, timeout_ms) };
}

/// Milliseconds of the monotonic clock.
pub(crate) fn now_ms() -> i64 {
    // SAFETY: the struct is filled by the call.
    unsafe {
        let mut time = zeroed::<libc::timespec>();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time);
        time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }
}

/// What `reap` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reaped {
    /// This child ended with this status.
    One(i32, i32),
    /// There are children and none has ended.
    Nothing,
    /// There are no children.
    NoChildren,
}

/// Takes one ended child, without waiting.
pub(crate) fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: the status is a local.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) };
    match pid {
        0 => Reaped::Nothing,
        pid if pid > 0 => Reaped::One(pid, status),
        _ if errno() == libc::EINTR => Reaped::Nothing,
        _ => Reaped::NoChildren,
    }
}

/// Waits until there are no children.
pub(crate) fn reap_all() {
    // SAFETY: no status is asked for.
    while unsafe { libc::waitpid(-1, null_mut(), 0) } > 0 || errno() == libc::EINTR {}
}

pub(crate) fn kill(pid: i32, signal: c_int) {
    // SAFETY: takes two numbers.
    unsafe { libc::kill(pid, signal) };
}

pub(crate) fn close(fd: RawFd) {
    if fd >= 0 {
        // SAFETY: the caller owns the descriptor and forgets it.
        unsafe { libc::close(fd) };
    }
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: u32) {
    // SAFETY: takes numbers; the callers keep nothing above `first`.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
}

/// Marks every descriptor from `first` on to be closed by `execve`.
pub(crate) fn close_from_on_exec(first: u32) {
    const CLOSE_RANGE_CLOEXEC: u32 = 4;
    // SAFETY: takes numbers.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, CLOSE_RANGE_CLOEXEC) };
}

/// Puts a copy of `from` at number `to`, which survives `execve`.
pub(crate) fn dup_to(from: RawFd, to: RawFd) -> bool {
    if from == to {
        // SAFETY: clears one flag of a descriptor we own.
        return unsafe { libc::fcntl(from, libc::F_SETFD, 0) } >= 0;
    }
    // SAFETY: takes two numbers.
    unsafe { libc::dup2(from, to) >= 0 }
}

/// A copy of `from` with a number of at least `least`.
pub(crate) fn dup_above(from: RawFd, least: RawFd) -> RawFd {
    // SAFETY: takes two numbers.
    unsafe { libc::fcntl(from, libc::F_DUPFD_CLOEXEC, least) }
}

/// Opens for reading and writing as `flags` say, with close-on-exec.
pub(crate) fn open(path: &CStr, flags: c_int) -> RawFd {
    // SAFETY: the path ends with a zero.
    unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) }
}

pub(crate) fn read(fd: RawFd, into: &mut [u8]) -> isize {
    // SAFETY: the slice and its length belong together.
    unsafe { libc::read(fd, into.as_mut_ptr().cast(), into.len()) }
}

pub(crate) fn write(fd: RawFd, bytes: &[u8]) -> isize {
    // SAFETY: the slice and its length belong together.
    unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) }
}

/// Directory entries in the kernel's own form.
pub(crate) fn entries(fd: RawFd, into: &mut [u8]) -> isize {
    // SAFETY: the slice and its length belong together.
    let got = unsafe { libc::syscall(libc::SYS_getdents64, fd, into.as_mut_ptr(), into.len()) };
    isize::try_from(got).unwrap_or(-1)
}

/// Goes to a directory.
pub(crate) fn chdir(path: *const c_char) -> Result<(), i32> {
    // SAFETY: the pointer comes from a relocated block and ends with a zero.
    if unsafe { libc::chdir(path) } < 0 { Err(errno()) } else { Ok(()) }
}

/// Which directory is the working one: its device and number.
pub(crate) fn working_directory() -> Option<(u64, u64)> {
    let mut known = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the text ends with a zero, and the place for the answer is ours.
    if unsafe { libc::stat(c".".as_ptr(), known.as_mut_ptr()) } < 0 {
        return None;
    }
    // SAFETY: plain numbers, filled in by the call that has just succeeded.
    let known = unsafe { known.assume_init() };
    Some((known.st_dev, known.st_ino))
}

/// Makes the terminal on descriptor 0 the controlling one.
pub(crate) fn take_terminal() -> Result<(), i32> {
    // SAFETY: takes numbers.
    if unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } < 0 { Err(errno()) } else { Ok(()) }
}

/// How many files may be open at a time.
pub(crate) fn open_files_max() -> c_int {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is a local.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    if known { c_int::try_from(limit.rlim_cur).unwrap_or(c_int::MAX) } else { c_int::MAX }
}

/// No core files: they would hold a child's memory, secrets included.
pub(crate) fn no_core_files() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is a local.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
}

/// Maps a file privately and writable: its address and size.
pub(crate) fn map_private(fd: RawFd) -> Option<(*mut u8, usize)> {
    // SAFETY: the struct is filled by the call; the mapping is new.
    unsafe {
        let mut stat = zeroed::<libc::stat>();
        if libc::fstat(fd, &raw mut stat) < 0 {
            return None;
        }
        let size = usize::try_from(stat.st_size).ok()?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let base = libc::mmap(null_mut(), size, protection, libc::MAP_PRIVATE, fd, 0);
        (base != libc::MAP_FAILED).then_some((base.cast(), size))
    }
}

/// Becomes another program; comes back only with an error.
pub(crate) fn execve(
    program: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
) -> i32 {
    // SAFETY: the tables come from a relocated block: zero-ended texts, null-ended tables.
    unsafe { libc::execve(program, argv, envp) };
    errno()
}

/// Confines this thread by a Landlock ruleset.
pub(crate) fn landlock(ruleset: RawFd) -> Result<(), i32> {
    // SAFETY: takes numbers.
    let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) };
    if done < 0 { Err(errno()) } else { Ok(()) }
}

/// Confines this thread by a seccomp program.
pub(crate) fn seccomp(filter: *mut u8, count: u16) -> Result<(), i32> {
    let program = libc::sock_fprog { len: count, filter: filter.cast() };
    let mode: c_ulong = 1;
    // SAFETY: the program lies in the mapped block and the kernel copies it.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, mode, 0, &raw const program) };
    if done < 0 { Err(errno()) } else { Ok(()) }
}

/// Leaves the shared namespaces named by the flags.
pub(crate) fn unshare(flags: c_int) -> Result<(), i32> {
    // SAFETY: takes a number; this process has one thread.
    if unsafe { libc::unshare(flags) } < 0 { Err(errno()) } else { Ok(()) }
}

/// Mounts without a file system type or data.
pub(crate) fn mount(from: *const c_char, to: *const c_char, flags: c_ulong) -> Result<(), i32> {
    // SAFETY: both paths end with a zero; the source may be null for a change of propagation.
    let done = unsafe { libc::mount(from, to, null(), flags, null()) };
    if done < 0 { Err(errno()) } else { Ok(()) }
}

/// Makes a mount and all below it read-only.
pub(crate) fn set_read_only(path: *const c_char) -> Result<(), i32> {
    change_mount(path, libc::AT_RECURSIVE, libc::MOUNT_ATTR_RDONLY, 0)
}

/// Makes one mount writable again.
pub(crate) fn clear_read_only(path: *const c_char) -> Result<(), i32> {
    change_mount(path, 0, 0, libc::MOUNT_ATTR_RDONLY)
}

fn change_mount(path: *const c_char, flags: c_int, set: u64, clear: u64) -> Result<(), i32> {
    let change = libc::mount_attr { attr_set: set, attr_clr: clear, propagation: 0, userns_fd: 0 };
    let size = size_of::<libc::mount_attr>();
    // SAFETY: the path ends with a zero; the struct is a local of the size given.
    let done = unsafe {
        let change = &raw const change;
        libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path, flags, change, size)
    };
    if done < 0 { Err(errno()) } else { Ok(()) }
}

/// The first byte of a text.
pub(crate) fn first_byte(text: *const c_char) -> u8 {
    // SAFETY: the text has at least its ending zero.
    unsafe { text.cast::<u8>().read() }
}

/// The Landlock version of the kernel; 0 without.
pub(crate) fn landlock_version() -> u32 {
    const VERSION: c_ulong = 1;
    let none: c_ulong = 0;
    // SAFETY: with this flag and no attributes the call only answers.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, null::<u8>(), none, VERSION) };
    u32::try_from(version).unwrap_or(0)
}

/// Waits for one child and gives its exit code.
pub(crate) fn wait_code(pid: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: the status is a local.
    while unsafe { libc::waitpid(pid, &raw mut status, 0) } < 0 {
        if errno() != libc::EINTR {
            return None;
        }
    }
    libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status))
}

/// Frees the pages of a range; they read as zero afterwards.
pub(crate) fn forget_pages(start: usize, end: usize) {
    // SAFETY: the caller leaves out the stack and the thread's own storage and uses no heap.
    unsafe {
        libc::madvise(start as *mut c_void, end.saturating_sub(start), libc::MADV_DONTNEED);
    }
}

/// The address of this thread's own storage.
pub(crate) fn thread_storage() -> usize {
    // SAFETY: only the address is used.
    unsafe { libc::__errno_location() as usize }
}

/// The effective user and group.
pub(crate) fn identity() -> (u32, u32) {
    // SAFETY: takes nothing.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Writes a whole small file that exists.
pub(crate) fn write_file(path: &CStr, bytes: &[u8]) -> Result<(), i32> {
    let fd = open(path, libc::O_WRONLY);
    if fd < 0 {
        return Err(errno());
    }
    let done = if write(fd, bytes) < 0 { Err(errno()) } else { Ok(()) };
    close(fd);
    done
}

/// The first two texts of a null-ended table, and the rest of it.
pub(crate) fn pair(
    table: *const *const c_char,
) -> Option<(*const c_char, *const c_char, *const *const c_char)> {
    // SAFETY: the table comes from a relocated block, holds pairs and ends with a null pointer.
    unsafe {
        let (from, to) = (table.read(), table.add(1));
        if from.is_null() || to.read().is_null() {
            return None;
        }
        Some((from, to.read(), table.add(2)))
    }
}

/// Zeroed memory for a table of plain numbers, for the life of the process.
pub(crate) fn scratch<T: Copy>(count: usize) -> Option<&'static mut [T]> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the mapping is new, zeroed, page-aligned, never unmapped and handed out once. The
    // callers' types are plain numbers and flags, for which zero is a value.
    unsafe {
        let base = libc::mmap(null_mut(), count * size_of::<T>(), protection, flags, -1, 0);
        (base != libc::MAP_FAILED).then(|| std::slice::from_raw_parts_mut(base.cast::<T>(), count))
    }
}

/// How long a file is.
pub(crate) fn size(fd: RawFd) -> i64 {
    // SAFETY: the struct is filled by the call.
    unsafe {
        let mut stat = zeroed::<libc::stat>();
        if libc::fstat(fd, &raw mut stat) < 0 { 0 } else { stat.st_size }
    }
}

/// A pipe: the end to read and the end to write.
pub(crate) fn pipe() -> Option<(RawFd, RawFd)> {
    let mut ends = [-1; 2];
    // SAFETY: the array has room for both ends.
    let done = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
    (done == 0).then_some((ends[0], ends[1]))
}
