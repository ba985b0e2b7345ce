//! How a local command is confined, how much of that this machine can do, and saying so.
//!
//! Three layers, each for what the others cannot: Landlock refuses writes by path and works
//! without namespaces; a mount namespace makes the rest of the tree read-only, `.git/hooks` and
//! our own home included; seccomp closes what is neither a file nor a mount.

mod bwrap;
mod denial;
mod landlock;
mod paths;
mod repositories;
mod seccomp;
mod sockets;

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use petasos_contract::CallContext;
use petasos_contract::environment::{EnvError, Launch, Sandbox, SandboxLevel};
use petasos_contract::path::TargetPath;

use crate::keeper::{self, FLAG_POWERLESS, FLAG_USERNS, Namespaces};
use crate::settings::{By, TerminalSettings};

pub(crate) use denial::denial;
pub(crate) use paths::wanted;
use seccomp::{Connect, Covered};

/// What a launch needs to be confined.
#[derive(Debug, Default)]
pub(crate) struct Confinement {
    pub(crate) ruleset: Option<OwnedFd>,
    pub(crate) filter: Vec<[u8; 8]>,
    /// A filter for the confining program to install.
    pub(crate) handed: Option<OwnedFd>,
    pub(crate) mounts: Vec<(CString, CString)>,
    pub(crate) flags: u64,
    /// Words before the program, for a confining program.
    pub(crate) wrapper: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
    /// What was attained, in words.
    pub(crate) label: String,
}

/// A folder so large that it was not searched to its end, which is never left unsaid.
const UNSEARCHED: &str = "; too many folders: nested repositories may be unprotected)";

/// What this machine can do. Facts of the kernel, found out once.
#[derive(Debug, Clone)]
pub(crate) struct Ability {
    landlock: u32,
    namespaces: Namespaces,
}

impl Ability {
    fn of_this_machine() -> &'static Self {
        static ABILITY: OnceLock<Ability> = OnceLock::new();
        ABILITY.get_or_init(|| {
            let landlock = keeper::landlock_version();
            Self { landlock, namespaces: keeper::namespaces() }
        })
    }

    /// Found out only where it is needed: it takes a process.
    fn bwrap() -> Option<&'static Path> {
        static BWRAP: OnceLock<Option<PathBuf>> = OnceLock::new();
        BWRAP.get_or_init(bwrap::usable).as_deref()
    }
}

/// The attainable confinement, for people.
pub(crate) fn level() -> String {
    let ability = Ability::of_this_machine();
    let mut parts = Vec::new();
    if ability.landlock > 0 {
        parts.push(format!("landlock {}", ability.landlock));
    }
    if ability.namespaces != Namespaces::Refused {
        parts.push("mount namespace".to_owned());
    }
    if ability.landlock == 0 {
        parts.extend(Ability::bwrap().map(|path| path.display().to_string()));
    }
    if parts.is_empty() {
        return "no sandbox".to_owned();
    }
    format!("sandbox by {} and seccomp", parts.join(", "))
}

/// The confinement of a call's commands with real paths, where every layer of it can be had.
pub(crate) fn attained(terminal: &TerminalSettings, cx: &CallContext) -> Option<Sandbox> {
    /// Before its third version Landlock does not see that a file is cut off.
    const LANDLOCK_MIN: u32 = 3;
    let mut wanted = wanted(terminal, cx);
    if wanted.level == SandboxLevel::Off || terminal.backend != "local" {
        return None;
    }
    let ability = Ability::of_this_machine();
    let landlock = ability.landlock >= LANDLOCK_MIN && ability.namespaces != Namespaces::Refused;
    let holds = match terminal.sandbox_by {
        By::Bwrap => Ability::bwrap().is_some(),
        By::Auto if ability.landlock == 0 => Ability::bwrap().is_some(),
        By::Auto | By::Landlock => landlock,
    };
    let real = |paths: &mut Vec<TargetPath>| {
        let found = paths.iter().filter_map(|path| std::fs::canonicalize(path.as_path()).ok());
        let found: Vec<TargetPath> = found.map(TargetPath::new).collect();
        paths.extend(found);
    };
    real(&mut wanted.writable);
    real(&mut wanted.protected);
    holds.then_some(wanted)
}

/// Makes the confinement of a launch ready, or says why it must not start.
pub(crate) fn prepare(launch: &Launch, cx: &CallContext) -> Result<Confinement, EnvError> {
    let wanted = &launch.sandbox;
    if wanted.level == SandboxLevel::Off {
        return Ok(Confinement { label: "off".to_owned(), ..Confinement::default() });
    }
    let ability = Ability::of_this_machine();
    let scope = paths::Scope::of(launch, cx);
    match TerminalSettings::of(&cx.settings)?.sandbox_by {
        By::Landlock if ability.landlock == 0 => return none(wanted),
        By::Auto if ability.landlock > 0 => {}
        By::Landlock => {}
        By::Auto | By::Bwrap => {
            return bwrap::prepare(Ability::bwrap(), ability.namespaces, wanted, &scope);
        }
    }
    let fail = |why: String| EnvError::Sandbox { level: wanted.level.as_str(), why };
    let ruleset = landlock::ruleset(ability.landlock, &scope.writable).map_err(fail)?;
    // Local sockets of others are covered by mounts, and abstract ones by the sixth Landlock.
    let covered = match ability.namespaces {
        Namespaces::Refused => Covered::Some,
        _ if ability.landlock < 6 => Covered::Some,
        _ => Covered::All,
    };
    let filter = seccomp::filter(Connect::of(wanted, covered)).map_err(fail)?;
    let mut label = format!("{} (landlock {}, seccomp", wanted.level.as_str(), ability.landlock);
    let mut confinement = Confinement {
        ruleset: Some(ruleset),
        filter,
        variables: scope.variables(),
        flags: FLAG_POWERLESS,
        ..Confinement::default()
    };
    match ability.namespaces {
        Namespaces::Refused => {
            let why = "this kernel refuses mount namespaces, so hooks and configuration of git inside \
                       the workspace, sockets and the modes of files outside it are not protected";
            if wanted.required {
                return Err(fail(why.to_owned()));
            }
            label.push_str("; not protected: .git/hooks, .git/config, sockets, file modes)");
        }
        namespaces => {
            confinement.mounts = scope.mounts().map_err(fail)?;
            if namespaces == Namespaces::WithUsers {
                confinement.flags |= FLAG_USERNS;
            }
            label.push_str(", mounts");
            label.push_str(if scope.searched_all { ")" } else { UNSEARCHED });
        }
    }
    if !wanted.network {
        label.push_str(" without network");
    }
    confinement.label = label;
    Ok(confinement)
}

fn text(path: &Path) -> Result<CString, String> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())
}

/// What is reported when nothing can confine.
fn none(wanted: &Sandbox) -> Result<Confinement, EnvError> {
    let level = wanted.level.as_str();
    let why = "neither Landlock nor `bwrap` works here as `terminal.sandbox_by` asks";
    if wanted.required {
        return Err(EnvError::Sandbox { level, why: why.to_owned() });
    }
    tracing::warn!(level, why, "a command runs unconfined");
    let label = format!("off ({level} cannot be attained: {why})");
    Ok(Confinement { label, ..Confinement::default() })
}
