//! The keeper: a small process made once, that makes a sitter for each call.
//!
//! It exists because copying a large program for every call is slow, and because a subreaper is
//! a property of a whole process, which must not be the program that embeds us. It is a fork
//! without `exec`, so it runs without the allocator and forgets the memory it was born with.

use std::os::fd::RawFd;

use super::sys::{self, Received};
use super::wire::{FDS_MAX, Kind, Message, Role, Roles, Stage};
use super::{sitter, trim};

/// The keeper's own end of its socket.
const SOCKET: RawFd = 3;

/// Serves until the program is gone. Never returns: not even by a panic, which would unwind into
/// a copy of the program.
pub(super) extern "C" fn keep(socket: RawFd) -> ! {
    sys::setsid();
    sys::set_name(c"petasos-keep");
    settle(socket);
    if sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1).is_err() {
        sys::exit(1);
    }
    trim::forget_heap();
    let mut fds = [-1; FDS_MAX];
    loop {
        match sys::receive(SOCKET, &mut fds) {
            Received::Message(Message { kind: Kind::Sit, first, .. }, count) => {
                start(&Roles::deal(first, fds.get(..count).unwrap_or_default()));
            }
            Received::Message(_, count) => fds.iter().take(count).for_each(|fd| sys::close(*fd)),
            Received::Nothing => {}
            // Sitters have lines of their own and know by themselves. They are waited for, so
            // that their ends are taken by us and not left to whoever adopts orphans.
            Received::Gone => {
                sys::close(SOCKET);
                sys::wait_for_all();
                sys::exit(0)
            }
        }
    }
}

fn start(roles: &Roles) {
    match sys::fork() {
        Ok(0) => {
            sys::close(SOCKET);
            sitter::sit(roles)
        }
        Ok(_) => {}
        Err(error) => {
            let failed = Message::new(Kind::Failed, Stage::Fork as i32, error);
            sys::send(roles.fd(Role::Line), failed);
        }
    }
    for fd in roles.all() {
        sys::close(fd);
    }
}

/// Keeps nothing of the program but the socket, and is deaf to what a terminal sends.
fn settle(socket: RawFd) {
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
        // Sitters are reaped by nobody.
        libc::SIGCHLD,
    ] {
        sys::ignore(signal);
    }
    let safe = sys::dup_above(socket, 16);
    let null = sys::open(c"/dev/null", libc::O_RDWR);
    let null = sys::dup_above(null, 16);
    for place in 0..3 {
        sys::dup_to(null, place);
    }
    sys::dup_to(safe, SOCKET);
    sys::close_from(4);
    sys::close_from_on_exec(3);
    if sys::chdir(c"/".as_ptr()).is_err() {
        sys::exit(1);
    }
}
