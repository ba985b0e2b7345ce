//! What writing to a path means: settings, start-up files, credentials, persistence.
//! Tables of well-known places; no path is looked up.

use super::{covers_all, has_glob, is_plain, matches_glob};
use crate::facts::Facts;
use crate::shell::normalise::UNKNOWN;
use crate::words::{ends, holds, lists};

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
pub(super) fn below_home<'a>(path: &'a str, facts: &Facts) -> Option<&'a str> {
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
    if is_plain(path) {
        return Target::Ordinary;
    }
    if let Some(found) = agent_target(path, facts) {
        return found;
    }
    if let Some(rest) = below_home(path, facts) {
        let found = home_target(rest);
        if found != Target::Ordinary {
            return found;
        }
    }
    // Below a plain relative directory it is a fixture of a project, not a home.
    let fixture = path.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !fixture && (path.contains("/.ssh/") || path.starts_with(".ssh/") || path.ends_with("/.ssh"))
    {
        return Target::Credential;
    }
    if path == ".git/hooks" || path.contains(".git/hooks/") && !path.ends_with(".sample") {
        return Target::Persistence;
    }
    system_target(path)
}

/// What lies in the agent's home and neither decides nor records anything: written like any file.
const FREE: [&str; 5] = ["skills", "cache", "tmp", "scratch", "workspace"];

/// Whether a path below the agent's home, or below that of one of its profiles, may be written
/// like any other. The home itself may not.
pub fn is_free(rest: &str) -> bool {
    let mut parts = rest.split('/').filter(|part| !part.is_empty());
    let first = match parts.next() {
        Some("profiles") => parts.nth(1),
        first => first,
    };
    // What was installed from where is a record that skills are held to.
    let record = first == Some("skills") && parts.next() == Some(".hub");
    !record && first.is_some_and(|first| FREE.contains(&first))
}

pub(super) fn agent_target(path: &str, facts: &Facts) -> Option<Target> {
    let inside = |rest: &str| !is_free(rest.trim_start_matches('/'));
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

/// Files below a home that a shell or session runs as it starts.
const STARTUP: &str = ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zprofile \
    .zshenv .zlogin .zlogout .kshrc .cshrc .tcshrc .login .mkshrc .config/fish/config.fish \
    .pam_environment .xinitrc .xsession .xprofile .xsessionrc .inputrc .config/nushell/config.nu \
    .config/nushell/env.nu .envrc .rhosts .shrc .oh-my-zsh .forward .bashrc.d .zshrc.d .profile.d .config/fish/conf.d .config/fish/functions";

/// Places below a home that hold keys, tokens or passwords.
const CREDENTIALS: &str = ".ssh .netrc .pgpass .npmrc .pypirc .git-credentials .aws .gnupg .kube .docker \
    .azure .config/gh .config/gcloud .my.cnf .mylogin.cnf .cargo/credentials .cargo/credentials.toml \
    .gem/credentials .config/rclone .vault-token .terraform.d .terraformrc .m2/settings.xml \
    .m2/settings-security.xml .composer/auth.json .password-store .local/share/keyrings .config/op \
    .config/git/credentials .config/hub .config/doctl .oci .s3cfg .boto .ibmcloud .fly \
    .config/containers/auth.json .databrickscfg .snowflake Library/Keychains .config/sops .config/age";

/// Places below a home from which programs start by themselves.
const PERSISTENCE: &str = ".local/share/bash-completion .bash_completion .bash_completion.d .config/direnv \
    .config/zsh .zsh .gdbinit .lldbinit .emacs .emacs.d .config/emacs .config/nvim .vim .Rprofile \
    .julia/config/startup.jl .ipython .local/share/applications .config/plasma-workspace .kde/Autostart \
    .config/i3/config .config/sway/config .config/hypr .tmux.conf .config/tmux/tmux.conf .config/powershell \
    .config/nushell/autoload .config/xonsh .xonshrc .sqliterc .psqlrc .exrc .ocamlinit .ghci .irbrc .pryrc \
    .pythonrc .pdbrc .mongorc.js .mongoshrc.js .duckdbrc .screenrc .mailcap .procmailrc .lesskey .lessfilter \
    .curlrc .wgetrc .cargo/config.toml .cargo/config .gradle/init.gradle .gradle/init.d .config/pip/pip.conf \
    .pip/pip.conf .local/bin/sudo .config/user-tmpfiles.d .config/containers/systemd .config/upstart .hgrc \
    .mercurial .bazelrc .byebugrc .fishrc .config/fish .config/lf/lfrc .config/ranger .config/kitty \
    .config/alacritty .pythonrc.py .config/wezterm .config/mpv/scripts Library/LaunchDaemons \
    .config/systemd/user .config/autostart Library/LaunchAgents .config/fish/conf.d .config/fish/functions \
    .local/share/systemd/user .gitconfig .config/git/config .config/git/hooks .vimrc .config/environment.d \
    .local/share/dbus-1/services";

/// Whether a path is one of a list, or below one.
fn is_under(list: &str, path: &str) -> bool {
    let below = |tail: &str| tail.is_empty() || tail.starts_with('/');
    list.split_ascii_whitespace().any(|entry| path.strip_prefix(entry).is_some_and(below))
}

fn home_target(rest: &str) -> Target {
    let under = |list: &str| is_under(list, rest);
    let globbed = |list: &str| {
        let mut entries = list.split_ascii_whitespace();
        has_glob(rest) && !covers_all(rest) && entries.any(|entry| matches_glob(rest, entry))
    };
    if under(STARTUP) || globbed(STARTUP) {
        Target::Startup
    } else if under(CREDENTIALS) || globbed(CREDENTIALS) {
        Target::Credential
    } else if under(PERSISTENCE)
        || starts_programs(rest)
        || rest.starts_with("Library/Application Scripts")
    {
        Target::Persistence
    } else {
        Target::Ordinary
    }
}

/// Hidden files of a home that some program runs by convention: `.foorc`, `.foo/hooks/x`.
fn starts_programs(rest: &str) -> bool {
    let name = rest.rsplit('/').next().unwrap_or(rest);
    let shadow = rest.strip_prefix(".local/bin/").or_else(|| rest.strip_prefix("bin/"));
    rest.starts_with('.')
        && (holds(CONVENTIONS, rest)
            || !rest.contains('/') && ends("rc profile _login _logout", name) && name.len() > 3)
        || shadow.is_some_and(|name| lists(COMMON, name))
}

/// Parts of paths below which programs are found and run.
const CONVENTIONS: &str = "/hooks/ /autostart /extensions/ /startup /site-packages/ /init.d/ /conf.d/ \
    /plugins/ /plugin/ /autoload/ /LaunchAgents/ /init.lua /init.vim /config.fish /functions/ /lib/python";
/// Programs that everybody calls.
const COMMON: &str = "sudo su ssh ls cat sh bash ps git curl login passwd cp mv rm grep find vim python \
    python3 node npm make docker kubectl wget tar env cd which less";

fn system_target(path: &str) -> Target {
    const CONFIG: &str = "/usr/local/lib/systemd /var/lib/cloud /var/lib/systemd /var/lib/NetworkManager \
        /usr/local/share/zsh /usr/local/share/bash-completion /run/systemd /opt/homebrew/Library \
        /var/db /usr/local/lib/python3 /var/at /var/www/.ssh /usr/local/lib/security /selinux \
        /etc /boot /private/etc /private/var/db /private/var/at /usr/lib/systemd /lib/systemd \
        /var/spool/cron /proc/sys /sys /System /Library /usr/etc /usr/local/etc /efi \
        /var/lib/dpkg /proc/sysrq-trigger /lib/modules /opt/homebrew/etc";
    const FILES: &str = "/usr/bin /usr/sbin /usr/lib /usr/lib64 /usr/share /usr/libexec /bin /sbin /lib /lib64 \
        /proc /usr/include /lib32";
    let under = |list: &str| is_under(list, path);
    let mirror = path.starts_with("/private/var/")
        && !path.starts_with("/private/var/tmp")
        && !path.starts_with("/private/var/folders");
    let lower = path.get(..11).unwrap_or_default().to_ascii_lowercase().replace('\\', "/");
    if lower.ends_with(":/windows/") || lower.ends_with(":/windows") {
        return Target::SystemConfig;
    }
    if path == "/usr" {
        Target::SystemFile
    } else if path.ends_with("docker.sock") || under(CONFIG) || mirror {
        Target::SystemConfig
    } else if under(FILES) || shadows(path) {
        Target::SystemFile
    } else {
        Target::Ordinary
    }
}

/// A program of one's own in the place of one that everybody calls.
fn shadows(path: &str) -> bool {
    path.strip_prefix("/usr/local/bin/")
        .or_else(|| path.strip_prefix("/usr/local/sbin/"))
        .is_some_and(|name| lists(COMMON, name))
}
