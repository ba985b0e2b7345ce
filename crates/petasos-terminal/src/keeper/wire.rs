//! The few fixed messages between this program, its keeper and the sitters.
//!
//! Both ends are the same program, so the form is plain memory: four 32-bit numbers. File
//! descriptors travel beside them.

use std::os::fd::RawFd;

/// How many descriptors one message may carry.
pub(crate) const FDS_MAX: usize = 12;

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) first: i32,
    pub(crate) second: i32,
    pub(crate) third: i32,
}

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Kind {
    /// To the keeper: start a sitter. `first` is the set of [`Role`] bits that come along.
    Sit = 1,
    /// From the program that is about to be: its number and its sitter's.
    Ready = 2,
    /// From the program that will not be: [`Stage`] and error number.
    Failed = 3,
    /// From the sitter: the wait status, and whether descendants live.
    Exited = 4,
    /// From the sitter: the tree is empty.
    Empty = 5,
    /// To the sitter: end the tree; `first` is the grace in milliseconds.
    Kill = 6,
    /// To the sitter: it is a job now; the output, the log and the exit file come along.
    Keep = 7,
}

/// What could not be done on the way to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Stage {
    /// A process could not be made.
    Fork = 1,
    /// The description could not be read.
    Payload = 2,
    /// The working directory could not be entered.
    Cwd = 3,
    /// The terminal could not become the controlling one.
    Tty = 4,
    /// Mounts could not be arranged.
    Mounts = 5,
    /// Landlock refused.
    Landlock = 6,
    /// Seccomp refused.
    Seccomp = 7,
    /// The program could not be executed.
    Exec = 8,
}

impl Stage {
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        [
            Self::Fork,
            Self::Payload,
            Self::Cwd,
            Self::Tty,
            Self::Mounts,
            Self::Landlock,
            Self::Seccomp,
            Self::Exec,
        ]
        .into_iter()
        .find(|stage| *stage as i32 == number)
    }
}

/// What a descriptor is for; the order of the bits is the order on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Role {
    /// The sitter's end of its own line to the program.
    Line = 0,
    /// The description of the launch.
    Payload = 1,
    Stdin = 2,
    Stdout = 3,
    Stderr = 4,
    /// Where the shell leaves its directory and exports.
    State = 5,
    /// A script too long for an argument.
    Script = 6,
    /// The Landlock ruleset.
    Ruleset = 7,
    /// A seccomp filter that the program installs.
    Filter = 8,
}

/// How many roles there are.
pub(crate) const ROLES: usize = 9;

impl Message {
    pub(crate) const SIZE: usize = 16;

    pub(crate) const fn new(kind: Kind, first: i32, second: i32) -> Self {
        Self { kind, first, second, third: 0 }
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let numbers = [self.kind as i32, self.first, self.second, self.third];
        for (slot, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            slot.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| -> Option<i32> {
            let four: [u8; 4] = bytes.get(at * 4..at * 4 + 4)?.try_into().ok()?;
            Some(i32::from_ne_bytes(four))
        };
        let kinds = [
            Kind::Sit,
            Kind::Ready,
            Kind::Failed,
            Kind::Exited,
            Kind::Empty,
            Kind::Kill,
            Kind::Keep,
        ];
        let wanted = number(0)?;
        let kind = kinds.into_iter().find(|kind| *kind as i32 == wanted)?;
        Some(Self { kind, first: number(1)?, second: number(2)?, third: number(3)? })
    }
}

/// Descriptors by role, while they are raw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Roles([RawFd; ROLES]);

impl Roles {
    /// Deals descriptors out by the set of bits that announced them.
    pub(crate) fn deal(bits: i32, fds: &[RawFd]) -> Self {
        let mut roles = [-1; ROLES];
        let mut rest = fds.iter();
        for (bit, role) in roles.iter_mut().enumerate() {
            if bits & (1 << bit) != 0 {
                *role = rest.next().copied().unwrap_or(-1);
            }
        }
        Self(roles)
    }

    /// The descriptor of a role, or -1.
    pub(crate) fn fd(&self, role: Role) -> RawFd {
        self.0.get(role as usize).copied().unwrap_or(-1)
    }
}
