//! Reads in a command's output what the sandbox refused, so that it can be named and, with one
//! approval, be done outside.

use std::path::{Path, PathBuf};

use petasos_contract::environment::{Sandbox, SandboxLevel};

/// What programs say when a path is refused.
const PATH_WORDS: &[&str] = &[
    "Permission denied",
    "Read-only file system",
    "Operation not permitted",
    // A file that is kept by a mount cannot be replaced.
    "Device or resource busy",
];
/// What they say when the network is.
const NETWORK_WORDS: &[&str] = &[
    "Could not resolve",
    "Temporary failure in name resolution",
    "Network is unreachable",
    "unable to resolve host",
];
/// What they say when a service of the machine or the session cannot be reached, and its name.
const SERVICE_WORDS: &[(&str, &str)] = &[
    ("Docker daemon", "the container engine"),
    ("connect to Podman", "the container engine"),
    ("connect to bus", "the bus of the system or the session"),
    ("connect to D-Bus", "the bus of the system or the session"),
    ("no new privileges", "the rights of another user"),
];
/// Lines that are looked at, the last ones.
const LINES: usize = 50;

/// What a program that failed in this directory seems to have been refused.
pub(crate) fn denial(sandbox: &Sandbox, cwd: &Path, output: &str) -> Option<String> {
    if sandbox.level == SandboxLevel::Off {
        return None;
    }
    output.lines().rev().take(LINES).find_map(|line| {
        let says = |words: &[&str]| words.iter().any(|word| line.contains(word));
        if let Some((_, name)) = SERVICE_WORDS.iter().find(|(word, _)| line.contains(word)) {
            return Some(format!("service: {name}"));
        }
        if !sandbox.network && says(NETWORK_WORDS) {
            return Some(format!("network: {}", host(line)));
        }
        if !says(PATH_WORDS) {
            return None;
        }
        let path = cwd.join(path(line)?);
        is_refused(sandbox, &path).then(|| format!("path: {}", path.display()))
    })
}

fn is_refused(sandbox: &Sandbox, path: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let path =
        path.parent().map_or_else(PathBuf::new, real).join(path.file_name().unwrap_or_default());
    let inside = |root: &Path| path.starts_with(root) || path.starts_with(real(root));
    let is_writable = sandbox.writable.iter().any(|root| inside(root.as_path()));
    let is_protected = sandbox.protected.iter().any(|root| inside(root.as_path()));
    !is_writable || is_protected || path.components().any(|part| part.as_os_str() == ".git")
}

/// The path in `touch: cannot touch '/etc/x': Permission denied` and its like.
fn path(line: &str) -> Option<&str> {
    if let Some(quoted) = quoted(line)
        && quoted.contains('/')
    {
        return Some(quoted);
    }
    // The last word of a part, as in `could not lock config file .git/config: …`.
    let words = line.split(": ").filter_map(|part| part.split_whitespace().next_back());
    words.into_iter().find(|word| word.contains('/'))
}

fn host(line: &str) -> &str {
    quoted(line).unwrap_or_else(|| line.rsplit(": ").next().unwrap_or(line).trim())
}

fn quoted(line: &str) -> Option<&str> {
    line.split(['\'', '"', '\u{2018}', '\u{2019}']).nth(1)
}

#[cfg(test)]
mod tests {
    use petasos_contract::path::TargetPath;

    use super::*;

    #[test]
    fn a_denial_names_the_path_or_the_host() {
        let sandbox = Sandbox {
            level: SandboxLevel::Workspace,
            network: false,
            writable: vec![TargetPath::new("/project")],
            ..Sandbox::default()
        };
        let rows = [
            ("touch: cannot touch '/etc/x': Permission denied", Some("path: /etc/x")),
            ("bash: line 1: /etc/x: Read-only file system", Some("path: /etc/x")),
            ("cat: /project/secret: Permission denied", None),
            ("curl: (6) Could not resolve host: example.com", Some("network: example.com")),
            ("wget: unable to resolve host address 'example.org'", Some("network: example.org")),
            ("no such thing", None),
            ("cat: sub/secret: Permission denied", None),
            (
                "error: could not lock config file .git/config: Read-only file system",
                Some("path: /project/.git/config"),
            ),
            (
                "PermissionError: [Errno 13] Permission denied: '/home/me/.bashrc'",
                Some("path: /home/me/.bashrc"),
            ),
            (
                "Failed to connect to bus: Operation not permitted",
                Some("service: the bus of the system or the session"),
            ),
        ];
        for (output, expected) in rows {
            let found = denial(&sandbox, Path::new("/project"), output);
            assert_eq!(found.as_deref(), expected, "{output}");
        }
    }
}
