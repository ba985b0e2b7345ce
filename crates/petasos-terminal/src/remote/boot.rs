//! The texts that run in a target, and the orders that are read by them.
//!
//! They are for any POSIX shell: `bash`, `dash` and `busybox sh` were tried. What is secret or
//! long goes by input, never by argument: the texts themselves are the only arguments.

use petasos_contract::environment::{Exports, Launch, Program, Size, Stderr};

const HEAD: &str = include_str!("scripts/head.sh");
/// What begins and ends a command. What it left running is found by its mark, or by its session:
/// between fork and exec a process shows no variables.
const COMMAND: &str = include_str!("scripts/command.sh");
const INPUT: &str = include_str!("scripts/input.sh");
const RUN: &str = include_str!("scripts/run.sh");
const JOB: &str = include_str!("scripts/job.sh");
const FIND: &str = include_str!("scripts/find.sh");
const FOLLOW: &str = include_str!("scripts/follow.sh");

/// Ends what bears a mark: `$1` its first process, `$2` the mark, `$3` the grace in twentieths of
/// a second, or `look` to only print what lives.
pub(super) const KILL: &str = include_str!("scripts/kill.sh");
/// Gives the terminal of a process another size: `$1` the process, `$2` rows, `$3` columns.
pub(super) const RESIZE: &str = include_str!("scripts/resize.sh");
/// Watches over one job: `$1` its folder, `$2` its shell.
pub(super) const KEEPER: &str = include_str!("scripts/keeper.sh");

/// The variable by which everything that a command started is found again.
pub(super) const MARK: &str = "PETASOS_RUN";

/// Names that a shell does not let anybody set.
const READ_ONLY: &[&str] = &["UID", "EUID", "PPID", "BASHOPTS", "SHELLOPTS", "BASH_VERSINFO", MARK];

/// What a command reads after its orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// Nothing; the end of its input means that we are gone.
    Lifeline,
    /// Nothing.
    Nothing,
    /// What follows.
    Rest,
}

impl Reads {
    fn word(self) -> &'static str {
        match self {
            Self::Lifeline => "lifeline",
            Self::Nothing => "nothing",
            Self::Rest => "rest",
        }
    }
}

/// The text that runs any command without a terminal; `$1` is [`KILL`]. It knows nothing of the
/// command, so that its shell can be started before there is one.
pub(super) fn command() -> String {
    format!("{HEAD}{COMMAND}{INPUT}{RUN}")
}

/// The text that runs a command at a terminal; `$1` is the file with its orders.
pub(super) fn at_terminal(size: Size) -> String {
    let orders = "exec 6<&0 <\"$1\" && rm -f \"$1\" || exit 125\n";
    // A carrier may tell the size only after the start.
    let Size { rows, columns } = size;
    let sized = format!("exec <&6 6<&-\nstty rows {rows} cols {columns} 2>/dev/null\n");
    format!("{orders}{HEAD}{sized}{COMMAND}{RUN}")
}

/// The first words to a shell that waits for orders.
pub(super) fn greeting(nonce: &str) -> Vec<u8> {
    format!("{nonce}\n").into_bytes()
}

/// Asks a waiting shell whether it is there.
pub(super) fn question(nonce: &str) -> Vec<u8> {
    format!("?{nonce}\n").into_bytes()
}

/// The text that starts a job and follows it: `$1` its folder, `$2` its mark, `$3` [`KEEPER`],
/// `$4` its shell.
pub(super) fn job(lifeline: bool) -> String {
    format!("{HEAD}{JOB}{}", following(lifeline))
}

/// The text that follows a job again: `$1` its folder, `$2` its mark, `$3` its process, `$4` when
/// that began.
pub(super) fn follow(lifeline: bool) -> String {
    format!("{FIND}{}", following(lifeline))
}

/// Without us nobody needs to follow; the job itself goes on.
fn following(lifeline: bool) -> String {
    let watch = "exec 7<&0\n( while read -r x; do :; done; kill $$ ) <&7 >/dev/null 2>&1 &\nw=$!";
    FOLLOW.replace("#lifeline", if lifeline { watch } else { "" })
}

/// The orders that follow the [`greeting`], for [`command`], [`at_terminal`] and [`job`].
pub(super) fn orders(nonce: &str, launch: &Launch, variables: &Exports, reads: Reads) -> Vec<u8> {
    let mut text = String::new();
    for (name, value) in variables {
        if may_set(name) {
            text.extend(["export ", name, "=", &quote(value), "\n"]);
        }
    }
    for name in launch.unset.iter().filter(|name| may_set(name)) {
        text.extend(["unset ", name, "\n"]);
    }
    let command = match &launch.program {
        Program::Shell(script) => script.clone(),
        Program::Argv(argv) => argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" "),
    };
    let cwd = launch.cwd.to_string();
    let joined = if launch.stderr == Stderr::Joined && launch.pty.is_none() { "1" } else { "" };
    text.extend(["__pi=", reads.word(), " __pj=", joined, "\n"]);
    text.extend(["__pd=", &quote(&cwd), "\n__pc=", &quote(&command), "\n.", nonce, "\n"]);
    text.into_bytes()
}

fn may_set(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let digit = name.chars().next().is_none_or(|letter| letter.is_ascii_digit());
    !digit && name.chars().all(plain) && !READ_ONLY.contains(&name)
}

/// One word for a shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use petasos_contract::path::TargetPath;

    use super::*;

    #[test]
    fn orders_hold_values_as_they_are_and_no_name_that_breaks_the_shell() {
        let launch = Launch::shell("echo 'x'", TargetPath::new("/a b"));
        let names = [("A", "it's\ntwo"), ("1X", "no"), ("A-B", "no"), ("UID", "0")];
        let variables = names.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let text = orders("n", &launch, &Exports::from(variables), Reads::Lifeline);
        let expected = "export A='it'\\''s\ntwo'\n__pi=lifeline __pj=1\n__pd='/a b'\n\
                        __pc='echo '\\''x'\\'''\n.n\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn a_terminal_reads_its_orders_from_a_file() {
        let text = at_terminal(Size::USUAL);
        assert!(text.starts_with("exec 6<&0 <\"$1\" && rm"), "{text}");
        assert!(text.contains("exec <&6 6<&-"), "{text}");
    }
}
