//! Text tools that change what flows through them in ways we can follow:
//! `tr`, `sed s///`, `cut`, `head`, `tail`.

use super::value::Arg;
use crate::code::sed;
use regex::RegexBuilder;

/// Texts longer than this are not rewritten.
const TEXT_MAX: usize = 1 << 18;

/// What `name args…` makes of `input`, when that can be told.
pub(super) fn run(name: &str, args: &[Arg], input: &str) -> Option<String> {
    if input.len() > TEXT_MAX || args.iter().any(Arg::is_unknown) {
        return None;
    }
    match name {
        "tr" => translate(args, input),
        "rev" => Some(each_line(input, |line| line.chars().rev().collect())),
        "tac" => {
            let mut lines: Vec<&str> = input.lines().collect();
            lines.reverse();
            Some(lines.join("\n") + "\n")
        }
        "sed" | "gsed" => substitute(args, input),
        "head" => Some(take_lines(args, input, true)),
        "tail" => Some(take_lines(args, input, false)),
        "cut" => cut(args, input),
        "paste" => pasted(args, input),
        "sort" | "uniq" | "cat" | "tee" | "pv" | "nl" | "fold" | "fmt" | "buffer" | "sponge" => {
            Some(input.to_owned())
        }
        "grep" | "egrep" | "fgrep" => Some(input.to_owned()),
        "wc" => None,
        _ => None,
    }
}

fn each_line(input: &str, change: impl Fn(&str) -> String) -> String {
    let mut output = String::with_capacity(input.len());
    for line in input.lines() {
        output.push_str(&change(line));
        output.push('\n');
    }
    output
}

/// The letters of a `tr` set with ranges and classes spelt out.
fn set(text: &str) -> Vec<char> {
    let text = super::printf::unescape(text, false)
        .replace("[:upper:]", "A-Z")
        .replace("[:lower:]", "a-z")
        .replace("[:digit:]", "0-9")
        .replace("[:space:]", " \t\n\r")
        .replace("[:blank:]", " \t");
    let letters: Vec<char> = text.chars().collect();
    let mut output = Vec::new();
    let mut at = 0;
    while let Some(letter) = letters.get(at).copied() {
        match (letters.get(at + 1), letters.get(at + 2)) {
            (Some('-'), Some(end)) if *end >= letter => {
                output.extend((letter..=*end).take(512));
                at += 3;
            }
            _ => {
                output.push(letter);
                at += 1;
            }
        }
    }
    output
}

fn translate(args: &[Arg], input: &str) -> Option<String> {
    let flags: String = args
        .iter()
        .filter(|arg| arg.text.starts_with('-') && arg.text.len() > 1)
        .map(|arg| arg.text.as_str())
        .collect();
    let sets: Vec<Vec<char>> = args
        .iter()
        .filter(|arg| !(arg.text.starts_with('-') && arg.text.len() > 1))
        .map(|arg| set(&arg.text))
        .collect();
    let first = sets.first()?;
    let inside = |letter: &char| first.contains(letter) != flags.contains(['c', 'C']);
    if flags.contains('d') {
        return Some(input.chars().filter(|letter| !inside(letter)).collect());
    }
    let Some(second) = sets.get(1) else { return Some(input.to_owned()) };
    let last = second.last().copied()?;
    Some(
        input
            .chars()
            .map(|letter| {
                if flags.contains(['c', 'C']) {
                    return if first.contains(&letter) { letter } else { last };
                }
                match first.iter().position(|from| *from == letter) {
                    Some(at) => second.get(at).copied().unwrap_or(last),
                    None => letter,
                }
            })
            .collect(),
    )
}

/// Scripts of `s/a/b/` commands.
fn substitute(args: &[Arg], input: &str) -> Option<String> {
    let extended = args.iter().any(|arg| matches!(arg.text.as_str(), "-E" | "-r" | "-nE" | "-En"));
    if let Some(lines) = numbered(args, input) {
        return Some(lines);
    }
    let mut output = input.to_owned();
    let mut seen = false;
    for arg in args.iter().filter(|arg| !arg.text.starts_with('-')) {
        let steps = sed::steps(&arg.text);
        // Each pattern has to be made ready; nobody writes so many.
        if steps.len() > 64 {
            return None;
        }
        for step in steps {
            let sed::Step::Replace { from, to, flags } = step else { return None };
            if from.is_empty() || flags.contains(['e', 'w', 'I', 'i']) || output.len() > TEXT_MAX {
                return None;
            }
            output = replaced(&output, &from, &to, (flags.contains('g'), extended))?;
            seen = true;
        }
    }
    seen.then_some(output)
}

/// `sed -n 2p`, `sed 1,3d`: lines by their numbers.
fn numbered(args: &[Arg], input: &str) -> Option<String> {
    let quiet = args.iter().any(|arg| arg.is("-n"));
    let mut scripts = args.iter().filter(|arg| !arg.text.starts_with('-'));
    let (script, None) = (scripts.next()?.text.as_str(), scripts.next()) else { return None };
    let (address, keep) = match script.split_at_checked(script.len().checked_sub(1)?)? {
        (address, "p") if quiet => (address, true),
        (address, "d") if !quiet => (address, false),
        _ => return None,
    };
    let (first, last) = address.split_once(',').unwrap_or((address, address));
    let total = input.lines().count();
    let line = |text: &str| if text == "$" { Some(total) } else { text.parse::<usize>().ok() };
    let range = line(first)?..=line(last)?;
    let kept = input.lines().enumerate().filter(|(at, _)| range.contains(&(at + 1)) == keep);
    Some(kept.fold(String::new(), |text, (_, line)| text + line + "\n"))
}

/// `s/from/to/`, by a matcher whose work grows with the text alone.
fn replaced(input: &str, from: &str, to: &str, (all, extended): (bool, bool)) -> Option<String> {
    if from == ".*" || from == "^.*$" {
        return Some(each_line(input, |line| to.replace('&', line)));
    }
    let pattern = if extended { from.to_owned() } else { modern(from) };
    let matcher = RegexBuilder::new(&pattern).size_limit(1 << 16).build();
    // A pattern of another dialect: what comes out is not known.
    let Ok(matcher) = matcher else { return None };
    let to = replacement(to);
    Some(each_line(input, |line| {
        if all { matcher.replace_all(line, &to) } else { matcher.replace(line, &to) }.into_owned()
    }))
}

/// A basic pattern in the spelling of an extended one.
fn modern(pattern: &str) -> String {
    let mut output = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(next @ ('(' | ')' | '{' | '}' | '+' | '?' | '|')) => output.push(next),
                Some(next) => output.extend(['\\', next]),
                None => {}
            },
            '(' | ')' | '{' | '}' | '+' | '?' | '|' => output.extend(['\\', letter]),
            other => output.push(other),
        }
    }
    output
}

/// What is filled in, with `&` and `\1` spelt as the matcher wants them.
fn replacement(to: &str) -> String {
    let mut output = String::new();
    let mut letters = to.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '$' => output.push_str("$$"),
            '&' => output.push_str("${0}"),
            '\\' => match letters.next() {
                Some(digit) if digit.is_ascii_digit() => output.extend(['$', '{', digit, '}']),
                Some('n') => output.push('\n'),
                Some(other) => output.push(other),
                None => {}
            },
            other => output.push(other),
        }
    }
    output
}

/// `paste -s -d' '`: all lines in one.
fn pasted(args: &[Arg], input: &str) -> Option<String> {
    let flags: String = args.iter().map(|arg| arg.text.as_str()).collect();
    let serial = flags.strip_prefix('-')?.contains('s');
    let delimiter = flags.split_once('d').map_or("\t", |(_, delimiter)| delimiter);
    let delimiter = delimiter.strip_suffix('s').unwrap_or(delimiter);
    serial.then(|| input.lines().collect::<Vec<_>>().join(delimiter) + "\n")
}

fn take_lines(args: &[Arg], input: &str, from_start: bool) -> String {
    let mut count = 10;
    let mut bytes = None;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let value = |rest: &mut std::slice::Iter<'_, Arg>, text: &str| {
            if text.is_empty() {
                rest.next().map(|arg| arg.text.clone())
            } else {
                Some(text.to_owned())
            }
        };
        if let Some(text) = arg.text.strip_prefix("-n") {
            count = value(&mut rest, text).and_then(|text| text.parse().ok()).unwrap_or(count);
        } else if let Some(text) = arg.text.strip_prefix("-c") {
            bytes = value(&mut rest, text).and_then(|text| text.parse::<usize>().ok());
        } else if let Some(number) = arg.text.strip_prefix('-').and_then(|text| text.parse().ok()) {
            count = number;
        }
    }
    if let Some(bytes) = bytes {
        let skip = input.chars().count().saturating_sub(bytes);
        return if from_start {
            input.chars().take(bytes).collect()
        } else {
            input.chars().skip(skip).collect()
        };
    }
    let total = input.lines().count();
    let skip = if from_start { 0 } else { total.saturating_sub(count) };
    input.lines().skip(skip).take(count).fold(String::new(), |text, line| text + line + "\n")
}

fn cut(args: &[Arg], input: &str) -> Option<String> {
    let mut delimiter = '\t';
    let mut field = None;
    let mut letters = None;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let (flag, attached) = arg.text.split_at_checked(2)?;
        let value =
            if attached.is_empty() { rest.next()?.text.clone() } else { attached.to_owned() };
        match flag {
            "-d" => delimiter = value.chars().next()?,
            "-f" => field = value.parse::<usize>().ok(),
            "-c" | "-b" => letters = Some(value),
            _ => return None,
        }
    }
    if let Some(range) = letters {
        let (first, last) = range.split_once('-').unwrap_or((&range, &range));
        let first: usize = if first.is_empty() { 1 } else { first.parse().ok()? };
        let last: usize = if last.is_empty() { usize::MAX } else { last.parse().ok()? };
        let take = last.saturating_sub(first).saturating_add(1);
        return Some(each_line(input, |line| {
            line.chars().skip(first.saturating_sub(1)).take(take).collect()
        }));
    }
    let field = field?.checked_sub(1)?;
    Some(each_line(input, |line| line.split(delimiter).nth(field).unwrap_or(line).to_owned()))
}
