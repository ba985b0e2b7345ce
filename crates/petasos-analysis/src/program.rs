//! What programs do, as data: patterns of words, and what a call that fits one of them does.
//!
//! Patterns of one act are parted by `;`. A pattern is a list of tests that must all hold:
//!
//! | test | holds where |
//! |---|---|
//! | `stop\|kill*` | the next operand is one of these; `*` stands for anything, `_` for any operand |
//! | `..drop` | some operand is one of these |
//! | `@/s\|drop` | some argument is one of these, operand or option |
//! | `-f\|--force` | one of these options is given: in a cluster, shortened, with a value |
//! | `-s=stop\|quit` | the option has one of these values |
//! | `--` | something stands behind two dashes |
//! | `~text` | some argument, or what flows in, holds one of these texts, blanks and case aside |
//! | `#2` | there are so many operands, or more |
//! | `%` | some argument names a disk, or may |
//! | `^` | the call has raised rights |
//! | `!…` | the test does not hold; an operand stays the next one |
//!
//! An empty pattern fits every call. A call that is only rehearsed does nothing of this.

use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::path::{self, matches_glob};
use crate::programs::PROGRAMS;
use crate::rule::Signal;
use crate::table::Table;
use crate::words::lists;
use std::sync::LazyLock;

/// What programs of these names do, and the patterns of calls that do it.
#[derive(Debug)]
pub(crate) struct Program {
    names: &'static str,
    /// Options in front of the verb whose value is the next argument. Where there are any, only
    /// what follows the verb belongs to it.
    values: &'static str,
    act: Signal,
    patterns: &'static str,
}

/// Programs whose words stand in any order.
pub(crate) const fn act(act: Signal, names: &'static str, patterns: &'static str) -> Program {
    Program { names, values: "", act, patterns }
}

/// Programs with options of their own in front of the verb.
pub(crate) const fn verbal(
    act: Signal,
    names: &'static str,
    values: &'static str,
    patterns: &'static str,
) -> Program {
    Program { names, values, act, patterns }
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
const REHEARSED: &str = "--dry-run --dryrun --dry_run --what-if -whatif -dry-run -help --simulate --preview-only -? \
    --dry-run=true --dry-run=client --dry-run=server";

/// Options in front of a verb that take no value.
const SWITCHES: &str = "--no-pager --user --system --debug --verbose --quiet --force --no-wall --bare --tls \
    --no-ask-password --paginate --insecure --yes --no-optional-locks --now --global --all --now --version";

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
    found(call, None)
}

/// Whether `call` does what `signal` stands for.
pub(crate) fn does(call: &Call<'_>, signal: Signal) -> bool {
    !found(call, Some(signal)).is_empty()
}

fn found(call: &Call<'_>, wanted: Option<Signal>) -> Vec<Signal> {
    let mut found = Vec::new();
    let family = || BY_NAME.get("mkfs").filter(|_| call.program.starts_with("mkfs."));
    let Some(programs) = BY_NAME.get(call.program).or_else(family) else { return found };
    let mut programs =
        programs.iter().filter(|it| wanted.is_none_or(|act| act == it.act)).peekable();
    let asks = call.operands().take(2).chain(call.args.last()).any(|arg| arg.is("help"));
    let rehearsed = |arg: &Arg| arg.text.starts_with('-') && lists(REHEARSED, &arg.text);
    if programs.peek().is_none() || asks || call.args.iter().any(rehearsed) {
        return found;
    }
    let mut known: Option<(&str, Words<'_>)> = None;
    for program in programs {
        let (_, words) = match known.take().filter(|(values, _)| *values == program.values) {
            Some(same) => known.insert(same),
            None => known.insert((program.values, Words::of(call, program.values))),
        };
        let fits = |words: &Words<'_>| program.patterns.split(';').any(|it| words.fit(it));
        if fits(words) || Words::past_unknown(call, program.values).is_some_and(|it| fits(&it)) {
            found.push(program.act);
        }
    }
    found
}

/// A call as patterns see it.
struct Words<'c> {
    call: &'c Call<'c>,
    /// The same call from its verb on.
    tail: Call<'c>,
    operands: Vec<&'c Arg>,
}

impl<'c> Words<'c> {
    fn of(call: &'c Call<'c>, values: &str) -> Self {
        let mut at = 0;
        while let Some(arg) = call.args.get(at).filter(|arg| arg.text.starts_with('-')) {
            if values.is_empty() {
                break;
            }
            at += if lists(values, &arg.text) { 2 } else { 1 };
        }
        Self::from(call, at, values)
    }

    fn from(call: &'c Call<'c>, at: usize, values: &str) -> Self {
        let tail = Call { args: call.args.get(at..).unwrap_or_default(), ..*call };
        let operands = tail.operands_past(values);
        Self { call, tail, operands }
    }

    /// The call if options in front of the verb that no file knows take the next word, too.
    fn past_unknown(call: &'c Call<'c>, values: &str) -> Option<Self> {
        let mut at = 0;
        let mut unknown = false;
        while let Some(arg) = call.args.get(at).filter(|arg| arg.text.starts_with('-')) {
            let next = call.args.get(at + 1).is_some_and(|next| !next.text.starts_with('-'));
            let long = arg.text.starts_with("--") && !arg.text.contains('=') && next;
            let valued = long && !lists(SWITCHES, &arg.text) || lists(values, &arg.text);
            unknown |= valued && !lists(values, &arg.text);
            at += if valued { 2 } else { 1 };
        }
        unknown.then(|| Self::from(call, at, values))
    }

    fn fit(&self, pattern: &str) -> bool {
        let mut next = 0;
        pattern.split_ascii_whitespace().all(|test| {
            if let Some(test) = test.strip_prefix('!') {
                return !self.hold(test, next);
            }
            let held = self.hold(test, next);
            next += usize::from(is_next(test));
            held
        })
    }

    fn hold(&self, test: &str, next: usize) -> bool {
        let any = |words: &str, args: &[Arg]| args.iter().any(|arg| is_one(words, &arg.text));
        match test.as_bytes() {
            [b'.', b'.', ..] => {
                let words = test.get(2..).unwrap_or_default();
                self.operands.iter().any(|operand| is_one(words, &operand.text))
            }
            [b'@', ..] => any(test.get(1..).unwrap_or_default(), self.call.args),
            [b'#', count @ ..] => {
                let count = std::str::from_utf8(count).ok().and_then(|count| count.parse().ok());
                count.is_some_and(|count: usize| self.operands.len() >= count)
            }
            [b'~', ..] => self.says(test.get(1..).unwrap_or_default()),
            b"%" => self.call.args.iter().any(names_disk),
            b"^" => self.call.elevated,
            b"--" => self.tail.args.iter().skip_while(|arg| !arg.is("--")).nth(1).is_some(),
            [b'-', ..] => match test.split_once('=') {
                Some((names, words)) => {
                    let names: Vec<&str> = names.split('|').collect();
                    self.tail.values(&names).any(|value| is_one(words, &value.text))
                }
                None => test.split('|').any(|option| is_given(option, &self.tail)),
            },
            _ => self.operands.get(next).is_some_and(|operand| is_one(test, &operand.text)),
        }
    }

    /// Whether one of `texts` stands in an argument or in what flows in.
    fn says(&self, texts: &str) -> bool {
        let given = self.call.args.iter().map(|arg| arg.text.as_str());
        given.chain(self.call.stdin.text.as_deref()).any(|text| {
            let mut lower = text.to_ascii_lowercase();
            lower.retain(|letter| !letter.is_ascii_whitespace());
            texts.split('|').any(|text| lower.contains(text))
        })
    }
}

/// Whether a test is about the next operand.
fn is_next(test: &str) -> bool {
    !test.starts_with(['-', '~', '#', '@', '%', '^']) && !test.starts_with("..")
}

fn names_disk(arg: &Arg) -> bool {
    arg.is_unknown() || path::is_disk(&path::resolve(&arg.text, None, "/"))
}

/// Whether an option is given, in whatever spelling.
fn is_given(option: &str, call: &Call<'_>) -> bool {
    if option.contains('*') {
        return call.options().any(|arg| matches_glob(option, &arg.text));
    }
    match option.strip_prefix('-').map(|rest| (rest, rest.chars().next())) {
        // A longer word has the value of its first letter in it.
        Some((rest, Some(letter))) if rest.len() == 1 => call.options().any(|arg| {
            !arg.text.starts_with("--") && arg.text.len() <= 6 && arg.text.contains(letter)
        }),
        Some((rest, _)) if rest.starts_with('-') => call.long(option),
        _ => call.flag_word(option),
    }
}

/// Whether `text` is one of `words`, in any case.
fn is_one(words: &str, text: &str) -> bool {
    words.split('|').any(|word| match word {
        "_" => true,
        "*" => true,
        word if word.contains(['*', '?', '[']) => could_fit(word, text) && fits(word, text),
        word => word.eq_ignore_ascii_case(text),
    })
}

/// What a pattern says before its first sign, which is cheap to compare.
fn could_fit(pattern: &str, text: &str) -> bool {
    let head = pattern.split(['*', '?', '[']).next().unwrap_or_default();
    text.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head))
}

fn fits(pattern: &str, text: &str) -> bool {
    matches_glob(pattern, text) || matches_glob(pattern, &text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_can_be_read() {
        for program in PROGRAMS.iter().flat_map(|programs| programs.iter()) {
            assert!(!program.names.is_empty());
            for test in program.patterns.split([' ', ';']) {
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
