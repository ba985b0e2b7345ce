//! Reads in a command's output what the sandbox refused, so that it can be named and, with one
//! approval, be done outside.

use petasos_contract::environment::{Sandbox, SandboxLevel};
use petasos_contract::terminal::Ended;

/// What programs say when a path is refused.
const PATH_WORDS: &[&str] =
    &["Permission denied", "Read-only file system", "Operation not permitted"];
/// What they say when the network is.
const NETWORK_WORDS: &[&str] =
    &["Could not resolve", "Temporary failure in name resolution", "Network is unreachable"];

/// What was refused, when something seems to have been.
pub(crate) fn denial(sandbox: &Sandbox, ended: &Ended, output: &str) -> Option<String> {
    let failed = !matches!(ended, Ended::Exited(0));
    if sandbox.level == SandboxLevel::Off || !failed {
        return None;
    }
    output.lines().rev().take(50).find_map(|line| {
        let says = |words: &[&str]| words.iter().any(|word| line.contains(word));
        if !sandbox.network && says(NETWORK_WORDS) {
            return Some(format!("network: {}", host(line)));
        }
        if !says(PATH_WORDS) {
            return None;
        }
        let path = path(line)?;
        let inside = sandbox
            .writable
            .iter()
            .any(|root| std::path::Path::new(path).starts_with(root.as_path()));
        let kept = sandbox
            .protected
            .iter()
            .any(|root| std::path::Path::new(path).starts_with(root.as_path()));
        (!inside || kept || path.contains(".git/hooks")).then(|| format!("path: {path}"))
    })
}

/// The path in `touch: cannot touch '/etc/x': Permission denied` and its like.
fn path(line: &str) -> Option<&str> {
    if let Some(quoted) = line.split(['\'', '"', '\u{2018}', '\u{2019}']).nth(1)
        && quoted.contains('/')
    {
        return Some(quoted);
    }
    line.split(": ").map(str::trim).find(|part| part.contains('/') && !part.contains(' '))
}

fn host(line: &str) -> &str {
    line.rsplit(": ").next().unwrap_or(line).trim()
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
            ("no such thing", None),
        ];
        for (output, expected) in rows {
            let found = denial(&sandbox, &Ended::Exited(1), output);
            assert_eq!(found.as_deref(), expected, "{output}");
        }
    }
}
