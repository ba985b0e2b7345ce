//! What a path means: root, a home, a system directory, a disk, a file that holds
//! secrets or starts programs. Pure text; links are resolved by the caller.

use crate::facts::Facts;
use crate::shell::normalise::UNKNOWN;

/// Directories whose recursive deletion ends the machine or the account.
const SYSTEM: [&str; 27] = [
    "/bin", "/sbin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32",
    "/proc", "/root", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/sbin", "/var",
    "/System", "/Library", "/Users", "/private", "/private/etc", "/private/var",
    "/System/Library", "/usr/libexec",
];

/// Makes `text` absolute where that is possible and folds `.`, `..` and `//`.
pub(crate) fn resolve(text: &str, cwd: Option<&str>, home: &str) -> String {
    let joined = if let Some(rest) = text.strip_prefix('~') {
        match rest.split_once('/') {
            None if rest.is_empty() => home.to_owned(),
            Some(("", tail)) => format!("{home}/{tail}"),
            _ => text.to_owned(),
        }
    } else if text.starts_with('/') {
        text.to_owned()
    } else if let Some(tail) = text.strip_prefix("file://") {
        tail.to_owned()
    } else {
        match cwd {
            Some(cwd) => format!("{cwd}/{text}"),
            None => text.to_owned(),
        }
    };
    fold(&joined)
}

fn fold(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            other => parts.push(other),
        }
    }
    // Enough steps up from anywhere end at the root.
    if !absolute && parts.len() > 4 && parts.iter().all(|part| *part == "..") {
        return "/".to_owned();
    }
    let body = parts.join("/");
    if absolute {
        format!("/{body}")
    } else if body.is_empty() {
        ".".to_owned()
    } else {
        body
    }
}

fn has_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether `path` (resolved) is a whole home directory.
pub(crate) fn is_home(path: &str, facts: &Facts) -> bool {
    if path == facts.home || path == "/root" || path == "/var/root" {
        return true;
    }
    let user = path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/"));
    user.is_some_and(|user| !user.is_empty() && !user.contains('/') && user != "Shared")
        || path.starts_with('~') && !path.contains('/')
}

/// Root, a home or a system directory, or everything in one of them.
pub(crate) fn is_vital(path: &str, facts: &Facts) -> bool {
    let path = path.strip_suffix("/**").unwrap_or(path);
    if path == "/" || SYSTEM.contains(&path) || is_home(path, facts) {
        return true;
    }
    if is_windows_root(path) {
        return true;
    }
    let Some((parent, last)) = path.rsplit_once('/') else { return false };
    if !has_glob(last) && !last.contains('{') {
        return false;
    }
    let parent = if parent.is_empty() { "/" } else { parent };
    if is_vital_plain(parent, facts) && (parent == "/" || covers_all(last)) {
        return true;
    }
    let prefix = if parent == "/" { String::new() } else { parent.to_owned() };
    SYSTEM.iter().any(|system| {
        system
            .rsplit_once('/')
            .is_some_and(|(above, name)| above == prefix && matches_glob(last, name))
    })
}

fn is_vital_plain(path: &str, facts: &Facts) -> bool {
    path == "/" || SYSTEM.contains(&path) || is_home(path, facts)
}

fn is_windows_root(path: &str) -> bool {
    let lower = path.to_ascii_lowercase().replace('\\', "/");
    let lower = lower.trim_end_matches(['*', '/', '.']);
    let mut letters = lower.chars();
    let drive = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.next() == Some(':');
    let rest = lower.get(2..).unwrap_or_default();
    drive && matches!(rest, "" | "/windows" | "/users" | "/program files" | "/windows/system32")
        || matches!(lower, "/mnt/c" | "/mnt/c/windows" | "/mnt/c/users" | "/c" | "/c/windows")
}

/// Whether a name pattern takes everything, or all but a few names.
pub(crate) fn covers_all(pattern: &str) -> bool {
    pattern.starts_with("!(")
        || matches!(
            pattern,
            "*" | "**" | ".*" | "*.*" | ".[!.]*" | ".??*" | "?*" | "..?*" | "[!.]*" | ".[^.]*" | "[a-z]*" | "*/"
        )
}

/// Shell pattern matching on one name.
pub(crate) fn matches_glob(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().take(256).collect();
    let name: Vec<char> = name.chars().take(4096).collect();
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, n));
                p += 1;
                continue;
            }
            None if n == name.len() => return true,
            Some(sign) if n < name.len() => {
                let letter = name.get(n).copied().unwrap_or_default();
                let (hit, width) = match sign {
                    '?' => (true, 1),
                    '[' => bracket(&pattern, p, letter),
                    other => (*other == letter, 1),
                };
                if hit {
                    p += width;
                    n += 1;
                    continue;
                }
            }
            _ => {}
        }
        let Some((star, from)) = retry else { return false };
        if from >= name.len() {
            return false;
        }
        retry = Some((star, from + 1));
        p = star + 1;
        n = from + 1;
    }
}

/// Whether the bracket expression at `start` takes `letter`, and its width.
fn bracket(pattern: &[char], start: usize, letter: char) -> (bool, usize) {
    let mut at = start + 1;
    let negated = matches!(pattern.get(at), Some('!' | '^'));
    if negated {
        at += 1;
    }
    let mut hit = false;
    let mut first = true;
    while let Some(sign) = pattern.get(at).copied() {
        if sign == ']' && !first {
            return (hit != negated, at + 1 - start);
        }
        first = false;
        if pattern.get(at + 1) == Some(&'-') && pattern.get(at + 2).is_some_and(|end| *end != ']') {
            let end = pattern.get(at + 2).copied().unwrap_or_default();
            hit |= sign <= letter && letter <= end;
            at += 3;
        } else {
            hit |= sign == letter;
            at += 1;
        }
    }
    (letter == '[', 1)
}

/// A disk, partition or other block device, or raw memory.
pub(crate) fn is_disk(path: &str) -> bool {
    const DISKS: [&str; 30] = [
        "sd", "hd", "nvme", "vd", "xvd", "mmcblk", "disk", "rdisk", "mapper/", "dm-", "md", "loop",
        "sr", "nbd", "zd", "mem", "kmem", "port", "block/", "bcache", "pmem", "ubi", "mtd", "drbd",
        "zvol/", "nst", "da", "ada", "nda", "vtbd",
    ];
    if path.to_ascii_lowercase().contains("\\\\.\\physicaldrive") {
        return true;
    }
    let Some(name) = path.strip_prefix("/dev/") else { return false };
    if matches!(name, "*" | "[a-z]*" | "?d?" | "?da") {
        return true;
    }
    if let Some(start) = name.find(['*', '?', '[']) {
        let stem = name.get(..start).unwrap_or_default();
        return !stem.is_empty() && DISKS.iter().any(|disk| disk.starts_with(stem) || stem.starts_with(disk))
            || stem.is_empty() && (matches_glob(name, "sda") || matches_glob(name, "nvme0n1"));
    }
    name.starts_with(UNKNOWN)
        || DISKS.iter().any(|disk| name.starts_with(disk))
            && !name.starts_with("mqueue")
            && !name.starts_with("stdin")
}

/// What writing to a path means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Ordinary,
    SystemConfig,
    /// `/usr` and its like: programs and libraries rather than settings.
    SystemFile,
    Startup,
    Credential,
    Agent,
    /// Files that start a program later by themselves.
    Persistence,
}

/// The part of `path` below a home directory.
fn below_home<'a>(path: &'a str, facts: &Facts) -> Option<&'a str> {
    for home in [facts.home.as_str(), "/root", "/var/root"] {
        if let Some(rest) = path.strip_prefix(home).and_then(|rest| rest.strip_prefix('/')) {
            return Some(rest);
        }
    }
    let rest = path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/"));
    if let Some((_, rest)) = rest.and_then(|rest| rest.split_once('/')) {
        return Some(rest);
    }
    if let Some(rest) = path.strip_prefix('~') {
        return rest.split_once('/').map(|(_, rest)| rest);
    }
    // A home that could not be resolved, such as `$(eval echo ~bob)/.bashrc`.
    path.strip_prefix(UNKNOWN).and_then(|rest| rest.strip_prefix('/'))
}

/// Classifies `path` (resolved) as a target of writing or deleting.
pub(crate) fn target(path: &str, facts: &Facts) -> Target {
    if let Some(found) = agent_target(path, facts) {
        return found;
    }
    if let Some(rest) = below_home(path, facts) {
        let found = home_target(rest);
        if found != Target::Ordinary {
            return found;
        }
    }
    if path.contains("/.ssh/") || path.starts_with(".ssh/") || path.ends_with("/.ssh") {
        return Target::Credential;
    }
    if path == ".git/hooks" || path.contains(".git/hooks/") && !path.ends_with(".sample") {
        return Target::Persistence;
    }
    system_target(path)
}

fn agent_target(path: &str, facts: &Facts) -> Option<Target> {
    const FILES: [&str; 12] = [
        "config.yaml", ".env", "auth.json", "rules", "hooks", "mcp-tokens", "pairing", "state.db",
        "sessions", "grants", "policy", "plugins",
    ];
    let inside = |rest: &str| {
        let first = rest.trim_start_matches('/').split('/').next().unwrap_or_default();
        let stem = first.split('.').next().unwrap_or_default();
        FILES.contains(&first) || (!stem.is_empty() && FILES.contains(&stem)) || first == "*"
    };
    if let Some(home) = &facts.agent_home
        && let Some(rest) = path.strip_prefix(home.as_str())
        && rest.starts_with('/')
    {
        return inside(rest).then_some(Target::Agent);
    }
    for marker in [".hermes/", ".petasos/"] {
        if let Some(start) = path.find(marker)
            && (start == 0 || path.as_bytes().get(start - 1) == Some(&b'/'))
        {
            let rest = path.get(start + marker.len()..).unwrap_or_default();
            return inside(rest).then_some(Target::Agent);
        }
    }
    None
}

fn home_target(rest: &str) -> Target {
    const STARTUP: [&str; 30] = [
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
        ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc",
        ".login", ".mkshrc", ".config/fish/config.fish", ".pam_environment", ".xinitrc",
        ".xsession", ".xprofile", ".xsessionrc", ".inputrc", ".config/nushell/config.nu",
        ".config/nushell/env.nu", ".envrc", ".rhosts", ".shrc", ".oh-my-zsh", ".forward",
    ];
    const CREDENTIALS: [&str; 42] = [
        ".ssh", ".netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", ".aws", ".gnupg",
        ".kube", ".docker", ".azure", ".config/gh", ".config/gcloud", ".my.cnf", ".mylogin.cnf",
        ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".config/rclone",
        ".vault-token", ".terraform.d", ".terraformrc", ".m2/settings.xml", ".m2/settings-security.xml",
        ".composer/auth.json", ".password-store", ".local/share/keyrings", ".config/op",
        ".config/git/credentials", ".config/hub", ".config/doctl", ".oci", ".s3cfg", ".boto",
        ".ibmcloud", ".fly", ".config/containers/auth.json", ".databrickscfg", ".snowflake",
        "Library/Keychains", ".config/sops", ".config/age",
    ];
    const PERSISTENCE: [&str; 12] = [
        ".config/systemd/user", ".config/autostart", "Library/LaunchAgents",
        ".config/fish/conf.d", ".config/fish/functions", ".local/share/systemd/user",
        ".gitconfig", ".config/git/config", ".config/git/hooks", ".vimrc", ".config/environment.d",
        ".local/share/dbus-1/services",
    ];
    let under = |list: &[&str]| {
        list.iter().any(|entry| {
            rest.strip_prefix(entry).is_some_and(|tail| tail.is_empty() || tail.starts_with('/'))
        })
    };
    let globbed = |list: &[&str]| {
        has_glob(rest) && !covers_all(rest) && list.iter().any(|entry| matches_glob(rest, entry))
    };
    if under(&STARTUP) || globbed(&STARTUP) {
        Target::Startup
    } else if under(&CREDENTIALS) || globbed(&CREDENTIALS) {
        Target::Credential
    } else if under(&PERSISTENCE) {
        Target::Persistence
    } else {
        Target::Ordinary
    }
}

fn system_target(path: &str) -> Target {
    const CONFIG: [&str; 19] = [
        "/etc", "/boot", "/private/etc", "/private/var/db", "/private/var/at", "/usr/lib/systemd",
        "/lib/systemd", "/var/spool/cron", "/proc/sys", "/sys", "/System", "/Library", "/usr/etc",
        "/usr/local/etc", "/efi", "/var/lib/dpkg", "/proc/sysrq-trigger", "/lib/modules", "/opt/homebrew/etc",
    ];
    const FILES: [&str; 13] = [
        "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/share", "/usr/libexec", "/bin", "/sbin", "/lib",
        "/lib64", "/proc", "/usr/include", "/lib32",
    ];
    let under = |list: &[&str]| {
        list.iter().any(|entry| {
            path.strip_prefix(entry).is_some_and(|tail| tail.is_empty() || tail.starts_with('/'))
        })
    };
    if path.ends_with("docker.sock") || under(&CONFIG) {
        Target::SystemConfig
    } else if path.starts_with("/private/var/")
        && !path.starts_with("/private/var/tmp")
        && !path.starts_with("/private/var/folders")
    {
        Target::SystemConfig
    } else if under(&FILES) {
        Target::SystemFile
    } else {
        Target::Ordinary
    }
}

/// Whether the content of `path` (resolved) is a key, a token or a password.
pub(crate) fn is_secret(path: &str, facts: &Facts) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.ends_with(".pub") || matches!(name, "known_hosts" | "config.pub") {
        return false;
    }
    if matches!(
        path,
        "/etc/shadow" | "/etc/gshadow" | "/etc/shadow-" | "/etc/gshadow-" | "/etc/master.passwd" | "/etc/sudoers.d"
            | "/etc/security/opasswd" | "/etc/krb5.keytab"
    ) || path.starts_with("/etc/ssl/private/")
        || path.starts_with("/etc/ssh/ssh_host_") && !path.ends_with(".pub")
        || path.starts_with("/proc/") && path.ends_with("/environ")
        || path.starts_with("/var/run/secrets/")
        || path.starts_with("/run/secrets/")
        || path.starts_with("/proc/") && path.ends_with("/mem")
    {
        return true;
    }
    if is_private_key(name) && (path.contains(".ssh/") || name.starts_with("id_")) {
        return true;
    }
    if agent_target(path, facts) == Some(Target::Agent) {
        return matches!(name, ".env" | "auth.json") || path.contains("mcp-tokens");
    }
    let Some(rest) = below_home(path, facts) else { return path == ".ssh" };
    home_secret(rest)
}

fn is_private_key(name: &str) -> bool {
    matches!(name, "identity" | "id_rsa" | "id_dsa" | "id_ecdsa" | "id_ed25519" | "id_ed25519_sk" | "id_ecdsa_sk")
        || name.starts_with("id_") && !name.contains('.')
        || (name.contains('*') || name.contains('?')) && (matches_glob(name, "id_rsa") || matches_glob(name, "id_ed25519"))
        || name.ends_with(".pem") && !name.contains("cert")
}

fn home_secret(rest: &str) -> bool {
    const WHOLE: [&str; 14] = [
        ".gnupg", ".password-store", ".local/share/keyrings", "Library/Keychains", ".aws", ".azure",
        ".config/gcloud", ".kube", ".config/gh/hosts.yml", ".config/op", ".vault-token",
        ".config/rclone", ".terraform.d", ".oci",
    ];
    const FILES: [&str; 22] = [
        ".netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", ".docker/config.json",
        ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".my.cnf", ".ssh",
        ".config/gh", ".m2/settings.xml", ".composer/auth.json", ".s3cfg", ".boto",
        ".config/git/credentials", ".databrickscfg", ".config/hub", ".config/containers/auth.json",
        ".ssh/*", ".mylogin.cnf",
    ];
    if FILES.contains(&rest) || rest.contains("Cookies") || rest.contains("Login Data") {
        return true;
    }
    if rest.ends_with("logins.json") || rest.ends_with("key4.db") {
        return true;
    }
    if let Some(name) = rest.strip_prefix(".ssh/") {
        return is_private_key(name) || name.ends_with(".key") || name.contains("rsa") || name.contains("ed25519");
    }
    WHOLE.iter().any(|entry| {
        rest.strip_prefix(entry).is_some_and(|tail| {
            tail.is_empty() || tail.starts_with('/') && !tail.ends_with("/config") || tail == "/config" && *entry == ".kube"
        })
    })
}

/// Files of environment variables, which hold keys by custom.
pub(crate) fn is_environment_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    (name == ".env" || name == ".envrc" || name.starts_with(".env."))
        && !matches!(name, ".env.example" | ".env.sample" | ".env.template" | ".env.dist" | ".env.defaults")
}

/// Below a directory where losing one file is losing a part of the system.
pub(crate) fn is_system_area(path: &str) -> bool {
    const AREAS: [&str; 12] = [
        "/etc/", "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/boot/", "/opt/", "/System/",
        "/Library/", "/private/etc/", "/var/",
    ];
    const FREE: [&str; 5] = ["/var/tmp/", "/var/folders/", "/var/cache/", "/var/run/user/", "/var/www/"];
    AREAS.iter().any(|area| path.starts_with(area)) && !FREE.iter().any(|area| path.starts_with(area))
}
