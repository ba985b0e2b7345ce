//! Calls that no confined command needs and that reach around paths.

use std::collections::BTreeMap;

use petasos_contract::environment::Sandbox;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Other processes, the kernel, its keys, its clock and its mounts.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_userfaultfd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_open_by_handle_at,
    // Its requests would not pass through this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_chroot,
];

/// Whom a command may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Connect {
    /// Anybody.
    Network,
    /// Sockets of this machine: those of others are covered, its own and our channel are not.
    Local,
    /// Nobody, because the sockets of others are in reach and may have a network.
    Nobody,
}

impl Connect {
    pub(super) fn of(wanted: &Sandbox, covered: Covered) -> Self {
        match covered {
            _ if wanted.network => Self::Network,
            Covered::All => Self::Local,
            Covered::Some => Self::Nobody,
        }
    }
}

/// Which sockets of others a command cannot see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Covered {
    /// Those with a path and those without.
    All,
    /// Not all of them.
    Some,
}

/// The filter as the kernel reads it.
pub(super) fn filter(connect: Connect) -> Result<Vec<[u8; 8]>, String> {
    program(connect).map_err(|error| error.to_string()).map(|program| {
        let row = |row: &seccompiler::sock_filter| {
            let (code, k) = (row.code.to_ne_bytes(), row.k.to_ne_bytes());
            [code[0], code[1], row.jt, row.jf, k[0], k[1], k[2], k[3]]
        };
        program.iter().map(row).collect()
    })
}

fn program(connect: Connect) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    rules.extend(REFUSED.iter().map(|call| (*call, Vec::new())));
    // Typing into a terminal on somebody's behalf.
    let typing = condition(1, SeccompCmpOp::Eq, libc::TIOCSTI)?;
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(vec![typing])?]);
    if connect != Connect::Network {
        let local = u64::try_from(libc::AF_UNIX).unwrap_or(1);
        let other = condition(0, SeccompCmpOp::Ne, local)?;
        rules.insert(libc::SYS_socket, vec![SeccompRule::new(vec![other])?]);
        // A local socket may belong to somebody who has a network.
        if connect == Connect::Nobody {
            rules.insert(libc::SYS_connect, Vec::new());
        }
    }
    // A device made in the workspace would be the disk itself, and root may make one.
    let devices = |argument: u8| -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
        let kind = SeccompCmpOp::MaskedEq(u64::from(libc::S_IFMT));
        [libc::S_IFBLK, libc::S_IFCHR]
            .into_iter()
            .map(|device| {
                SeccompRule::new(vec![condition(argument, kind.clone(), u64::from(device))?])
            })
            .collect()
    };
    rules.insert(libc::SYS_mknodat, devices(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, devices(1)?);
    let errno = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)?.try_into()
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}
