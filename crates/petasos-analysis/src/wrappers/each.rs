//! Programs that run a command for many items: `xargs`, `parallel`, `find -exec`, `fd -x`.

use crate::flow::call::Call;
use crate::flow::value::{Arg, Taint};
use crate::path::covers_all;
use crate::shell::normalise::UNKNOWN;
use crate::words::lists;
use crate::wrapper::{Inner, Inners, Wrapper, command_after_options};

pub(super) static WRAPPER: Wrapper =
    Wrapper { names: "xargs gxargs parallel find gfind fd fdfind rush apply", rows: &[], unwrap };

/// Bytes of commands made by filling items into one.
const FILLED_MAX: usize = 1 << 18;

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    match call.program {
        "find" | "gfind" => find(call, inners),
        "fd" | "fdfind" => finder(call, inners),
        "parallel" | "rush" => parallel(call, inners),
        _ => {
            inners.opaque = true;
            xargs(call, inners);
        }
    }
}

/// The items that arrive on standard input, or one unknown item.
fn items(call: &Call<'_>, by_line: bool) -> Vec<Arg> {
    let item = |text: &str| Arg::of(text.to_owned(), call.span, call.stdin.taint);
    match &call.stdin.text {
        Some(text) if text.contains('\0') => {
            text.split('\0').filter(|word| !word.is_empty()).map(item).collect()
        }
        Some(text) if by_line => text.lines().map(item).collect(),
        Some(text) => text
            .split([' ', '\t', '\n', '\0'])
            .filter(|word| !word.is_empty())
            .map(|word| item(word.trim_matches(['"', '\''])))
            .collect(),
        None => vec![item(&UNKNOWN.to_string())],
    }
}

fn xargs(call: &Call<'_>, inners: &mut Inners) {
    const VALUES: &str =
        "-I -n -P -L -d -s -a -E -R -S -J --max-args --max-procs --delimiter --arg-file";
    inners.bulk = true;
    let rest = command_after_options(call.args, VALUES);
    if rest.is_empty() {
        return;
    }
    let replace = call.option(&["-I", "-J", "--replace"]).map(|arg| arg.text).or_else(|| {
        call.args.iter().find_map(|arg| {
            arg.text
                .strip_prefix("-i")
                .map(|text| if text.is_empty() { "{}".to_owned() } else { text.to_owned() })
        })
    });
    let replace = replace.map(|text| if text.is_empty() { "{}".to_owned() } else { text });
    let delimited = call.option(&["-d", "--delimiter"]).is_some() || call.flag('0');
    let items = items(call, replace.is_some() || delimited);
    match replace {
        Some(mark) => {
            let most = followed(items.len(), rest, inners);
            for item in items.iter().take(most) {
                inners.list.push(Inner::Argv(filled(rest, &mark, item)));
            }
        }
        None => {
            let mut argv = rest.to_vec();
            argv.extend(items);
            inners.argv(argv);
        }
    }
}

/// How many items are filled into `command`; more than that is said to be too many.
fn followed(items: usize, command: &[Arg], inners: &mut Inners) -> usize {
    let size: usize = command.iter().map(|arg| arg.text.len() + 16).sum();
    let most = FILLED_MAX / size.max(1);
    inners.excess |= items > most;
    most
}

fn filled(argv: &[Arg], mark: &str, item: &Arg) -> Vec<Arg> {
    argv.iter()
        .map(|arg| {
            let mut arg = arg.clone();
            if !mark.is_empty() && arg.text.contains(mark) && arg.text.len() < 4096 {
                arg.text = arg.text.replace(mark, &item.text);
                arg.taint = arg.taint.with(item.taint);
            }
            arg
        })
        .collect()
}

fn parallel(call: &Call<'_>, inners: &mut Inners) {
    const VALUES: &str = "-j --jobs -n -N -I -a --timeout -S --colsep";
    inners.bulk = true;
    let rest = command_after_options(call.args, VALUES);
    let split = rest.iter().position(|arg| arg.text.starts_with(":::"));
    let (command, given) = match split {
        Some(at) => (rest.get(..at).unwrap_or_default(), rest.get(at + 1..).unwrap_or_default()),
        None => (rest, [].as_slice()),
    };
    let items = if split.is_some() { given.to_vec() } else { items(call, true) };
    if command.is_empty() {
        for item in items {
            inners.shell(item);
        }
        return;
    }
    let words: Vec<&str> = command.iter().map(|arg| arg.text.as_str()).collect();
    let text = words.join(" ");
    let columns = call.option(&["--colsep", "-C"]).map(|arg| arg.text);
    let marked =
        columns.is_some() || ["{}", "{.}", "{/}", "{//}"].iter().any(|mark| text.contains(mark));
    let most = followed(items.len(), command, inners);
    for item in items.into_iter().filter(|item| !item.text.starts_with(":::")).take(most) {
        let text = if let Some(separator) = columns.as_deref().filter(|text| !text.is_empty()) {
            item.text.split(separator).enumerate().fold(text.clone(), |text, (at, column)| {
                text.replace(&format!("{{{}}}", at + 1), column)
            })
        } else if marked {
            ["{}", "{.}", "{/}", "{//}"]
                .iter()
                .fold(text.clone(), |text, mark| text.replace(mark, &item.text))
        } else {
            format!("{text} {}", item.text)
        };
        inners.list.push(Inner::Shell(Arg::of(text, call.span, item.taint), Vec::new()));
    }
}

/// Tests of a `find` that leave most files alone; all but one take a value.
const NARROWING: &str = "-name -iname -path -ipath -wholename -regex -iregex -mtime -ctime -atime -mmin -cmin -amin \
    -newer -newermt -size -user -group -perm -empty -inum -samefile -lname -uid";

fn narrows(arg: &Arg) -> bool {
    arg.text.starts_with('-') && lists(NARROWING, &arg.text)
}

/// The words of a `find` expression that are no value of the word before them.
pub(crate) fn find_actions(args: &[Arg]) -> impl Iterator<Item = &Arg> {
    let mut value = false;
    args.iter().filter(move |arg| {
        let skipped = std::mem::take(&mut value);
        value = !skipped
            && (narrows(arg) && !arg.is("-empty")
                || matches!(arg.text.as_str(), "-type" | "-maxdepth" | "-mindepth" | "-printf"));
        !skipped
    })
}

/// Whether the tests of a `find` leave most of what it walks alone.
pub(crate) fn is_narrowed(args: &[Arg]) -> bool {
    args.iter().enumerate().any(|(at, arg)| {
        if !narrows(arg) {
            return false;
        }
        let before = at.checked_sub(1).and_then(|before| args.get(before));
        let negated = before.is_some_and(|before| before.is("!") || before.is("-not"));
        let everything = args.get(at + 1).is_some_and(|value| covers_all(&value.text));
        !negated && !everything
    })
}

/// The directories a `find` starts from.
pub(crate) fn find_roots(args: &[Arg]) -> Vec<Arg> {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        match arg.text.as_str() {
            "-H" | "-L" | "-P" | "-E" | "-X" | "-d" | "-s" | "-x" => at += 1,
            "-D" | "-f" => at += 2,
            text if text.starts_with("-O") => at += 1,
            _ => break,
        }
    }
    let roots: Vec<Arg> = args
        .iter()
        .skip(at)
        .take_while(|arg| {
            !arg.text.starts_with('-') && !matches!(arg.text.as_str(), "(" | "!" | ")")
        })
        .cloned()
        .collect();
    if roots.is_empty() {
        vec![Arg::new(".", args.first().map(|arg| arg.span).unwrap_or_default())]
    } else {
        roots
    }
}

fn find(call: &Call<'_>, inners: &mut Inners) {
    inners.bulk = true;
    inners.narrowed = is_narrowed(call.args);
    let roots = find_roots(call.args);
    let clauses = call
        .args
        .iter()
        .filter(|arg| arg.text.starts_with("-exec") || arg.text.starts_with("-ok"))
        .count();
    if roots.len().saturating_mul(clauses) > 4096 {
        inners.excess = true;
        return;
    }
    let named = call.option(&["-name", "-iname"]);
    let mut rest = call.args;
    while let Some(at) = rest
        .iter()
        .position(|arg| matches!(arg.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
    {
        rest = rest.get(at + 1..).unwrap_or_default();
        let end = rest
            .iter()
            .enumerate()
            .position(|(at, arg)| {
                arg.is(";")
                    || arg.is("+")
                        && at > 0
                        && rest.get(at - 1).is_some_and(|arg| arg.text.contains("{}"))
            })
            .unwrap_or(rest.len());
        let command = rest.get(..end).unwrap_or_default();
        for root in &roots {
            let found = match &named {
                Some(name) => root.with_text(format!("{}/{}", root.text, name.text)),
                None => root.clone(),
            };
            let mut item = if inners.narrowed { found } else { root.clone() };
            // One name without a pattern says exactly what is found.
            if named.as_ref().is_none_or(|name| name.text.contains(['*', '?', '['])) {
                item.taint = item.taint.with(Taint::LISTING);
            }
            inners.list.push(Inner::Argv(filled(command, "{}", &item)));
        }
        rest = rest.get(end..).unwrap_or_default();
    }
}

fn finder(call: &Call<'_>, inners: &mut Inners) {
    const RUN: &str = "-x --exec -X --exec-batch";
    inners.bulk = true;
    inners.narrowed = true;
    let Some(at) = call.args.iter().position(|arg| lists(RUN, &arg.text)) else {
        return;
    };
    let mut command = call.args.get(at + 1..).unwrap_or_default().to_vec();
    let before = call.args.get(..at).unwrap_or_default();
    let found = Call { args: before, ..*call };
    let mut operands = found.operands_past("-t -e -E -d -j -S -o -g --type").into_iter();
    let everything =
        operands.next().is_some_and(|pattern| matches!(pattern.text.as_str(), "." | ""))
            && !before.iter().any(|arg| arg.is("-e") || arg.is("--extension") || arg.is("-g"));
    let item = match operands.next() {
        Some(root) if everything => {
            inners.narrowed = false;
            root.with_text(format!("{}/**", root.text.trim_end_matches('/')))
        }
        _ => Arg::new(UNKNOWN.to_string(), call.span),
    };
    let item = Arg { taint: Taint::LISTING, ..item };
    if !command.iter().any(|arg| arg.text.contains("{}")) {
        command.push(item.clone());
    }
    inners.list.push(Inner::Argv(filled(&command, "{}", &item)));
}
