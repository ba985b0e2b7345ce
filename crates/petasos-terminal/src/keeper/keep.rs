//! The keeper: a small process made once, that always has sitters ready.
//!
//! It exists because copying a large program for every call is slow, and because a subreaper is
//! a property of a whole process, which must not be the program that embeds us. It is a fork
//! without `exec`, so it runs without the allocator and forgets the memory it was born with.
//! Requests do not pass through it: the process that will become the next program waits for one
//! by itself, so that a call costs less than a fork.

use std::os::fd::RawFd;

use super::survey::{self, Row};
use super::sys::{self, Reaped};
use super::{privacy, sitter, trim};

/// The end of the socket on which requests come, in the keeper and in all that wait.
pub(super) const SOCKET: RawFd = 3;
/// The folder in which groups are made, where there is one.
pub(super) const GROUPS: RawFd = 4;
/// How soon a sitter that could not be made is tried again.
const AGAIN_MS: i32 = 20;
/// After so many in a row that ended before anybody took them, no more are made.
const FAILED_MAX: u32 = 100;
/// So many sitters wait: whoever takes one does not wait for the next to be made.
const SPARES: usize = 2;
/// How long a program that has just been taken is let alone before another sitter is made, which
/// would slow down its start.
const PAUSE_MS: i32 = 2;

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
    // What it was born with holds secrets of the program until it is forgotten; others of this
    // user cannot look at it or at what waits below it.
    privacy::hide();
    privacy::forget_environment();
    trim::forget_heap();
    let Some(rows) = sys::scratch(survey::ROWS_MAX) else { sys::exit(1) };
    let signals = sys::signal_fd(libc::SIGCHLD, libc::SIGCHLD);
    let (mut spares, mut is_quiet) = (Spares::default(), true);
    loop {
        if spares.are_none() || is_quiet {
            spares.fill(|| prepare(told, taken));
        }
        let ask = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut fds = [ask(taken, libc::POLLIN), ask(SOCKET, 0), ask(signals, libc::POLLIN)];
        sys::poll(&mut fds, spares.patience());
        let [waiting, program, ended] = fds.map(|fd| fd.revents != 0);
        is_quiet = !waiting && !program && !ended;
        if waiting {
            spares.hear(taken);
        }
        // One that was ended while it waited must be replaced, or nobody hears the next request.
        if ended {
            reap(signals, rows, &mut spares);
        }
        // The program makes another keeper when it needs one, and hears then what is the matter.
        if program || spares.failed >= FAILED_MAX {
            leave(signals, rows);
        }
    }
}

/// The sitters that wait: their process numbers, and 0 for one that is missing.
#[derive(Default)]
struct Spares {
    pids: [i32; SPARES],
    /// The second is made only for a program that has asked once.
    are_wanted: bool,
    /// How many ended or could not be made since one was last taken.
    failed: u32,
}

impl Spares {
    fn are_none(&self) -> bool {
        self.pids.iter().all(|pid| *pid == 0)
    }

    /// The places that are to be filled.
    fn places(&mut self) -> &mut [i32] {
        let count = if self.are_wanted { SPARES } else { 1 };
        self.pids.get_mut(..count).unwrap_or_default()
    }

    /// Makes one that is missing. One at a time: a request comes first.
    fn fill(&mut self, make: impl FnOnce() -> Option<i32>) {
        if let Some(place) = self.places().iter_mut().find(|pid| **pid == 0) {
            *place = make().unwrap_or(0);
            self.failed += u32::from(*place == 0);
        }
    }

    /// How long to wait before another one is made.
    fn patience(&mut self) -> i32 {
        if self.are_none() {
            return AGAIN_MS;
        }
        if self.places().contains(&0) { PAUSE_MS } else { -1 }
    }

    /// Hears which ones were taken.
    fn hear(&mut self, taken: RawFd) {
        self.are_wanted = true;
        let mut bytes = [0; 64];
        let count = usize::try_from(sys::read(taken, &mut bytes)).unwrap_or(0);
        for pid in bytes.get(..count).unwrap_or_default().chunks_exact(4) {
            self.lose(i32::from_ne_bytes([pid[0], pid[1], pid[2], pid[3]]));
        }
        self.failed = 0;
    }

    /// This one waits no more.
    fn lose(&mut self, gone: i32) {
        for pid in self.pids.iter_mut().filter(|pid| **pid == gone) {
            *pid = 0;
            self.failed += 1;
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

/// Takes ended sitters; says whether there are others. One that was killed leaves its tree to us,
/// and nobody could name or end it any more: it is ended here.
fn reap(signals: RawFd, rows: &mut [Row], spares: &mut Spares) -> bool {
    while sys::next_signal(signals).is_some() {}
    let mut killed = false;
    loop {
        match sys::reap() {
            Reaped::One(pid, status) => {
                killed |= libc::WIFSIGNALED(status);
                spares.lose(pid);
            }
            Reaped::Nothing if killed => {
                killed = false;
                survey::orphans(rows, &mut |pid| sys::kill(pid, libc::SIGKILL));
            }
            Reaped::Nothing => return true,
            Reaped::NoChildren => return false,
        }
    }
}

/// Sitters have lines of their own and know by themselves that the program is gone. They are
/// waited for, so that their ends are taken by us and not left to whoever adopts orphans.
fn leave(signals: RawFd, rows: &mut [Row]) -> ! {
    sys::close(SOCKET);
    while reap(signals, rows, &mut Spares::default()) {
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
    // Without its socket it would never hear that the program is gone.
    let is_settled = safe >= 0
        && null >= 0
        && (0..3).all(|place| sys::dup_to(null, place))
        && sys::dup_to(safe, SOCKET);
    if !is_settled {
        sys::exit(1);
    }
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
