//! Code in other languages, judged by what it visibly calls.
//!
//! `scan` cuts the text into names, strings and signs; `evaluate` works out strings
//! that are put together in plain sight; `walk` looks at the calls. It is no
//! interpreter: what it cannot see stays unknown.

pub(crate) mod act;
pub(crate) mod alias;
pub(crate) mod calls;
pub(crate) mod compute;
pub(crate) mod evaluate;
pub(crate) mod given;
mod handed;
mod iterate;
pub(crate) mod print;
pub(crate) mod scan;
pub(crate) mod sed;
pub(crate) mod shells;
pub(crate) mod sight;
pub(crate) mod verbs;
pub(crate) mod walk;
pub(crate) mod windows;

/// Languages with a visible text we can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Any POSIX-like shell.
    Shell,
    /// Python.
    Python,
    /// JavaScript and TypeScript.
    JavaScript,
    /// Perl.
    Perl,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
    /// AWK.
    Awk,
    /// AppleScript.
    AppleScript,
    /// PowerShell and `cmd`.
    PowerShell,
    /// Rules of `make`.
    Make,
    /// Tcl and `expect`.
    Tcl,
    /// Shells with a grammar of their own, such as fish, csh and nu.
    OtherShell,
    /// Anything else with calls and strings.
    Other,
}

impl Language {
    /// The language a script asks for in its first line; shell when it says nothing.
    pub fn of_script(text: &str) -> Self {
        let first = text.lines().next().unwrap_or_default();
        let Some(line) = first.strip_prefix("#!") else { return Self::Shell };
        if line.contains("python") {
            Self::Python
        } else if line.contains("node") || line.contains("deno") || line.contains("bun") {
            Self::JavaScript
        } else if line.contains("perl") {
            Self::Perl
        } else if line.contains("ruby") {
            Self::Ruby
        } else if line.contains("php") {
            Self::Php
        } else {
            Self::Shell
        }
    }
}
