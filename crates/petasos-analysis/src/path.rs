//! What a path means: root, a home, a system directory, a disk, a file that holds
//! secrets or starts programs. Pure text; links are resolved by the caller.

mod secret;
mod target;

use crate::facts::Facts;
use crate::shell::normalise::UNKNOWN;
use crate::words::{begins, lists};

pub(crate) use secret::{is_environment_file, is_secret};
pub use target::is_free;
pub(crate) use target::{Target, target};

/// Directories whose recursive deletion ends the machine or the account.
const SYSTEM: &str = "/bin /sbin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /proc /root /sys /usr /usr/bin \
    /usr/lib /usr/lib64 /usr/sbin /var /System /Library /Users /private /private/etc \
    /private/var /System/Library /usr/libexec";

/// Makes `text` absolute where that is possible and folds `.`, `..` and `//`.
pub(crate) fn resolve(text: &str, cwd: Option<&str>, home: &str) -> String {
    let joined = if let Some(rest) = text.strip_prefix('~') {
        match rest.split_once('/') {
            None if rest.is_empty() => home.to_owned(),
            Some(("", tail)) => format!("{home}/{tail}"),
            _ => text.to_owned(),
        }
    } else if let Some(rest) = text
        .strip_prefix("/proc/self/root")
        .or_else(|| text.strip_prefix("/proc/1/root"))
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
    {
        format!("/{rest}")
    } else if let Some(rest) = text.strip_prefix("/proc/self/cwd").filter(|_| cwd.is_some()) {
        format!("{}{rest}", cwd.unwrap_or_default())
    } else if text.starts_with('/') {
        text.to_owned()
    } else if text.strip_prefix(UNKNOWN).is_some_and(|rest| rest.starts_with('/')) {
        // Where it begins is not known, and surely not here.
        text.to_owned()
    } else if let Some(tail) = text.strip_prefix("file://") {
        tail.to_owned()
    } else {
        match cwd {
            Some(cwd) => format!("{cwd}/{text}"),
            None => text.to_owned(),
        }
    };
    let folded = fold(&joined);
    // `./~` is a name in this directory, not a home.
    if folded.starts_with('~') && text.starts_with("./") { format!("./{folded}") } else { folded }
}

/// A relative path without any step, dot or sign that could lead elsewhere.
fn is_plain(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b' ' | b'=' | b',')
        })
}

fn fold(path: &str) -> String {
    if is_plain(path) {
        return path.to_owned();
    }
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

/// What `mktemp` prints, for one that cannot be known: a name that nobody had before.
pub(crate) const FRESH: &str = "/tmp/tmp.XXXXXXXXXX";

/// Whether `path` (resolved) was made by this line for itself.
pub(crate) fn is_fresh(path: &str) -> bool {
    path.strip_prefix(FRESH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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
    if is_plain(path) {
        return false;
    }
    let path = path.strip_suffix("/**").unwrap_or(path);
    if path == "/" || path.is_empty() || lists(SYSTEM, path) || is_home(path, facts) {
        return true;
    }
    if is_windows_root(path) {
        return true;
    }
    let Some((parent, last)) = path.rsplit_once('/') else { return false };
    if !is_pattern(path) {
        return false;
    }
    let parent = if parent.is_empty() { "/" } else { parent };
    if is_pattern(last)
        && (parent == "/" || covers_all(last))
        && (is_vital_plain(parent, facts) || matches_system(parent))
    {
        return true;
    }
    matches_system(path)
}

fn is_pattern(text: &str) -> bool {
    if !text.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'{' | b'(')) {
        return false;
    }
    has_glob(text)
        || text.contains('{')
        || ["!(", "@(", "+("].iter().any(|open| text.contains(open))
}

/// Whether a pattern fits a system directory or a home, name by name.
fn matches_system(pattern: &str) -> bool {
    let Some(pattern) = pattern.strip_prefix('/') else { return false };
    let parts = pattern.split('/').count();
    let fits = |path: &str| {
        let path = path.trim_start_matches('/');
        path.split('/').count() == parts
            && pattern.split('/').zip(path.split('/')).all(|(part, name)| matches_name(part, name))
    };
    let home = |(folder, user): (&str, &str)| {
        !user.is_empty()
            && !user.contains('/')
            && (matches_name(folder, "home") || matches_name(folder, "Users"))
    };
    // Most patterns begin with a name that no system directory has.
    let first = pattern.split('/').next().unwrap_or_default();
    let open = is_pattern(first);
    let begins = |system: &&str| open || system.as_bytes().get(1) == first.as_bytes().first();
    pattern.split_once('/').is_some_and(home)
        || SYSTEM.split_ascii_whitespace().filter(begins).any(fits)
}

/// As [`matches_glob`], with one choice such as `@(a|b)` or `+(a|b)` around it all.
fn matches_name(pattern: &str, name: &str) -> bool {
    if !is_pattern(pattern) && !pattern.contains('(') {
        return pattern == name;
    }
    let inner = ["@(", "+(", "?(", "*("]
        .iter()
        .find_map(|open| pattern.strip_prefix(open))
        .and_then(|rest| rest.strip_suffix(')'));
    match inner {
        Some(inner) => inner.split('|').take(64).any(|choice| matches_glob(choice, name)),
        None => matches_glob(pattern, name),
    }
}

fn is_vital_plain(path: &str, facts: &Facts) -> bool {
    path == "/" || lists(SYSTEM, path) || is_home(path, facts)
}

fn is_windows_root(path: &str) -> bool {
    let lower = path.to_ascii_lowercase().replace('\\', "/");
    let lower = lower.trim_end_matches(['*', '/', '.']);
    let mut letters = lower.chars();
    let drive = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.next() == Some(':');
    let rest = lower.get(2..).unwrap_or_default();
    drive && matches!(rest, "" | "/windows" | "/users" | "/program files" | "/windows/system32")
        || lists("/mnt/c /mnt/c/windows /mnt/c/users /c /c/windows", lower)
}

/// Whether a name pattern takes everything, or all but a few names.
pub(crate) fn covers_all(pattern: &str) -> bool {
    pattern.starts_with("!(")
        || lists("* ** .* *.* .[!.]* .??* ?* ..?* [!.]* .[^.]* [a-z]* */", pattern)
}

/// Shell pattern matching on one name.
pub(crate) fn matches_glob(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().take(256).collect();
    let name: Vec<char> = name.chars().take(4096).collect();
    glob_fits(&pattern, &name)
}

/// Whether a pattern of `*`, `?` and `[…]` fits a whole text. Linear but for the last star.
pub fn glob_fits(pattern: &[char], name: &[char]) -> bool {
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
                    '[' => bracket(pattern, p, letter),
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

/// Directories of devices that are no disks.
const DIRECTORIES: &str = "shm pts fd input snd dri bus net cpu mqueue hugepages usb char serial vfio tcp udp v4l \
    dma_heap infiniband";

/// A disk, partition or other block device, or raw memory.
pub(crate) fn is_disk(path: &str) -> bool {
    const DISKS: &str = "dasd zram ram rbd ublk ubd nvd wd mfid cciss vg sg fd0 st0 raid xd tape sd hd nvme vd \
        xvd mmcblk disk rdisk mapper/ dm- md loop sr nbd zd mem kmem port block/ bcache pmem ubi \
        mtd drbd zvol/ nst da ada nda vtbd root";
    if path.to_ascii_lowercase().contains("\\\\.\\physicaldrive") {
        return true;
    }
    let Some(name) = path.strip_prefix("/dev/") else { return false };
    if matches!(name, "*" | "[a-z]*" | "?d?" | "?da") {
        return true;
    }
    if let Some(start) = name.find(['*', '?', '[']) {
        let stem = name.get(..start).unwrap_or_default();
        return !stem.is_empty()
            && DISKS
                .split_ascii_whitespace()
                .any(|disk| disk.starts_with(stem) || stem.starts_with(disk))
            || stem.is_empty() && (matches_glob(name, "sda") || matches_glob(name, "nvme0n1"));
    }
    // `/dev/GROUP/VOLUME`: no other kind of device has a directory named by a person.
    let volume = name
        .split_once('/')
        .is_some_and(|(group, volume)| !volume.is_empty() && !lists(DIRECTORIES, group));
    name.starts_with(UNKNOWN)
        || volume
        || begins(DISKS, name) && !name.starts_with("mqueue") && !name.starts_with("stdin")
}

/// Below a directory where losing one file is losing a part of the system.
pub(crate) fn is_system_area(path: &str) -> bool {
    const AREAS: &str = "/etc/ /usr/ /bin/ /sbin/ /lib/ /lib64/ /boot/ /opt/ /System/ /Library/ /private/etc/ \
        /var/";
    const FREE: [&str; 5] =
        ["/var/tmp/", "/var/folders/", "/var/cache/", "/var/run/user/", "/var/www/"];
    begins(AREAS, path) && !FREE.iter().any(|area| path.starts_with(area))
}
