//! Files whose content is not for the model: secrets of this program, of processes and of projects.
//!
//! This is guidance and not a boundary: a shell can still read them. It judges a path as text;
//! callers ask it about the path as given and about the path behind all links.

use std::path::{Component, Path, PathBuf};

use petasos_contract::Settings;

/// Why a file is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Protected {
    /// Secrets of a project.
    #[error("it holds a project's secrets: ask for the names of the variables instead")]
    Dotenv,
    /// Our own keys and tokens.
    #[error("it is one of this agent's credential stores")]
    Credentials,
    /// What the skill hub downloaded, before anyone looked at it.
    #[error("it belongs to the skill hub's cache: use the skill tools")]
    HubCache,
    /// What a process holds in memory.
    #[error("it shows a process's memory, environment or command line")]
    Process,
    /// A kernel stream or all of memory.
    #[error("it is a kernel stream that never ends")]
    Endless,
}

const DOTENV: &[&str] = &[
    ".env",
    ".env.local",
    ".env.development",
    ".env.production",
    ".env.test",
    ".env.staging",
    ".envrc",
];

/// Directly in the agent home, or in the home of one profile.
const CREDENTIALS: &[&str] = &["auth.json", ".anthropic_oauth.json", "mcp-tokens", "pairing"];

/// In the folder of one process or one of its threads.
const PROCESS: &[&str] = &[
    "auxv",
    "cmdline",
    "environ",
    "maps",
    "mem",
    "numa_maps",
    "pagemap",
    "smaps",
    "smaps_rollup",
    "stack",
    "syscall",
];

const ENDLESS: &[&str] = &[
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/vmcore",
    "/sys/kernel/debug/tracing/trace_pipe",
    "/sys/kernel/tracing/trace_pipe",
];

/// Knows which files are protected, for one snapshot of the settings.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    homes: Vec<PathBuf>,
    is_off: bool,
}

impl Guard {
    /// Prepares the judgement; looks once whether the agent home is a link.
    pub(crate) fn new(settings: &Settings) -> Self {
        let home = settings.home();
        if home.as_os_str().is_empty() {
            return Self { homes: Vec::new(), is_off: false };
        }
        let mut homes = vec![home.to_owned()];
        // A home that does not exist yet holds nothing to protect.
        if let Ok(real) = home.canonicalize()
            && real != home
        {
            homes.push(real);
        }
        Self { homes, is_off: false }
    }

    /// For a place that is not this machine: only the general rules.
    pub(crate) fn elsewhere() -> Self {
        Self { homes: Vec::new(), is_off: false }
    }

    /// Protects nothing: for files that are written and not shown.
    pub(crate) fn none() -> Self {
        Self { homes: Vec::new(), is_off: true }
    }

    /// Says why an absolute path without `.` and `..` is not shown, if it is not.
    pub(crate) fn refuses(&self, path: &Path) -> Option<Protected> {
        if self.is_off {
            return None;
        }
        if is_dotenv(path) {
            return Some(Protected::Dotenv);
        }
        if ENDLESS.iter().any(|endless| path == Path::new(endless)) {
            return Some(Protected::Endless);
        }
        if shows_process(path) {
            return Some(Protected::Process);
        }
        self.homes.iter().find_map(|home| inside_home(path.strip_prefix(home).ok()?))
    }
}

fn is_dotenv(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    // Some file systems do not tell `.ENV` from `.env`.
    DOTENV.iter().any(|dotenv| name.eq_ignore_ascii_case(dotenv))
}

fn shows_process(path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix("/proc") else { return false };
    let name = path.file_name().unwrap_or_default();
    // `/proc/cmdline` and the like lie directly in `/proc` and belong to no process.
    inside.components().count() > 1 && PROCESS.iter().any(|secret| name == *secret)
}

fn inside_home(inside: &Path) -> Option<Protected> {
    let mut parts = inside.components();
    let mut first = parts.next()?;
    if first == normal("profiles") {
        parts.next()?;
        first = parts.next()?;
    }
    if CREDENTIALS.iter().any(|name| first == normal(name)) {
        return Some(Protected::Credentials);
    }
    let hub = first == normal("skills") && parts.next() == Some(normal(".hub"));
    hub.then_some(Protected::HubCache)
}

fn normal(name: &str) -> Component<'_> {
    Component::Normal(name.as_ref())
}

#[cfg(test)]
mod tests {
    use petasos_contract::settings::Parts;

    use super::*;

    #[test]
    fn protected_paths_are_refused_and_their_neighbours_are_not() {
        let settings = Settings::new(Parts { home: "/home/me/.agent".into(), ..Parts::default() });
        let guard = Guard::new(&settings);
        for (path, expected) in [
            ("/p/.env", Some(Protected::Dotenv)),
            ("/p/.ENV.local", Some(Protected::Dotenv)),
            ("/p/.envrc", Some(Protected::Dotenv)),
            ("/p/.env.example", None),
            ("/p/.env/readme", None),
            ("/proc/self/environ", Some(Protected::Process)),
            ("/proc/12/task/13/mem", Some(Protected::Process)),
            ("/proc/12/cmdline", Some(Protected::Process)),
            ("/proc/12/status", None),
            ("/proc/cpuinfo", None),
            ("/proc/kcore", Some(Protected::Endless)),
            ("/home/me/.agent/auth.json", Some(Protected::Credentials)),
            ("/home/me/.agent/mcp-tokens/x.json", Some(Protected::Credentials)),
            ("/home/me/.agent/profiles/work/pairing/a", Some(Protected::Credentials)),
            ("/home/me/.agent/skills/.hub/index.json", Some(Protected::HubCache)),
            ("/home/me/.agent/skills/own/SKILL.md", None),
            ("/home/me/.agent/config.yaml", None),
            ("/home/me/auth.json", None),
        ] {
            assert_eq!(guard.refuses(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn without_a_home_only_the_general_rules_hold() {
        let guard = Guard::new(&Settings::from_values(serde_json::Map::new()));
        assert_eq!(guard.refuses(Path::new("/auth.json")), None);
        assert_eq!(guard.refuses(Path::new("/.env")), Some(Protected::Dotenv));
    }
}
