//! Lets everybody write.

use crate::flow::call::Call;
use crate::rule::{Check, Rule, Signal};
use crate::words::begins;

pub(super) static RULE: Rule = Rule {
    key: "world-writable permissions",
    description: "lets everybody write",
    checks: &[
        Check::Call(
            "chmod gchmod setfacl install mkdir mkfifo mknod umask icacls cacls find rsync",
            check,
        ),
        Check::Signal(Signal::WorldWritable),
    ],
    examples: include_str!("world_writable.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    match call.program {
        "setfacl" => call.args.iter().any(|arg| {
            arg.text.split(',').any(|entry| {
                let entry = entry.strip_prefix("d:").unwrap_or(entry);
                begins("o: other:", entry)
                    && entry
                        .rsplit(':')
                        .next()
                        .is_some_and(|mode| mode.contains('w') || mode == "7")
            })
        }),
        "install" | "mkdir" | "mkfifo" | "mknod" => {
            call.values(&["-m", "--mode"]).chain(call.clustered('m')).any(|mode| opens(&mode.text))
        }
        "umask" => call.args.iter().any(|arg| {
            matches!(arg.text.as_str(), "0" | "00" | "000" | "0000")
                || arg.text.contains(['=', '+']) && opens(&arg.text)
        }),
        "icacls" | "cacls" => {
            call.args.iter().any(|arg| arg.text.to_ascii_lowercase().contains("everyone:"))
        }
        "find" => false,
        "rsync" => call.values(&["--chmod"]).any(|modes| {
            modes.text.split(',').any(|mode| opens(mode.trim_start_matches(['D', 'F'])))
        }),
        _ => {
            call.args
                .iter()
                .filter(|arg| !arg.text.starts_with("--"))
                .take(8)
                .any(|arg| opens(&arg.text))
                && call.operands().count() > 1
        }
    }
}

/// Whether the steps behind `who`, such as `+rw-x` or `=u`, end with a right to write.
fn adds_write(steps: &str) -> bool {
    let (mut sign, mut writes) = ('+', false);
    for letter in steps.chars() {
        match letter {
            '+' | '-' => sign = letter,
            '=' => (sign, writes) = (letter, false),
            // Whoever owns a file can write it, as a rule.
            'w' | 'u' => writes = sign != '-',
            'r' | 'x' | 'X' | 's' | 't' | 'g' | 'o' => {}
            _ => return false,
        }
    }
    writes
}

/// Whether a mode gives others the right to write.
fn opens(mode: &str) -> bool {
    let digits = mode.trim_start_matches(['+', '=']);
    if (3..=5).contains(&digits.len()) && digits.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) {
        return digits.bytes().last().is_some_and(|byte| (byte - b'0') & 2 != 0);
    }
    mode.split(',').any(|clause| {
        let Some(at) = clause.find(['+', '=', '-']) else { return false };
        let (who, what) = clause.split_at_checked(at).unwrap_or((clause, ""));
        let plain = !who.is_empty() && who.bytes().all(|byte| b"ugoa".contains(&byte));
        let all = who.is_empty() && what.starts_with('=');
        (plain && who.contains(['o', 'a']) || all) && adds_write(what)
    })
}
