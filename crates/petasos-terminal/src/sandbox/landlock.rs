//! Landlock rules: every write is refused but below a few paths. Reading stays as it is.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};

/// Devices that programs write without touching the machine.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// The ruleset for these writable paths. Its rights are those of the kernel's own version, asked
/// for without best effort, so that none is left out in silence.
pub(super) fn ruleset(version: u32, writable: &[PathBuf]) -> Result<OwnedFd, String> {
    let abi = match version {
        0 => return Err("the kernel has no Landlock".to_owned()),
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        _ => ABI::V6,
    };
    build(abi, writable)
        .map_err(|error| error.to_string())
        .and_then(|ruleset| ruleset.ok_or_else(|| "the kernel made no ruleset".to_owned()))
}

fn build(abi: ABI, writable: &[PathBuf]) -> Result<Option<OwnedFd>, landlock::RulesetError> {
    let writes: BitFlags<AccessFs> = AccessFs::from_write(abi);
    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(writes)?;
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    let created = ruleset
        .create()?
        .add_rules(path_beneath_rules(writable, writes))?
        .add_rules(path_beneath_rules(DEVICES, writes))?;
    Ok(created.into())
}
