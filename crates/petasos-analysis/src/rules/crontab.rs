//! Replaces, edits or removes scheduled jobs.

use crate::flow::call::Call;
use crate::flow::value::Taint;
use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "crontab replacement",
    description: "replaces, edits or removes scheduled jobs",
    checks: &[Check::Signal(Signal::CronChange), Check::Call("crontab incrontab", check)],
    examples: include_str!("crontab.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    let reads = ["-l", "-V", "-T"].iter().any(|flag| call.flag_word(flag));
    let fed = call.stdin.text.is_some() || call.stdin.taint != Taint::NONE;
    !reads && (fed || !call.args.is_empty())
}
