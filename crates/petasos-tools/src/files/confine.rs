//! File tools in the sandbox of commands: what a command could not write, they do not write either
//! until somebody agrees.

use std::path::{Path, PathBuf};

use petasos_contract::environment::{Sandbox, SandboxLevel};
use petasos_contract::terminal::Terminal;
use petasos_contract::{Args, CallContext, ToolOutput};
use serde_json::Value;

/// Files by which git runs programs on its user's behalf.
const GIT_PROGRAMS: [&str; 4] = ["hooks", "config", "config.worktree", "commondir"];

/// Whether the sandbox refuses a write to this path, which is real: links were followed.
pub(crate) fn refuses(sandbox: &Sandbox, path: &Path) -> bool {
    if sandbox.level == SandboxLevel::Off {
        return false;
    }
    let inside = |root: &Path| path.starts_with(root) || path.starts_with(real(root));
    let is_writable = sandbox.writable.iter().any(|root| inside(root.as_path()));
    let is_protected = sandbox.protected.iter().any(|root| inside(root.as_path()));
    !is_writable || is_protected || is_program_of_git(path)
}

/// The argument that asks for a call outside the sandbox.
pub(crate) const OUTSIDE: &str = "outside_sandbox";
/// The key of a result that names what the sandbox refused.
pub(crate) const DENIED: &str = "sandbox_denied";

/// The same call outside the sandbox that refused a part of it, where that may be left.
pub(crate) fn outside(
    terminal: &dyn Terminal,
    args: &Args,
    output: &ToolOutput,
    cx: &CallContext,
) -> Option<(Args, String)> {
    let ToolOutput::Text(text) = output else { return None };
    if !text.contains(DENIED) || terminal.sandbox(cx).map_or(true, |sandbox| sandbox.required) {
        return None;
    }
    let told: Value = serde_json::from_str(text).ok()?;
    let refused = told.get(DENIED)?.as_str()?.to_owned();
    let mut args = args.clone();
    let already = args.object_mut().insert(OUTSIDE.to_owned(), Value::Bool(true));
    (already != Some(Value::Bool(true))).then_some((args, refused))
}

fn real(root: &Path) -> PathBuf {
    std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned())
}

/// Hooks and configuration below a `.git`, of submodules too, and the file that stands for one.
fn is_program_of_git(path: &Path) -> bool {
    let mut parts =
        path.components().map(std::path::Component::as_os_str).skip_while(|part| *part != ".git");
    if parts.next().is_none() {
        return false;
    }
    let below: Vec<_> = parts.collect();
    below.is_empty() || below.iter().any(|part| GIT_PROGRAMS.iter().any(|name| *part == *name))
}

#[cfg(test)]
mod tests {
    use petasos_contract::path::TargetPath;

    use super::*;

    #[test]
    fn a_file_tool_writes_where_a_command_could() {
        let workspace = Sandbox {
            level: SandboxLevel::Workspace,
            writable: vec![TargetPath::new("/w"), TargetPath::new("/temp")],
            protected: vec![TargetPath::new("/w/.petasos")],
            ..Sandbox::default()
        };
        for (path, refused) in [
            ("/w/a/b", false),
            ("/temp/x", false),
            ("/w/.gitignore", false),
            ("/w/.git/description", false),
            ("/home/me/.bashrc", true),
            ("/w2/a", true),
            ("/w/.petasos/config.yaml", true),
            ("/w/.git/hooks/pre-commit", true),
            ("/w/sub/.git/config", true),
            ("/w/.git/modules/lib/config", true),
            ("/w/worktree/.git", true),
        ] {
            assert_eq!(refuses(&workspace, Path::new(path)), refused, "{path}");
            assert!(!refuses(&Sandbox::default(), Path::new(path)));
            let readonly = Sandbox { level: SandboxLevel::Readonly, ..Sandbox::default() };
            assert!(refuses(&readonly, Path::new(path)), "{path}");
        }
    }
}
