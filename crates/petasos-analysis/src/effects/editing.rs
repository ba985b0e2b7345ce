//! Tools that change settings and texts in place. What they do to a file is known;
//! which file it is, their arguments say.

use super::{Found, each, push};
use crate::flow::call::Call;
use crate::flow::report::Deed;
use crate::flow::value::Arg;
use crate::words::lists;

/// Files that an editor of settings or a replacing tool changes.
pub(super) fn edited(call: &Call<'_>, found: &mut Vec<Found>) {
    let in_place =
        || call.flag('i') || call.flag('w') || call.long("--inplace") || call.long("--in-place");
    let operands = || call.operands();
    match call.program {
        "yq" if in_place() => found.extend(each(Deed::Write, operands().skip(1))),
        "crudini" if ["--set", "--del", "--merge"].iter().any(|name| call.flag_word(name)) => {
            found.extend(each(Deed::Write, operands().take(1)));
        }
        "dasel" if matches!(call.operand(0), "put" | "delete") => {
            found.extend(each(Deed::Write, call.values(&["-f", "--file", "-o", "--out"])));
        }
        "toml" | "ini-file" if matches!(call.operand(0), "set" | "del" | "unset") => {
            found.extend(each(Deed::Write, operands().skip(1).take(1)));
        }
        "sd" if !call.flag('p') && !call.long("--preview") => {
            found.extend(each(Deed::Write, operands().skip(2)));
        }
        "rpl" | "replace" | "fastmod" => found.extend(each(Deed::Write, operands().skip(2))),
        "augtool" => settings_tree(call, found),
        _ => {}
    }
}

/// `set /files/etc/hosts/1/alias x`, as an argument or line by line.
fn settings_tree(call: &Call<'_>, found: &mut Vec<Found>) {
    let words: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    let given = words.join(" ");
    let lines = call.stdin.text.iter().flat_map(|text| text.lines());
    for line in lines.chain(std::iter::once(given.as_str())) {
        let changes =
            line.split_whitespace().any(|word| lists("set setm rm ins insert mv move clear", word));
        let places = line.split_whitespace().filter_map(|word| word.strip_prefix("/files"));
        for place in places.filter(|_| changes) {
            push(found, Deed::Write, &Arg::new(place, call.span));
        }
    }
}
