//! What `make` runs: the recipes of the targets that are asked for and of all that
//! these need, with plain variables filled in.

use super::escapes::shell;
use super::{Inner, Inners, Wrapper};
use crate::code::Language;
use crate::flow::call::Call;
use crate::flow::value::Arg;
use std::collections::{HashMap, HashSet};

pub(super) static WRAPPER: Wrapper = Wrapper { names: &["make", "gmake"], unwrap };

/// Options whose value is the next argument.
const VALUES: [&str; 9] = ["-f", "--file", "--makefile", "-C", "-I", "-o", "-W", "-j", "--eval"];

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    for arg in call.args {
        let inline = arg.text.strip_prefix("--eval=").or_else(|| arg.text.strip_prefix("--eval"));
        if let Some(text) = inline.filter(|text| !text.is_empty()) {
            inners.list.extend(rules(&arg.with_text(text), &[]));
        }
        if let Some(code) = arg.text.strip_prefix("SHELL=") {
            shell(arg.with_text(code), inners);
        }
    }
    for text in call.values(&["--eval", "-E"]) {
        inners.list.extend(rules(&text, &[]));
    }
    let targets: Vec<Arg> = call.operands_past(&VALUES).into_iter().cloned().collect();
    let mut files: Vec<Arg> = call.values(&["-f", "--file", "--makefile"]).collect();
    if files.is_empty() {
        files.extend(["Makefile", "makefile", "GNUmakefile"].map(|name| Arg::new(name, call.span)));
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
struct Rule<'t> {
    targets: Vec<&'t str>,
    needs: Vec<&'t str>,
    recipes: Vec<&'t str>,
}

/// What a makefile runs for `targets`, or for its first one.
pub(crate) fn rules(code: &Arg, targets: &[Arg]) -> Vec<Inner> {
    let mut inners = Inners::default();
    let mut found: Vec<Rule<'_>> = Vec::new();
    let mut variables = HashMap::new();
    for line in code.text.split('\n') {
        if let Some(recipe) = line.strip_prefix('\t') {
            if let Some(rule) = found.last_mut() {
                rule.recipes.push(recipe);
            }
        } else if let Some(files) = line
            .trim_start_matches(['-', 's'])
            .strip_prefix("include ")
            .or_else(|| line.strip_prefix("sinclude "))
        {
            for file in files.split_whitespace() {
                let file = code.with_text(file);
                inners.list.push(Inner::File(Language::Make, file, targets.to_vec()));
            }
        } else if let Some((name, value)) = assignment(line) {
            variables.insert(name, value);
        } else if let Some((names, rest)) = line.split_once(':') {
            let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
            found.push(Rule {
                targets: names.split_whitespace().collect(),
                needs: needs.split_whitespace().collect(),
                recipes: if recipe.is_empty() { Vec::new() } else { vec![recipe.trim_start()] },
            });
        }
        if let Some((_, tail)) = line.split_once("$(shell ") {
            shell(code.with_text(tail.trim_end_matches(')')), &mut inners);
        }
    }
    for rule in wanted(&found, targets) {
        for recipe in &rule.recipes {
            let text = filled(recipe.trim_start_matches(['@', '-', '+', ' ']), &variables);
            shell(code.with_text(text), &mut inners);
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

/// The rules that are followed; all of them where a target is not among them.
fn wanted<'r, 't>(rules: &'r [Rule<'t>], targets: &[Arg]) -> Vec<&'r Rule<'t>> {
    let named = targets.iter().map(|arg| arg.text.as_str()).filter(|text| !text.contains('='));
    let mut queue: Vec<&str> = named.collect();
    if queue.is_empty() {
        let first = rules.iter().flat_map(|rule| &rule.targets).find(|name| !name.starts_with('.'));
        queue.extend(first);
    }
    let known = |name: &str| rules.iter().any(|rule| rule.targets.contains(&name));
    if queue.iter().any(|name| !known(name)) || rules.len() > 256 {
        return rules.iter().collect();
    }
    let mut seen: HashSet<&str> = HashSet::new();
    while let Some(name) = queue.pop() {
        if seen.insert(name) {
            let making = rules.iter().filter(|rule| rule.targets.contains(&name));
            queue.extend(making.flat_map(|rule| rule.needs.iter().copied()));
        }
    }
    let follows = |rule: &&Rule<'_>| {
        rule.targets.iter().any(|name| name.contains('%') || seen.contains(name))
    };
    rules.iter().filter(follows).collect()
}

/// A recipe with `$(NAME)` and `$$` as the shell gets them.
fn filled(recipe: &str, variables: &HashMap<&str, &str>) -> String {
    let mut text = recipe.to_owned();
    if text.contains("$(") || text.contains("${") {
        for (name, value) in variables.iter().take(64) {
            text =
                text.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value);
        }
    }
    text.replace("$$", "$")
}
