//! The keeper: a small process made once, that always has a sitter ready.
//!
//! It exists because copying a large program for every call is slow, and because a subreaper is
//! a property of a whole process, which must not be the program that embeds us. It is a fork
//! without `exec`, so it runs without the allocator and forgets the memory it was born with.
//! Requests do not pass through it: the process that will become the next program waits for one
//! by itself, so that a call costs less than a fork.

use std::os::fd::RawFd;

use super::survey::{self, Row};
use super::sys::{self, Reaped};
use super::{sitter, trim};

/// The end of the socket on which requests come, in the keeper and in all that wait.
pub(super) const SOCKET: RawFd = 3;
/// The folder in which groups are made, where there is one.
pub(super) const GROUPS: RawFd = 4;
/// How soon a sitter that could not be made is tried again.
const AGAIN_MS: i32 = 20;

/// Serves until the program is gone. Never returns: not even by a panic, which would unwind into
/// a copy of the program.
pub(super) extern "C" fn keep(socket: RawFd, groups: RawFd) -> ! {
    sys::setsid();
    sys::set_name(c"petasos-keep");
    settle(socket, groups);
    let Some((taken, told)) = sys::pipe() else { sys::exit(1) };
    if sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1).is_err() {
        sys::exit(1);
    }
    trim::forget_heap();
    let Some(rows) = sys::scratch(survey::ROWS_MAX) else { sys::exit(1) };
    let signals = sys::signal_fd(libc::SIGCHLD, libc::SIGCHLD);
    let (mut owed, mut spare) = (1, 0);
    loop {
        while owed > 0
            && let Some(pid) = prepare(told, taken)
        {
            (owed, spare) = (owed - 1, pid);
        }
        let ask = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut fds = [ask(taken, libc::POLLIN), ask(SOCKET, 0), ask(signals, libc::POLLIN)];
        sys::poll(&mut fds, if owed > 0 { AGAIN_MS } else { -1 });
        let [waiting, program, ended] = fds;
        if waiting.revents != 0 {
            let mut bytes = [0; 64];
            (owed, spare) = (owed + sys::read(taken, &mut bytes).max(0), 0);
        }
        // One that was ended while it waited must be replaced, or nobody hears the next request.
        if ended.revents != 0 && reap(signals, rows, spare).spare_ended {
            (owed, spare) = (owed + 1, 0);
        }
        if program.revents != 0 {
            leave(signals, rows);
        }
    }
}

/// Makes one more sitter that waits.
fn prepare(told: RawFd, taken: RawFd) -> Option<i32> {
    match sys::fork() {
        Ok(0) => {
            sys::close(taken);
            sitter::sit(told)
        }
        Ok(pid) => Some(pid),
        Err(_) => None,
    }
}

/// What `reap` found.
struct Ends {
    spare_ended: bool,
    children_left: bool,
}

/// Takes ended sitters. One that was killed leaves its tree to us, and nobody could name or end
/// it any more: it is ended here.
fn reap(signals: RawFd, rows: &mut [Row], spare: i32) -> Ends {
    while sys::next_signal(signals).is_some() {}
    let (mut killed, mut spare_ended) = (false, false);
    loop {
        match sys::reap() {
            Reaped::One(pid, status) => {
                killed |= libc::WIFSIGNALED(status);
                spare_ended |= pid == spare;
            }
            Reaped::Nothing if killed => {
                killed = false;
                survey::orphans(rows, &mut |pid| sys::kill(pid, libc::SIGKILL));
            }
            Reaped::Nothing => return Ends { spare_ended, children_left: true },
            Reaped::NoChildren => return Ends { spare_ended, children_left: false },
        }
    }
}

/// Sitters have lines of their own and know by themselves that the program is gone. They are
/// waited for, so that their ends are taken by us and not left to whoever adopts orphans.
fn leave(signals: RawFd, rows: &mut [Row]) -> ! {
    sys::close(SOCKET);
    while reap(signals, rows, 0).children_left {
        let mut fds = [libc::pollfd { fd: signals, events: libc::POLLIN, revents: 0 }];
        sys::poll(&mut fds, -1);
    }
    sys::exit(0)
}

/// Keeps nothing of the program but the socket, and is deaf to what a terminal sends.
fn settle(socket: RawFd, groups: RawFd) {
    sys::reset_signals();
    for signal in [
        libc::SIGINT,
        libc::SIGTERM,
        libc::SIGHUP,
        libc::SIGQUIT,
        libc::SIGPIPE,
        libc::SIGTSTP,
        libc::SIGUSR1,
        libc::SIGUSR2,
    ] {
        sys::ignore(signal);
    }
    let safe = sys::dup_above(socket, 16);
    let groups = sys::dup_above(groups, 16);
    let null = sys::open(c"/dev/null", libc::O_RDWR);
    let null = sys::dup_above(null, 16);
    for place in 0..3 {
        sys::dup_to(null, place);
    }
    sys::dup_to(safe, SOCKET);
    sys::close(GROUPS);
    if groups >= 0 {
        sys::dup_to(groups, GROUPS);
    }
    sys::close_from(5);
    sys::close_from_on_exec(3);
    if sys::chdir(c"/".as_ptr()).is_err() {
        sys::exit(1);
    }
}
