//! Rules that would have saved questions, proposed from the decision log.
//!
//! A proposal is as narrow as what was seen: an exact command, or the words that many commands with
//! a subcommand share. Nothing is proposed that was ever denied, nor a program that runs whatever it
//! is given.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::log::{DecisionEntry, DecisionOutcome};
use crate::permissions::{List, rule};

/// How often an answer was given before it is worth a rule.
pub const TIMES_MIN: usize = 3;
const EXAMPLES_MAX: usize = 3;

/// A rule that could be added.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    /// The list it would stand in.
    pub list: List,
    /// The rule, as it would be written.
    pub rule: Value,
    /// How often it was answered so.
    pub times: usize,
    /// The keys that were asked about.
    pub keys: Vec<String>,
}

#[derive(Default)]
struct Seen<'a> {
    allowed: Vec<&'a DecisionEntry>,
    denied: Vec<&'a DecisionEntry>,
}

/// Proposes rules from decisions.
pub fn suggest(entries: &[DecisionEntry]) -> Vec<Suggestion> {
    let mut exact: BTreeMap<Vec<String>, Seen<'_>> = BTreeMap::new();
    let mut families: BTreeMap<Vec<String>, Seen<'_>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| was_asked(entry)) {
        // One simple command: what a compound one stands for, nobody can tell apart.
        let [argv] = entry.commands.as_slice() else { continue };
        if argv.iter().any(|word| word.contains(['…', '•'])) {
            continue;
        }
        push(exact.entry(argv.clone()).or_default(), entry);
        if let Some(family) = family(argv) {
            push(families.entry(family).or_default(), entry);
        }
    }
    let mut found: Vec<Suggestion> = Vec::new();
    let mut covered: Vec<Vec<String>> = Vec::new();
    for seen in families.values().filter(|seen| distinct(&seen.allowed) > 1) {
        let words = shared(&seen.allowed);
        if let Some(rule) = proposal(&words, false, seen) {
            covered.push(words);
            found.push(rule);
        }
    }
    for (words, seen) in &exact {
        let known = covered.iter().any(|family| words.starts_with(family));
        if !known {
            found.extend(proposal(words, true, seen));
        }
    }
    found.sort_by_key(|it| std::cmp::Reverse(it.times));
    found
}

fn was_asked(entry: &DecisionEntry) -> bool {
    let answered = matches!(entry.outcome, DecisionOutcome::Allowed | DecisionOutcome::Denied);
    entry.verdict == "ask" && answered
}

fn push<'a>(seen: &mut Seen<'a>, entry: &'a DecisionEntry) {
    match entry.outcome {
        DecisionOutcome::Allowed => seen.allowed.push(entry),
        _ => seen.denied.push(entry),
    }
}

fn distinct(entries: &[&DecisionEntry]) -> usize {
    let mut commands: Vec<_> = entries.iter().map(|entry| &entry.commands).collect();
    commands.sort();
    commands.dedup();
    commands.len()
}

/// The words that all commands begin with.
fn shared(entries: &[&DecisionEntry]) -> Vec<String> {
    let mut commands = entries.iter().filter_map(|entry| entry.commands.first());
    let mut words = commands.next().cloned().unwrap_or_default();
    for command in commands {
        let same = words.iter().zip(command).take_while(|(one, other)| one == other).count();
        words.truncate(same);
    }
    words
}

/// A program with its subcommand; a program alone is a whole class of dangers.
fn family(argv: &[String]) -> Option<Vec<String>> {
    let [program, word, _, ..] = argv else { return None };
    let is_word =
        !word.is_empty() && word.chars().all(|sign| sign.is_ascii_lowercase() || sign == '-');
    (is_word && !word.starts_with('-')).then(|| vec![program.clone(), word.clone()])
}

fn proposal(words: &[String], exact: bool, seen: &Seen<'_>) -> Option<Suggestion> {
    let (list, entries) = match (seen.allowed.len(), seen.denied.len()) {
        (times, 0) if times >= TIMES_MIN => (List::Allow, &seen.allowed),
        (0, times) if times >= TIMES_MIN => (List::Deny, &seen.denied),
        _ => return None,
    };
    let mut examples: Vec<&str> = entries.iter().map(|entry| entry.subject.as_str()).collect();
    examples.sort_unstable();
    examples.dedup();
    examples.truncate(EXAMPLES_MAX);
    let mut rule = json!({"command": words, "match": examples});
    if exact && let Value::Object(map) = &mut rule {
        map.insert("exact".to_owned(), true.into());
    }
    if list == List::Allow && rule::from_value(&rule).is_err() {
        return None;
    }
    let mut keys: Vec<String> =
        entries.iter().flat_map(|entry| &entry.reasons).map(|it| it.key.clone()).collect();
    keys.sort();
    keys.dedup();
    Some(Suggestion { list, rule, times: entries.len(), keys })
}
