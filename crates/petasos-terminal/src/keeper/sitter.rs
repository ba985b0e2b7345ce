//! A sitter: the small process that owns the tree of one call or job, and waits for one first.
//!
//! It is the subreaper of the tree, so it sees every descendant die and knows when none is left.
//! It ends the tree when told, or when the line to the program breaks and the tree was not kept.
//! For a kept tree it goes on alone: it drains the output and leaves the exit status in a file.

use std::os::fd::RawFd;

use super::group::Group;
use super::keep::SOCKET;
use super::survey::{self, Row};
use super::sys::{self, Reaped, Received};
use super::wire::{FDS_MAX, Kind, Message};
use super::{begin, drain};

/// How long a tree has after the program that wanted it is gone.
const GRACE_ORPHANED_MS: i64 = 500;
/// How soon survivors of a kill are looked for again, at first and at most.
const AGAIN_MS: i32 = 5;
const AGAIN_MAX_MS: i32 = 1000;

/// Makes the process that will become the program, waits until a request makes it one, and
/// watches over its tree until it is empty. `told` is how the keeper hears that one is taken.
pub(super) fn sit(told: RawFd) -> ! {
    sys::setsid();
    sys::set_name(c"petasos-sit");
    let alone = sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1).is_err();
    let signals = sys::signal_fd(libc::SIGCHLD, libc::SIGTERM);
    let Some((ours, theirs)) = sys::socket_pair().filter(|_| !alone) else { sys::exit(1) };
    let sitter = sys::getpid();
    let group = Group::make(sitter);
    // A kernel that cannot do it has no use for the group either.
    let (forked, group) = match group.map(|group| (group.fork(), group)) {
        Some((Ok(pid), group)) => (Ok(pid), Some(group)),
        Some((Err(_), group)) => {
            group.remove();
            (sys::fork(), None)
        }
        None => (sys::fork(), None),
    };
    let pid = match forked {
        Ok(0) => {
            sys::close(ours);
            begin::wait(theirs, sitter)
        }
        Ok(pid) => pid,
        Err(_) => sys::exit(1),
    };
    sys::close(theirs);
    sys::close(SOCKET);
    let rows = sys::scratch::<Row>(survey::ROWS_MAX).unwrap_or_default();
    let line = taken(ours, group);
    sys::close(ours);
    sys::write(told, &sitter.to_ne_bytes());
    sys::close(told);
    let phase = Phase::Watching;
    Sitter { line, signals, pid, rows, phase, status: None, kept: None, group }.watch()
}

/// Waits for the line of the request that our child has taken.
fn taken(ours: RawFd, group: Option<Group>) -> RawFd {
    let mut fds = [-1; FDS_MAX];
    loop {
        match sys::receive(ours, &mut fds) {
            Received::Message(_, 1) => return fds[0],
            Received::Message(..) | Received::Nothing => {}
            // It ended without one: the program is gone.
            Received::Gone => {
                sys::reap_all();
                if let Some(group) = group {
                    group.remove();
                }
                sys::exit(0)
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Watching,
    /// TERM was sent; KILL follows at this time.
    Terminating(i64),
    /// KILL was sent; survivors are looked for again after so many milliseconds.
    Killing(i32),
}

/// What a kept tree leaves behind.
#[derive(Debug, Clone, Copy)]
struct Kept {
    output: RawFd,
    log: RawFd,
    exit: RawFd,
}

struct Sitter {
    /// -1 once the program is gone.
    line: RawFd,
    signals: RawFd,
    pid: i32,
    rows: &'static mut [Row],
    phase: Phase,
    status: Option<i32>,
    kept: Option<Kept>,
    group: Option<Group>,
}

impl Sitter {
    fn watch(mut self) -> ! {
        loop {
            let mut fds = [self.line, self.signals, self.drained()].map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            });
            sys::poll(&mut fds, self.patience());
            let [line, signals, output] = fds.map(|fd| fd.revents != 0);
            // What the program says comes first: an end that is seen now may be for a job.
            if line {
                self.heard();
            }
            if signals {
                self.signalled();
            }
            if output && let Some(kept) = self.kept {
                self.drain(kept);
            }
            self.escalate();
        }
    }

    /// The output is ours to read only when nobody else does.
    fn drained(&self) -> RawFd {
        self.kept.filter(|_| self.line < 0).map_or(-1, |kept| kept.output)
    }

    fn patience(&self) -> i32 {
        match self.phase {
            Phase::Watching => -1,
            Phase::Terminating(until) => i32::try_from(until - sys::now_ms()).unwrap_or(0).max(0),
            Phase::Killing(again) => again,
        }
    }

    fn signalled(&mut self) {
        while let Some(signal) = sys::next_signal(self.signals) {
            // A later program asks this way: it has no line to us.
            if signal == libc::SIGTERM {
                self.terminate(GRACE_ORPHANED_MS * 4);
            }
        }
        self.reap();
    }

    fn reap(&mut self) {
        let mut ended = false;
        let alone = loop {
            match sys::reap() {
                Reaped::One(pid, status) if pid == self.pid => {
                    self.status = Some(status);
                    ended = true;
                }
                Reaped::One(..) => {}
                Reaped::Nothing => break false,
                Reaped::NoChildren => break true,
            }
        };
        if ended {
            let status = self.status.unwrap_or(0);
            sys::send(self.line, Message::new(Kind::Exited, status, i32::from(!alone)));
            if let Some(kept) = self.kept {
                drain::leave_status(kept.exit, status);
            }
        }
        if alone {
            self.finish();
        }
    }

    fn finish(&self) -> ! {
        sys::send(self.line, Message::new(Kind::Empty, 0, 0));
        if let Some(kept) = self.kept
            && self.line < 0
        {
            while drain::pour(kept.output, kept.log) {}
        }
        if let Some(group) = self.group {
            group.remove();
        }
        sys::exit(0)
    }

    fn heard(&mut self) {
        let mut fds = [-1; FDS_MAX];
        match sys::receive(self.line, &mut fds) {
            Received::Message(Message { kind: Kind::Kill, first, .. }, _) => {
                self.terminate(i64::from(first));
            }
            Received::Message(Message { kind: Kind::Keep, .. }, 3) => {
                let [output, log, exit, ..] = fds;
                self.kept = Some(Kept { output, log, exit });
                if let Some(status) = self.status {
                    drain::leave_status(exit, status);
                }
            }
            Received::Message(_, count) => fds.iter().take(count).for_each(|fd| sys::close(*fd)),
            Received::Nothing => {}
            Received::Gone => {
                sys::close(self.line);
                self.line = -1;
                if self.kept.is_none() {
                    self.terminate(GRACE_ORPHANED_MS);
                }
            }
        }
    }

    fn drain(&mut self, kept: Kept) {
        if !drain::pour(kept.output, kept.log) {
            sys::close(kept.output);
            self.kept = Some(Kept { output: -1, ..kept });
        }
    }

    fn terminate(&mut self, grace_ms: i64) {
        if matches!(self.phase, Phase::Killing(_)) {
            return;
        }
        if grace_ms <= 0 {
            self.kill();
            return;
        }
        survey::descendants(self.rows, &mut |pid| {
            sys::kill(pid, libc::SIGTERM);
            // The stopped must wake up to die politely.
            sys::kill(pid, libc::SIGCONT);
        });
        self.phase = Phase::Terminating(sys::now_ms() + grace_ms);
    }

    fn escalate(&mut self) {
        match self.phase {
            Phase::Watching => {}
            Phase::Terminating(until) if sys::now_ms() < until => {}
            Phase::Terminating(_) => self.kill(),
            Phase::Killing(again) => {
                self.kill();
                self.phase = Phase::Killing((again * 2).min(AGAIN_MAX_MS));
            }
        }
    }

    /// First everything is stopped, again and again until nothing new appears: a storm of forks
    /// would otherwise outrun the kills.
    fn kill(&mut self) {
        if let Some(group) = self.group {
            group.kill();
        }
        let mut before = 0;
        for _ in 0..32 {
            let found = survey::descendants(self.rows, &mut |pid| sys::kill(pid, libc::SIGSTOP));
            if found == before {
                break;
            }
            before = found;
        }
        survey::descendants(self.rows, &mut |pid| sys::kill(pid, libc::SIGKILL));
        if self.status.is_none() {
            sys::kill(self.pid, libc::SIGKILL);
        }
        self.phase = Phase::Killing(AGAIN_MS);
        self.reap();
    }
}
