//! What a code other than zero means when it is no failure. The last command of the line decides.

use super::words::simples;

/// A note for the model, when there is something to know.
pub(super) fn of(command: &str, code: i32) -> Option<&'static str> {
    let simples = simples(command);
    let words = simples.last()?.program();
    let program = words.first()?.rsplit('/').next()?;
    match (program, code) {
        ("grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack", 1) => {
            Some("no line matched; this is not an error")
        }
        ("diff" | "cmp" | "colordiff", 1) => Some("the files differ; this is not an error"),
        ("find", 1) => Some("some directories could not be read; the results are partial"),
        ("test" | "[", 1) => Some("the condition is false; this is not an error"),
        ("curl", 6) => Some("the host name could not be resolved"),
        ("curl", 7) => Some("the host refused the connection or is not there"),
        ("curl", 22) => Some("the server answered with an HTTP error of 400 or above"),
        ("curl", 28) => Some("the transfer took too long"),
        ("git", 1) => Some("git often uses 1 for an ordinary answer such as `there are changes`"),
        (_, 134) => Some("the program aborted (SIGABRT)"),
        (_, 136) => Some("the program crashed over arithmetic (SIGFPE)"),
        (_, 137) => Some("the program was killed (SIGKILL), often for lack of memory"),
        (_, 139) => Some("the program crashed (SIGSEGV)"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_command_of_a_line_decides() {
        let rows = [
            ("grep x f", 1, true),
            ("cat f | grep x", 1, true),
            ("grep x f && make", 1, false),
            ("diff a b", 1, true),
            ("/usr/bin/find / -name x", 1, true),
            ("curl -f http://x", 22, true),
            ("curl x", 3, false),
            ("[ -f x ]", 1, true),
            ("make", 1, false),
            ("./a.out", 139, true),
        ];
        for (command, code, expected) in rows {
            assert_eq!(of(command, code).is_some(), expected, "{command}");
        }
    }
}
