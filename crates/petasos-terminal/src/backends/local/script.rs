//! The text around a command, which makes its shell tell at the end what it leaves: where it is,
//! and its exports unless it plainly has not touched them.
//!
//! Measured: a fresh `bash -c` that is handed the variables by `execve` and leaves them through
//! the builtin `export -p` costs a twentieth more than `bash -c true`; reading a snapshot file,
//! or a login shell, costs far more. A kept shell would be faster still, but `exit`, `exec` and
//! parallel calls would each need a way around.

use super::plain::only_starts_programs;
use crate::keeper::{script_fd, state_fd};

/// The longest text that one argument may hold is 128 KiB; quoting may make it longer.
const ARGUMENT_BYTES_MAX: usize = 100_000;

/// The words of the shell, and the text it reads when that is too long for an argument.
pub(super) struct Wrapped {
    pub(super) argv: Vec<String>,
    pub(super) apart: Option<Vec<u8>>,
}

/// Wraps a command; `prelude` holds functions, aliases and options of the login files. A bare shell
/// reads nothing else before the command.
pub(super) fn wrap(command: &str, prelude: &str, is_bare: bool) -> Wrapped {
    let state = state_fd();
    // The descriptor is closed while the command runs, so that no program inherits it: what a
    // session keeps is for its shell to say.
    // `pwd` and `export` print what survives; a descriptor that the command closed is its choice.
    // Whoever asked may be gone, which must not end the shell before its time.
    let leave =
        format!("{{ builtin trap : PIPE; builtin pwd; builtin export -p; }} 2>/dev/null >&{state}");
    // The trap is for `exit` and `set -e`; the end is for a command that has its own trap.
    let around = |run: &str| {
        format!(
            "{prelude}trap '{{ set +xeu; [ \"${{__petasos_left-}}\" ] || {leave}; }} 2>/dev/null' EXIT\n\
             {run}\n\
             {{ __petasos_left=$?; set +xeu; {leave}; }} 2>/dev/null\n\
             exit \"$__petasos_left\"\n"
        )
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    // Nothing could make a program's name mean something else. The last words also keep the shell from becoming the last program, which would then lead the
    // session and be the parent of what runs in the background.
    let is_plain = is_bare && prelude.is_empty() && only_starts_programs(command);
    if is_plain && command.len() <= ARGUMENT_BYTES_MAX {
        let text = format!(
            "{{ :; {command}\n}} {state}>&-\n__petasos_left=$?; {{ builtin trap : PIPE; \
             builtin pwd >&{state}; }} 2>/dev/null; exit \"$__petasos_left\""
        );
        return Wrapped { argv: words(&["bash", "-c", "--", &text]), apart: None };
    }
    // As a word of its own the command is read once; quoted in the text it would be read twice.
    let text =
        around(&format!("__petasos_text=$1; shift; {{ eval \"$__petasos_text\"; }} {state}>&-"));
    if text.len().max(command.len()) <= ARGUMENT_BYTES_MAX {
        return Wrapped { argv: words(&["bash", "-c", &text, "bash", command]), apart: None };
    }
    let source = script_fd();
    let run = format!("{{ eval {}; }} {state}>&- {source}>&-", quote(command));
    let apart = around(&run).into_bytes();
    let source = format!(". /dev/fd/{source}");
    Wrapped { argv: words(&["bash", "-c", &source]), apart: Some(apart) }
}

/// One word for a shell.
pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The text that a login shell runs once, to learn what its files set up.
pub(super) fn survey(files: &[String]) -> String {
    let source = |file: &String| format!("[ -r {0} ] && . {0}\n", quote(file));
    let sources = files.iter().map(source).collect::<Vec<_>>().concat();
    format!(
        "{sources}{{ builtin export -p; printf '\\0'; builtin declare -f; printf '\\0'; \
         builtin alias -p; printf '\\0'; builtin shopt -p; builtin set +o; }} 2>/dev/null \
         >&{}",
        state_fd()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_comes_by_descriptor() {
        assert!(wrap("true", "", true).apart.is_none());
        assert!(wrap(&"x".repeat(200_000), "", true).apart.is_some());
    }
}
