//! Feeds sudo a password, or asks it for a shell.

use crate::flow::call::Call;
use crate::rule::{Check, Rule};
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "sudo with stdin or askpass",
    aliases: &["sudo with privilege flag"],
    description: "feeds sudo a password, or asks it for a shell",
    checks: &[Check::Sudo(check)],
    examples: include_str!("sudo_flags.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    let mut words = call.args.iter().map(|arg| arg.text.as_str());
    let mut shell = false;
    while let Some(word) = words.next() {
        if lists(
            "-u -g -h -p -C -r -t -T -U -D -R --user --group --prompt --host --close-from \
                --role --type --command-timeout --other-user --chdir --chroot",
            word,
        ) {
            words.next();
            continue;
        }
        if word == "--" || !word.starts_with('-') && !word.contains('=') {
            return false;
        }
        if "--stdin".starts_with(word) && word.len() > 4
            || "--askpass".starts_with(word) && word.len() > 3
            || word == "--shell"
            || word == "--login"
        {
            return true;
        }
        if !word.starts_with("--") {
            let flags = word
                .trim_start_matches('-')
                .split(['u', 'g', 'h', 'p', 'C', 'r', 't', 'T', 'U', 'D', 'R'])
                .next()
                .unwrap_or_default();
            if flags.contains(['S', 'A']) {
                return true;
            }
            shell |= flags.contains(['s', 'i']);
        }
    }
    shell
}
