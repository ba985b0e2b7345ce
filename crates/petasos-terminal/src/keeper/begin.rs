//! The process that waits to become a program, and its last steps before it does.
//!
//! Every confinement is in place before the program is told to be ready; a step that fails is
//! reported with its error number and the program does not run.

use std::os::fd::RawFd;
use std::os::raw::c_char;

use super::keep::SOCKET;
use super::payload::{FLAG_COVER, FLAG_POWERLESS, FLAG_TTY, FLAG_USERNS, Mapped};
use super::sys::{self, Received};
use super::wire::{FDS_MAX, Kind, Message, Role, Roles, Stage};
use super::{capabilities, privacy};

/// The descriptors that a program is given besides the usual three begin here, where so many may be
/// open: high, because scripts use the low ones by number.
const FIRST_FD: i32 = 200;

/// How many they are.
const GIVEN_FDS: i32 = 3;

/// The first of them: below the limit of open files, which the keeper has from the program.
fn first_fd() -> i32 {
    sys::open_files_max().saturating_sub(GIVEN_FDS).min(FIRST_FD)
}

/// The descriptor on which a shell leaves its directory and exports.
pub(crate) fn state_fd() -> i32 {
    first_fd()
}

/// The descriptor of a script too long for an argument.
pub(crate) fn script_fd() -> i32 {
    first_fd() + 1
}

/// The descriptor of a seccomp filter that the program itself installs.
pub(crate) fn filter_fd() -> i32 {
    first_fd() + 2
}

/// Waits for a request, hands its line to the sitter, and becomes the program.
pub(super) fn wait(sitter_line: RawFd, sitter: i32) -> ! {
    // A sitter that is killed takes its program along.
    let kill = libc::SIGKILL.unsigned_abs().into();
    if sys::prctl(libc::PR_SET_PDEATHSIG, kill).is_err() || sys::getppid() != sitter {
        sys::exit(1);
    }
    sys::setsid();
    let mut fds = [-1; FDS_MAX];
    let roles = loop {
        match sys::receive(SOCKET, &mut fds) {
            Received::Message(Message { kind: Kind::Sit, first, .. }, count) => {
                break Roles::deal(first, fds.get(..count).unwrap_or_default());
            }
            Received::Message(_, count) => fds.iter().take(count).for_each(|fd| sys::close(*fd)),
            Received::Nothing => {}
            Received::Gone => sys::exit(0),
        }
    };
    let line = roles.fd(Role::Line);
    // Before anything can fail, so that the sitter can tell how we ended.
    sys::send_fd(sitter_line, Message::new(Kind::Sit, 0, 0), line);
    let (stage, error) = match mapped(roles.fd(Role::Payload)) {
        None => (Stage::Payload, libc::EINVAL),
        Some(plan) => match steps(&plan, &roles, sitter) {
            Ok(never) => match never {},
            Err(failure) => failure,
        },
    };
    sys::send(line, Message::new(Kind::Failed, stage as i32, error));
    sys::exit(127)
}

#[expect(unsafe_code, reason = "the block was just mapped for us alone")]
fn mapped(fd: RawFd) -> Option<Mapped> {
    let (base, size) = sys::map_private(fd)?;
    // SAFETY: the mapping is private, writable, of that size, and never unmapped.
    unsafe { Mapped::relocate(base, size) }
}

fn steps(
    plan: &Mapped,
    roles: &Roles,
    sitter: i32,
) -> Result<std::convert::Infallible, (Stage, i32)> {
    let at = |stage: Stage| move |error: i32| (stage, error);
    sys::close_from_on_exec(3);
    let places = [
        (Role::Stdin, 0),
        (Role::Stdout, 1),
        (Role::Stderr, 2),
        (Role::State, state_fd()),
        (Role::Script, script_fd()),
        (Role::Filter, filter_fd()),
    ];
    for (role, place) in places {
        if roles.fd(role) >= 0 && !sys::dup_to(roles.fd(role), place) {
            return Err((Stage::Payload, sys::errno()));
        }
    }
    if plan.has(FLAG_TTY) {
        sys::take_terminal().map_err(at(Stage::Tty))?;
    }
    sys::reset_signals();
    sys::no_core_files();
    let missing = (Stage::Payload, libc::EINVAL);
    // Maps of a namespace can be written only by a process that may be looked at; nothing of the
    // program is left in this one.
    privacy::show();
    if let Some(mounts) = plan.mounts() {
        let arrange = if plan.has(FLAG_COVER) { cover } else { arrange };
        arrange(mounts, plan.has(FLAG_USERNS)).map_err(at(Stage::Mounts))?;
    }
    sys::chdir(plan.cwd().ok_or(missing)?).map_err(at(Stage::Cwd))?;
    // Asked of where we are, so that no later change of the path matters.
    if plan.directory().is_some_and(|named| sys::working_directory() != Some(named)) {
        return Err((Stage::Cwd, libc::ESTALE));
    }
    let (ruleset, filter) = (roles.fd(Role::Ruleset), plan.filter());
    if ruleset >= 0 || filter.is_some() {
        sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(at(Stage::Seccomp))?;
    }
    if ruleset >= 0 {
        sys::landlock(ruleset).map_err(at(Stage::Landlock))?;
    }
    if plan.has(FLAG_POWERLESS) {
        capabilities::drop_all().map_err(at(Stage::Seccomp))?;
    }
    if let Some((filter, count)) = filter {
        sys::seccomp(filter, count).map_err(at(Stage::Seccomp))?;
    }
    let (program, argv) = (plan.program().ok_or(missing)?, plan.argv().ok_or(missing)?);
    let envp = plan.envp().ok_or(missing)?;
    sys::send(roles.fd(Role::Line), Message::new(Kind::Ready, sys::getpid(), sitter));
    Err((Stage::Exec, sys::execve(program, argv, envp)))
}

/// Makes the whole tree read-only but for some paths, in a namespace of its own. The table holds
/// pairs of a letter and a path: `w` stays writable, `r` is read-only even below such a path,
/// `h` is hidden.
fn arrange(mounts: *const *const c_char, in_user_namespace: bool) -> Result<(), i32> {
    enter_namespace(in_user_namespace)?;
    sys::mount(std::ptr::null(), c"/".as_ptr(), libc::MS_REC | libc::MS_PRIVATE)?;
    let bind = libc::MS_BIND | libc::MS_REC;
    each(mounts, b'w', &|path| sys::mount(path, path, bind))?;
    sys::set_read_only(c"/".as_ptr())?;
    each(mounts, b'w', &|path| sys::clear_read_only(path))?;
    each(mounts, b'r', &|path| {
        sys::mount(path, path, bind)?;
        sys::set_read_only(path)
    })?;
    each(mounts, b'h', &|path| if_there(sys::mount(c"/dev/null".as_ptr(), path, libc::MS_BIND)))
}

/// Hides what the table says and leaves everything else to the program that comes next. A mount that
/// has all the flags which that program would give it is not touched by it, so that what goes away
/// meanwhile is no obstacle.
fn cover(mounts: *const *const c_char, in_user_namespace: bool) -> Result<(), i32> {
    let barred = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let again = libc::MS_REMOUNT | libc::MS_BIND | barred;
    enter_namespace(in_user_namespace)?;
    sys::mount(std::ptr::null(), c"/".as_ptr(), libc::MS_REC | libc::MS_PRIVATE)?;
    each(mounts, b'h', &|path| {
        if_there(sys::mount(c"/dev/null".as_ptr(), path, libc::MS_BIND))?;
        match sys::mount(std::ptr::null(), path, again) {
            // No mount is there any more.
            Err(libc::EINVAL) => Ok(()),
            mounted => if_there(mounted),
        }
    })
}

/// What has gone since it was found need not be hidden.
fn if_there(mounted: Result<(), i32>) -> Result<(), i32> {
    match mounted {
        Err(libc::ENOENT) => Ok(()),
        mounted => mounted,
    }
}

/// Makes a namespace for mounts, and one for users where that is what it takes.
pub(super) fn enter_namespace(with_users: bool) -> Result<(), i32> {
    if !with_users {
        return sys::unshare(libc::CLONE_NEWNS);
    }
    let (user, group) = sys::identity();
    sys::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
    sys::write_file(c"/proc/self/setgroups", b"deny")?;
    write_map(c"/proc/self/uid_map", user)?;
    write_map(c"/proc/self/gid_map", group)
}

fn each(
    mut table: *const *const c_char,
    letter: u8,
    act: &dyn Fn(*const c_char) -> Result<(), i32>,
) -> Result<(), i32> {
    while let Some((kind, path, rest)) = sys::pair(table) {
        table = rest;
        if sys::first_byte(kind) == letter {
            act(path)?;
        }
    }
    Ok(())
}

/// One identity, the same inside as outside: `N N 1`.
fn write_map(path: &std::ffi::CStr, identity: u32) -> Result<(), i32> {
    let mut text = [b' '; 24];
    let mut put = |end: usize| {
        let (mut rest, mut at) = (identity, end);
        loop {
            if let Some(slot) = text.get_mut(at) {
                *slot = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            }
            rest /= 10;
            if rest == 0 || at == 0 {
                break;
            }
            at -= 1;
        }
    };
    put(9);
    put(20);
    let [.., last] = &mut text;
    *last = b'1';
    sys::write_file(path, &text)
}
