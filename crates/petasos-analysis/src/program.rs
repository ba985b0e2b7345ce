//! What programs do, as data: patterns of words, and what a call that fits one of them does.
//!
//! Patterns of one act are parted by `;`. A pattern is a list of tests that must all hold:
//!
//! | test | holds where |
//! |---|---|
//! | `stop\|kill*` | the next operand is one of these; `*` stands for anything, `_` for any operand |
//! | `..drop` | some operand is one of these |
//! | `-f\|--force` | one of these options is given: in a cluster, shortened, with a value |
//! | `-s=stop\|quit` | the option has one of these values |
//! | `~text` | some argument holds one of these texts, in any case |
//! | `#2` | there are so many operands, or more |
//! | `!…` | the test does not hold; an operand stays the next one |
//!
//! An empty pattern fits every call. A call that is only rehearsed does nothing of this.

use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::path::matches_glob;
use crate::programs::PROGRAMS;
use crate::rule::Signal;
use crate::table::Table;
use crate::words::lists;
use std::sync::LazyLock;

/// What programs of these names do.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) names: &'static str,
    /// Options whose value is the next argument.
    pub(crate) values: &'static str,
    /// What is done, and the patterns of calls that do it.
    pub(crate) acts: &'static [(Signal, &'static str)],
}

pub(crate) const fn program(
    names: &'static str,
    values: &'static str,
    acts: &'static [(Signal, &'static str)],
) -> Program {
    Program { names, values, acts }
}

static BY_NAME: LazyLock<Table<Vec<&'static Program>>> = LazyLock::new(|| {
    let mut map: Table<Vec<&'static Program>> = Table::default();
    for program in PROGRAMS.iter().flat_map(|programs| programs.iter()) {
        for name in program.names.split_ascii_whitespace() {
            map.entry(name).or_default().push(program);
        }
    }
    map
});

/// Options with which nothing is carried out.
const REHEARSED: &str = "--dry-run --dryrun --dry_run --what-if -whatif -dry-run -help --simulate \
    --dry-run=true --dry-run=client --dry-run=server";

/// Whether any file says what `program` does.
pub(crate) fn knows(program: &str) -> bool {
    BY_NAME.contains_key(program)
}

/// The names of all programs that some file knows.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BY_NAME.keys().copied()
}

/// What `call` does, as far as the files of programs say.
pub(crate) fn acts(call: &Call<'_>) -> Vec<Signal> {
    let mut found = Vec::new();
    let Some(programs) = BY_NAME.get(call.program) else { return found };
    let asks = call.operand(0) == "help" || call.args.last().is_some_and(|arg| arg.is("help"));
    if asks || call.args.iter().any(|arg| lists(REHEARSED, &arg.text)) {
        return found;
    }
    for program in programs {
        let operands = call.operands_past(program.values);
        for (signal, patterns) in program.acts {
            if patterns.split(';').any(|pattern| fits(pattern, call, &operands)) {
                found.push(*signal);
            }
        }
    }
    found
}

/// Whether `call` does what `signal` stands for.
pub(crate) fn does(call: &Call<'_>, signal: Signal) -> bool {
    acts(call).contains(&signal)
}

fn fits(pattern: &str, call: &Call<'_>, operands: &[&Arg]) -> bool {
    let mut next = 0;
    pattern.split_ascii_whitespace().all(|test| {
        if let Some(test) = test.strip_prefix('!') {
            return !holds(test, call, operands, next);
        }
        let held = holds(test, call, operands, next);
        next += usize::from(is_next(test));
        held
    })
}

/// Whether a test is about the next operand.
fn is_next(test: &str) -> bool {
    !test.starts_with(['-', '~', '#']) && !test.starts_with("..")
}

fn holds(test: &str, call: &Call<'_>, operands: &[&Arg], next: usize) -> bool {
    if let Some(words) = test.strip_prefix("..") {
        return operands.iter().any(|operand| is_one(words, &operand.text));
    }
    if let Some(count) = test.strip_prefix('#') {
        return count.parse().is_ok_and(|count: usize| operands.len() >= count);
    }
    if let Some(texts) = test.strip_prefix('~') {
        let within = |arg: &Arg| {
            let lower = arg.text.to_ascii_lowercase();
            texts.split('|').any(|text| lower.contains(&text.to_ascii_lowercase()))
        };
        return call.args.iter().any(within);
    }
    if test.starts_with('-') {
        return match test.split_once('=') {
            Some((names, words)) => {
                let names: Vec<&str> = names.split('|').collect();
                call.values(&names).any(|value| is_one(words, &value.text))
            }
            None => test.split('|').any(|option| is_given(option, call)),
        };
    }
    operands.get(next).is_some_and(|operand| is_one(test, &operand.text))
}

/// Whether an option is given, in whatever spelling.
fn is_given(option: &str, call: &Call<'_>) -> bool {
    if option.contains('*') {
        return call.options().any(|arg| matches_glob(option, &arg.text));
    }
    match option.strip_prefix('-').map(|rest| (rest, rest.chars().next())) {
        Some((rest, Some(letter))) if rest.len() == 1 => call.flag(letter),
        Some((rest, _)) if rest.starts_with('-') => call.long(option),
        _ => call.flag_word(option),
    }
}

/// Whether `text` is one of `words`, in any case.
fn is_one(words: &str, text: &str) -> bool {
    words.split('|').any(|word| match word {
        "_" => true,
        word if word.contains('*') => matches_glob(word, text),
        word => word.eq_ignore_ascii_case(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_can_be_read() {
        for program in PROGRAMS.iter().flat_map(|programs| programs.iter()) {
            assert!(!program.names.is_empty() && !program.acts.is_empty());
            for test in program.acts.iter().flat_map(|(_, text)| text.split([' ', ';'])) {
                let body = test.trim_start_matches('!').trim_start_matches("..");
                assert!(
                    test.is_empty() || !body.is_empty() && !body.contains("||"),
                    "`{test}` of `{}` is no test",
                    program.names
                );
                if let Some(count) = body.strip_prefix('#') {
                    assert!(count.parse::<usize>().is_ok(), "`{test}` of `{}`", program.names);
                }
            }
        }
    }
}
