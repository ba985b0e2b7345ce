//! Replaces, edits or removes scheduled jobs.

use crate::flow::call::Call;
use crate::flow::value::Taint;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "crontab replacement",
    aliases: &[],
    description: "replaces, edits or removes scheduled jobs",
    severity: Severity::Ask,
    checks: &[Check::Call("crontab at batch atrm schtasks incrontab systemd-run launchctl", check)],
    matches: &[
        "crontab -r",
        "crontab jobs.txt",
        r#"(crontab -l; echo "* * * * * x") | crontab -"#,
        "echo /tmp/x | at now + 1 minute",
        "crontab -u root -r",
    ],
    passes: &["crontab -l", "atq", "crontab -u me -l"],
};

fn check(call: &Call<'_>) -> bool {
    match call.program {
        "crontab" | "incrontab" => {
            let reads = ["-l", "-V", "-T"].iter().any(|flag| call.flag_word(flag));
            let fed = call.stdin.text.is_some() || call.stdin.taint != Taint::NONE;
            !reads && (fed || !call.args.is_empty())
        }
        "at" | "batch" => !call.flag_word("-l") && !call.flag_word("-c") && !call.flag_word("-V"),
        "atrm" => true,
        "schtasks" => call.args.iter().any(|arg| {
            ["/create", "/delete", "/change", "/run"]
                .iter()
                .any(|verb| arg.text.eq_ignore_ascii_case(verb))
        }),
        "systemd-run" => call.args.iter().any(|arg| arg.text.starts_with("--on-")),
        _ => false,
    }
}
