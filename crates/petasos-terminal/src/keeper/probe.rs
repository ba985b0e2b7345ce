//! What this kernel lets us do, found out by doing it in a copy that ends at once.

use super::{begin, privacy, sys};

/// How a namespace for mounts can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespaces {
    /// At once: we may.
    Direct,
    /// Inside a namespace for users.
    WithUsers,
    /// Not at all.
    Refused,
}

/// Tries both ways.
pub(crate) fn namespaces() -> Namespaces {
    if works(false) {
        Namespaces::Direct
    } else if works(true) {
        Namespaces::WithUsers
    } else {
        Namespaces::Refused
    }
}

fn works(with_users: bool) -> bool {
    let mask = sys::block_signals();
    let forked = sys::fork();
    if forked == Ok(0) {
        attempt(with_users);
    }
    sys::restore_signals(&mask);
    forked.ok().and_then(sys::wait_code) == Some(0)
}

extern "C" fn attempt(with_users: bool) -> ! {
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    privacy::show();
    let done = begin::enter_namespace(with_users)
        .and_then(|()| sys::mount(std::ptr::null(), c"/".as_ptr(), flags))
        .and_then(|()| sys::set_read_only(c"/".as_ptr()));
    sys::exit(i32::from(done.is_err()))
}

/// The Landlock version of the kernel; 0 without.
pub(crate) fn landlock_version() -> u32 {
    sys::landlock_version()
}
