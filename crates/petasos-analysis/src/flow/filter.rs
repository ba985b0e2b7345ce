//! Text tools that change what flows through them in ways we can follow:
//! `tr`, `sed`, `grep`, `cut`, `head`, `tail`, `sort`. What cannot be told exactly is not told.

use super::dialect::{self, Spelling};
use super::value::Arg;
use crate::code::sed;

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
        "head" => take_lines(args, input, true),
        "tail" => take_lines(args, input, false),
        "sort" if args.is_empty() => {
            let mut lines: Vec<&str> = input.lines().collect();
            lines.sort_unstable();
            Some(lines.join("\n") + "\n")
        }
        "uniq" if args.is_empty() => {
            let mut lines: Vec<&str> = input.lines().collect();
            lines.dedup();
            Some(lines.join("\n") + "\n")
        }
        "cut" => cut(args, input),
        "paste" => pasted(args, input),
        "cat" | "tee" | "pv" | "buffer" | "sponge" => Some(input.to_owned()),
        "grep" | "egrep" | "fgrep" => search(name, args, input),
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

/// Scripts of `s/a/b/` commands, and of lines by their numbers.
fn substitute(args: &[Arg], input: &str) -> Option<String> {
    let mut spelling = Spelling::default();
    let mut quiet = false;
    for flag in args.iter().filter_map(|arg| arg.text.strip_prefix('-')) {
        for letter in flag.chars() {
            match letter {
                'n' => quiet = true,
                'E' | 'r' => spelling.extended = true,
                'e' | 'u' => {}
                _ => return None,
            }
        }
    }
    let scripts: Vec<&str> =
        args.iter().map(|arg| arg.text.as_str()).filter(|text| !text.starts_with('-')).collect();
    if let [script] = scripts.as_slice()
        && let Some(lines) = numbered(script, quiet, input)
    {
        return Some(lines);
    }
    let steps: Vec<sed::Step> = scripts.iter().flat_map(|script| sed::steps(script)).collect();
    // Each pattern has to be made ready; nobody writes so many. Of many, which one prints?
    if steps.is_empty() || steps.len() > 64 || quiet && steps.len() > 1 {
        return None;
    }
    let mut output = input.to_owned();
    for step in steps {
        let sed::Step::Replace { from, to, flags } = step else { return None };
        if from.is_empty() || output.len() > TEXT_MAX {
            return None;
        }
        if !flags.chars().all(|flag| matches!(flag, 'g' | 'p')) || flags.contains('p') != quiet {
            return None;
        }
        output = replaced(&output, (&from, &to), flags.contains('g'), (spelling, quiet))?;
    }
    Some(output)
}

/// `sed -n 2p`, `sed 1,3d`: lines by their numbers.
fn numbered(script: &str, quiet: bool, input: &str) -> Option<String> {
    let (address, keep) = match script.split_at_checked(script.len().checked_sub(1)?)? {
        (address, "p") if quiet => (address, true),
        (address, "d") if !quiet => (address, false),
        _ => return None,
    };
    let (first, last) = address.split_once(',').unwrap_or((address, address));
    let total = input.lines().count();
    let line = |text: &str| if text == "$" { Some(total) } else { text.parse::<usize>().ok() };
    let first = line(first)?;
    // A range that ends before it begins is its first line.
    let range = first..=line(last)?.max(first);
    let kept = input.lines().enumerate().filter(|(at, _)| range.contains(&(at + 1)) == keep);
    Some(kept.fold(String::new(), |text, (_, line)| text + line + "\n"))
}

/// `s/from/to/` on every line; `quiet` leaves only the lines that were changed.
fn replaced(
    input: &str,
    (from, to): (&str, &str),
    all: bool,
    (spelling, quiet): (Spelling, bool),
) -> Option<String> {
    let matcher = dialect::matcher(from, spelling)?;
    // Where nothing matches, each dialect goes on in its own way.
    let all = all && from != ".*";
    if all && matcher.is_match("") {
        return None;
    }
    let to = dialect::replacement(to)?;
    let mut output = String::with_capacity(input.len());
    for line in input.lines().filter(|line| !quiet || matcher.is_match(line)) {
        let changed = if all { matcher.replace_all(line, &to) } else { matcher.replace(line, &to) };
        output.push_str(&changed);
        output.push('\n');
    }
    Some(output)
}

/// The lines that `grep` lets through.
fn search(name: &str, args: &[Arg], input: &str) -> Option<String> {
    let mut spelling =
        Spelling { extended: name == "egrep", fixed: name == "fgrep", ..Spelling::default() };
    let mut inverted = false;
    let mut patterns = Vec::new();
    for arg in args {
        let Some(flags) = arg.text.strip_prefix('-').filter(|flags| !flags.is_empty()) else {
            patterns.push(arg.text.as_str());
            continue;
        };
        for flag in flags.chars() {
            match flag {
                'v' => inverted = true,
                'i' => spelling.folded = true,
                'E' => spelling.extended = true,
                'F' => spelling.fixed = true,
                'a' | 'h' | 'e' => {}
                _ => return None,
            }
        }
    }
    let [pattern] = patterns.as_slice() else { return None };
    let matcher = dialect::matcher(pattern, spelling)?;
    let kept = input.lines().filter(|line| matcher.is_match(line) != inverted);
    Some(kept.fold(String::new(), |text, line| text + line + "\n"))
}

/// `paste -s -d' '`: all lines in one.
fn pasted(args: &[Arg], input: &str) -> Option<String> {
    let mut delimiter = "\t".to_owned();
    let mut serial = false;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let flags = arg.text.strip_prefix('-')?;
        let (before, value) = flags.split_once('d').map_or((flags, None), |(a, b)| (a, Some(b)));
        serial |= before == "s";
        if !matches!(before, "" | "s") {
            return None;
        }
        match value {
            Some("") => rest.next()?.text.clone_into(&mut delimiter),
            Some(value) => value.clone_into(&mut delimiter),
            None => {}
        }
    }
    let one = delimiter.chars().count() == 1;
    (serial && one).then(|| input.lines().collect::<Vec<_>>().join(&delimiter) + "\n")
}

/// `head` and `tail`; `None` for a count that is not understood.
fn take_lines(args: &[Arg], input: &str, from_start: bool) -> Option<String> {
    let mut count = "10".to_owned();
    let mut bytes = false;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let flag = arg.text.strip_prefix('-')?;
        let (unit, value) = match flag.chars().next()? {
            unit @ ('n' | 'c') => (unit, flag.get(1..)?),
            digit if digit.is_ascii_digit() => ('n', flag),
            'q' if flag.len() == 1 => continue,
            _ => return None,
        };
        bytes = unit == 'c';
        count = if value.is_empty() { rest.next()?.text.clone() } else { value.to_owned() };
    }
    if bytes && !input.is_ascii() {
        return None;
    }
    let number: usize = count.trim_start_matches(['+', '-']).parse().ok()?;
    let pieces: Vec<&str> = if bytes {
        input.split_inclusive(|_| true).collect()
    } else {
        input.split_inclusive('\n').collect()
    };
    let total = pieces.len();
    let range = match (from_start, count.chars().next()) {
        (true, Some('-')) => 0..total.saturating_sub(number),
        (true, _) => 0..number.min(total),
        (false, Some('+')) => number.saturating_sub(1).min(total)..total,
        (false, _) => total.saturating_sub(number)..total,
    };
    Some(pieces.get(range)?.concat())
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
