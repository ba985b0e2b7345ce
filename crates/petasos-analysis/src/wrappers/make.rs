//! What `make` runs: the recipes of the targets that are asked for and of all that
//! these need, with plain variables filled in.

use crate::code::Language;
use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::shell::normalise::UNKNOWN;
use crate::wrapper::{Inner, Inners, Wrapper};
use std::collections::{HashMap, HashSet};

pub(super) static WRAPPER: Wrapper = Wrapper { names: "make gmake", rows: &[], unwrap };

/// Options whose value is the next argument.
const VALUES: &str = "-f --file --makefile -C -I -o -W --eval";

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    for arg in call.args {
        let inline = arg.text.strip_prefix("--eval=").or_else(|| arg.text.strip_prefix("--eval"));
        if let Some(text) = inline.filter(|text| !text.is_empty()) {
            inners.list.extend(rules(&arg.with_text(text), &[]));
        }
        if let Some(code) = arg.text.strip_prefix("SHELL=") {
            inners.shell(arg.with_text(code));
        }
    }
    for text in call.values(&["--eval", "-E"]) {
        inners.list.extend(rules(&text, &[]));
    }
    inners.cwd = call.option(&["-C", "--directory"]);
    let targets: Vec<Arg> = call.operands_past(VALUES).into_iter().cloned().collect();
    let mut files: Vec<Arg> = call.values(&["-f", "--file", "--makefile"]).collect();
    if files.is_empty() {
        files.extend(["Makefile", "makefile", "GNUmakefile"].map(|name| Arg::new(name, call.span)));
    }
    // Each file is read for every target.
    if files.len().saturating_mul(targets.len()) > 4096 {
        inners.excess = true;
        return;
    }
    for file in files {
        inners.list.push(if file.is("-") || file.is("/dev/stdin") {
            Inner::Stdin(Language::Make, targets.clone())
        } else {
            Inner::File(Language::Make, file, targets.clone())
        });
    }
}

/// One rule: what it makes, what that needs, what is run for it.
#[derive(Debug, Default)]
struct Rule {
    targets: Vec<String>,
    needs: Vec<String>,
    recipes: Vec<String>,
}

/// The variables of a makefile.
type Variables = HashMap<String, String>;

/// What a makefile runs for `targets`, or for its first one.
pub(crate) fn rules(code: &Arg, targets: &[Arg]) -> Vec<Inner> {
    let mut inners = Inners::default();
    let mut found: Vec<Rule> = Vec::new();
    let mut variables = Variables::new();
    let text = code.text.replace("\\\n", " ");
    let mut block: Option<(String, String)> = None;
    for line in text.split('\n') {
        // `define NAME`, lines, `endef`: a variable of several lines.
        if let Some((name, mut body)) = block.take() {
            if line.trim() == "endef" {
                variables.insert(name, body);
            } else {
                body.push_str(line);
                body.push('\n');
                block = Some((name, body));
            }
            continue;
        }
        if let Some(name) = line.strip_prefix("define ") {
            block = Some((name.trim_end_matches('=').trim().to_owned(), String::new()));
            continue;
        }
        let included = line.trim_start_matches('-').trim_start_matches('s');
        if let Some(recipe) = line.strip_prefix('\t') {
            if let Some(rule) = found.last_mut() {
                rule.recipes.push(recipe.to_owned());
            }
        } else if let Some(files) = included.strip_prefix("include ") {
            // One target that nobody knows stands for too many: all rules are followed.
            let targets = match targets.len() {
                0..64 => targets.to_vec(),
                _ => vec![code.with_text(UNKNOWN)],
            };
            for file in files.split_whitespace() {
                let file = code.with_text(file);
                inners.list.push(Inner::File(Language::Make, file, targets.clone()));
            }
        } else if let Some((name, value)) = assignment(line) {
            variables.insert(name.to_owned(), value.to_owned());
        } else if let Some((names, rest)) = line.split_once(':') {
            let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
            let words = |text: &str| {
                filled(text, &variables, 0).split_whitespace().map(str::to_owned).collect()
            };
            let recipe = Some(recipe.trim_start().to_owned()).filter(|recipe| !recipe.is_empty());
            found.push(Rule {
                targets: words(names),
                needs: words(needs),
                recipes: recipe.into_iter().collect(),
            });
        }
        if let Some((_, tail)) = line.split_once("$(shell ") {
            inners.shell(code.with_text(tail.trim_end_matches(')')));
        }
    }
    for rule in wanted(&found, targets, variables.contains_key(".DEFAULT_GOAL")) {
        for recipe in &rule.recipes {
            let recipe = recipe.trim_start_matches(['@', '-', '+', ' ']);
            let text = filled(recipe, &variables, 0).replace("$$", "$");
            inners.shell(code.with_text(text));
        }
    }
    inners.list
}

/// `NAME = value`, also with `:=`, `?=` and `+=`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    (plain && !name.is_empty()).then_some((name, value.trim()))
}

/// The rules that are followed; all of them where it is not plain which.
fn wanted<'r>(rules: &'r [Rule], targets: &[Arg], told: bool) -> Vec<&'r Rule> {
    let by_name: HashMap<&str, Vec<&Rule>> = rules.iter().fold(HashMap::new(), |mut map, rule| {
        for name in &rule.targets {
            map.entry(name.as_str()).or_insert_with(Vec::new).push(rule);
        }
        map
    });
    let named = targets.iter().map(|arg| arg.text.as_str()).filter(|text| !text.contains('='));
    let mut queue: Vec<&str> = named.collect();
    if queue.is_empty() && !told {
        let first = rules.iter().flat_map(|rule| &rule.targets).find(|name| !name.starts_with('.'));
        queue.extend(first.map(String::as_str));
    }
    let unclear = |rule: &Rule| rule.needs.iter().any(|need| need.contains('$'));
    if queue.is_empty()
        || queue.iter().any(|name| !by_name.contains_key(name))
        || rules.iter().any(unclear)
    {
        return rules.iter().collect();
    }
    let mut seen: HashSet<&str> = HashSet::new();
    while let Some(name) = queue.pop() {
        if seen.insert(name) {
            let making = by_name.get(name).into_iter().flatten();
            queue.extend(making.flat_map(|rule| rule.needs.iter().map(String::as_str)));
        }
    }
    let follows = |rule: &&Rule| {
        rule.targets.iter().any(|name| name.contains('%') || seen.contains(name.as_str()))
    };
    rules.iter().filter(follows).collect()
}

/// A text with `$(NAME)` and `${NAME}` replaced by what they stand for.
fn filled(text: &str, variables: &Variables, nesting: u32) -> String {
    let mut output = String::new();
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('$') {
        output.push_str(before);
        let inside = tail
            .strip_prefix('(')
            .and_then(|tail| tail.split_once(')'))
            .or_else(|| tail.strip_prefix('{').and_then(|tail| tail.split_once('}')));
        let known = inside.and_then(|(name, after)| Some((variables.get(name)?, after)));
        match known.filter(|_| nesting < 8 && output.len() < 1 << 16) {
            Some((value, after)) => {
                output.push_str(&filled(value, variables, nesting + 1));
                rest = after;
            }
            None => {
                output.push('$');
                // A doubled sign is one for the shell, and begins no name.
                rest = match tail.strip_prefix('$') {
                    Some(after) => {
                        output.push('$');
                        after
                    }
                    None => tail,
                };
            }
        }
    }
    output.push_str(rest);
    output
}
