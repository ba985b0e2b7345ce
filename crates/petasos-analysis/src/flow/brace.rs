//! Brace expansion of words, before any other expansion.

use crate::shell::tree::{Part, Script, Word};

/// Results of one word that we follow; more stay unexpanded.
const RESULTS_MAX: usize = 512;
/// Braces inside braces that we follow.
const NESTING_MAX: u32 = 12;

/// A stretch of an expanded word.
#[derive(Clone, Debug)]
pub(super) enum Piece<'a> {
    Text(String),
    Part(&'a Part),
}

type Pieces<'a> = Vec<Piece<'a>>;

/// The words that `word` expands to, or `None` when its braces are plain text.
pub(super) fn expand<'a>(script: &Script, word: &'a Word) -> Option<Vec<Pieces<'a>>> {
    let mut atoms = Vec::new();
    for part in &word.parts {
        match part {
            Part::Literal(cut) => {
                let text = script.source.get(*cut);
                if text.len() > 65_536 {
                    return None;
                }
                atoms.extend(text.chars().map(Atom::Letter));
            }
            other => atoms.push(Atom::Part(other)),
        }
    }
    let mut results = alternatives(&atoms, 0)?;
    if results.len() == 1 && !results.first().is_some_and(|pieces| changed(pieces, &atoms)) {
        return None;
    }
    results.truncate(RESULTS_MAX);
    Some(results)
}

fn changed(pieces: &[Piece<'_>], atoms: &[Atom<'_>]) -> bool {
    let letters: usize = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.chars().count(),
            Piece::Part(_) => 1,
        })
        .sum();
    letters != atoms.len()
}

#[derive(Clone, Copy, Debug)]
enum Atom<'a> {
    Letter(char),
    Part(&'a Part),
}

impl Atom<'_> {
    fn is(&self, wanted: char) -> bool {
        matches!(self, Self::Letter(letter) if *letter == wanted)
    }
}

/// All expansions of `atoms`. Braces after the first group are folded in one by one.
fn alternatives<'a>(atoms: &[Atom<'a>], nesting: u32) -> Option<Vec<Pieces<'a>>> {
    if nesting > NESTING_MAX {
        return None;
    }
    let mut results: Vec<Pieces<'a>> = vec![Vec::new()];
    let mut at = 0;
    let mut failed = 0;
    while let Some(atom) = atoms.get(at) {
        if atom.is('{')
            && failed < 64
            && let Some((choices, end)) = group(atoms, at, nesting)
        {
            if results.len().saturating_mul(choices.len()) > RESULTS_MAX {
                return None;
            }
            let mut next = Vec::with_capacity(results.len() * choices.len());
            for result in &results {
                for choice in &choices {
                    let mut joined = result.clone();
                    joined.extend(choice.iter().cloned());
                    next.push(joined);
                }
            }
            results = next;
            at = end;
            continue;
        }
        if atom.is('{') {
            failed += 1;
        }
        for result in &mut results {
            match (atom, result.last_mut()) {
                (Atom::Letter(letter), Some(Piece::Text(text))) => text.push(*letter),
                (Atom::Letter(letter), _) => result.push(Piece::Text(letter.to_string())),
                (Atom::Part(part), _) => result.push(Piece::Part(part)),
            }
        }
        at += 1;
    }
    Some(results)
}

/// The choices of the brace group at `start` and where it ends.
fn group<'a>(atoms: &[Atom<'a>], start: usize, nesting: u32) -> Option<(Vec<Pieces<'a>>, usize)> {
    let mut depth = 0u32;
    let mut commas = Vec::new();
    let mut end = None;
    for (at, atom) in atoms.iter().enumerate().skip(start) {
        if atom.is('{') {
            depth += 1;
        } else if atom.is('}') {
            depth -= 1;
            if depth == 0 {
                end = Some(at);
                break;
            }
        } else if atom.is(',') && depth == 1 {
            commas.push(at);
        }
    }
    let end = end?;
    if commas.is_empty() {
        let inner = atoms.get(start + 1..end)?;
        return sequence(inner).map(|items| {
            (items.into_iter().map(|item| vec![Piece::Text(item)]).collect(), end + 1)
        });
    }
    let mut choices = Vec::new();
    let mut from = start + 1;
    for at in commas.into_iter().chain([end]) {
        choices.extend(alternatives(atoms.get(from..at)?, nesting + 1)?);
        if choices.len() > RESULTS_MAX {
            return None;
        }
        from = at + 1;
    }
    Some((choices, end + 1))
}

/// `a..e` and `1..9..2`.
fn sequence(atoms: &[Atom<'_>]) -> Option<Vec<String>> {
    if atoms.len() > 32 {
        return None;
    }
    let mut text = String::new();
    for atom in atoms {
        let Atom::Letter(letter) = atom else { return None };
        text.push(*letter);
    }
    let mut ends = text.split("..");
    let (first, last) = (ends.next()?, ends.next()?);
    let step: i64 = ends.next().map_or(Some(1), |step| step.parse().ok())?;
    let step = step.unsigned_abs().max(1);
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        return range(first, last, step).map(|items| items.iter().map(i64::to_string).collect());
    }
    let (mut first, mut last) = (first.chars(), last.chars());
    let (from, to) = (first.next()?, last.next()?);
    if first.next().is_some() || last.next().is_some() || !from.is_ascii() || !to.is_ascii() {
        return None;
    }
    let items = range(i64::from(u32::from(from)), i64::from(u32::from(to)), step)?;
    Some(
        items
            .into_iter()
            .filter_map(|code| u8::try_from(code).ok())
            .map(|code| char::from(code).to_string())
            .collect(),
    )
}

fn range(first: i64, last: i64, step: u64) -> Option<Vec<i64>> {
    let count = first.abs_diff(last) / step + 1;
    if count > RESULTS_MAX as u64 {
        return None;
    }
    let step = i64::try_from(step).ok()?;
    let signed = if first <= last { step } else { -step };
    Some((0..i64::try_from(count).ok()?).map(|index| first + index * signed).collect())
}
