//! What a process may do beyond its user: given up before a confined program begins, so that root
//! inside is a user who owns files and nothing more.

#![expect(unsafe_code, reason = "capabilities have no safe face without an allocator")]

use std::os::raw::c_int;

use super::sys;

/// Owners, modes and groups of files: workspaces of root hold files of others. Paths and mounts
/// confine these like any other write.
const KEPT: u32 = 1 << CHOWN | 1 << DAC_OVERRIDE | 1 << FOWNER | 1 << FSETID;
const CHOWN: u32 = 0;
const DAC_OVERRIDE: u32 = 1;
const FOWNER: u32 = 3;
const FSETID: u32 = 4;
/// The names of [`KEPT`], for programs that are told by name.
pub(crate) const KEPT_NAMES: [&str; 4] =
    ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID"];

const VERSION: u32 = 0x2008_0522;
const COUNT_MAX: u32 = 64;

#[repr(C)]
struct Header {
    version: u32,
    pid: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up everything but [`KEPT`], for this process and all that it becomes.
pub(super) fn drop_all() -> Result<(), i32> {
    let (user, _) = sys::identity();
    for capability in
        (0..COUNT_MAX).filter(|number| KEPT.checked_shr(*number).unwrap_or(0) & 1 == 0)
    {
        match sys::prctl(libc::PR_CAPBSET_DROP, capability.into()) {
            // This kernel has fewer; whoever is not root gets none back by starting a program.
            Err(error) if error != libc::EINVAL && user == 0 => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    let mut header = Header { version: VERSION, pid: 0 };
    let mut sets = [Sets::default(); 2];
    // SAFETY: the header names the layout of the two sets, which are locals.
    let got = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) };
    if got < 0 {
        return Err(sys::errno());
    }
    for (set, kept) in sets.iter_mut().zip([KEPT, 0]) {
        *set = Sets {
            effective: set.permitted & kept,
            permitted: set.permitted & kept,
            inheritable: 0,
        };
    }
    // SAFETY: as above; the kernel only reads.
    let done = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) };
    if done < 0 { Err(sys::errno()) } else { Ok(()) }
}
