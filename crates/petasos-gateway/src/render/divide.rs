//! Dividing a text into parts: at the end of a block, else of an item, a sentence, a word, a letter.
//!
//! Blocks are divided as trees, so that every part has its fences, marks and table heads.

use super::Form;
use super::tree::{Block, Inline, text_of};

/// Parts, each of which fits.
pub(super) fn divide(blocks: Vec<Block>, form: Form) -> Vec<Vec<Block>> {
    let mut parts = Vec::new();
    let mut part: Vec<Block> = Vec::new();
    let mut left: Vec<Block> = blocks.into_iter().rev().collect();
    while let Some(block) = left.pop() {
        part.push(block);
        if form.fits(&part) {
            continue;
        }
        let Some(block) = part.pop() else { break };
        let used = form.unit.measure(&form.write(&part));
        let is_full = used * 2 >= form.limit;
        // A part that is half full ends here; else some of the block still goes in.
        let room = if is_full { form } else { Form { limit: form.limit - used, ..form } };
        let alone = Form { limit: form.limit, ..form };
        if is_full && alone.fits(std::slice::from_ref(&block)) {
            parts.push(std::mem::take(&mut part));
            part.push(block);
            continue;
        }
        let whole_room =
            if is_full { alone } else { Form { limit: room.limit.saturating_sub(2), ..room } };
        match first_piece(&block, whole_room) {
            Some((piece, rest)) => {
                if is_full {
                    parts.push(std::mem::take(&mut part));
                }
                part.push(piece);
                parts.push(std::mem::take(&mut part));
                left.extend(rest.into_iter().rev());
            }
            None if part.is_empty() => parts.extend(by_letters(&block, form)),
            None => {
                parts.push(std::mem::take(&mut part));
                left.push(block);
            }
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// As much of a block as fits, and the rest; nothing when not even a word does.
fn first_piece(block: &Block, form: Form) -> Option<(Block, Vec<Block>)> {
    match block {
        Block::Paragraph(words) => {
            let (head, rest) = first_words(words, form, Block::Paragraph)?;
            Some((Block::Paragraph(head), vec![Block::Paragraph(rest)]))
        }
        Block::Heading(level, words) => {
            let (head, rest) = first_words(words, form, |words| Block::Heading(*level, words))?;
            Some((Block::Heading(*level, head), vec![Block::Heading(*level, rest)]))
        }
        Block::Code { language, text } => {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let make =
                |lines: &[&str]| Block::Code { language: language.clone(), text: lines.concat() };
            let count = most(lines.len(), |count| {
                fits(&make(lines.get(..count).unwrap_or_default()), form)
            })?;
            let (head, rest) = lines.split_at_checked(count)?;
            Some((make(head), vec![make(rest)]))
        }
        Block::Quote(inner) => {
            let make = |inner: &[Block]| Block::Quote(inner.to_vec());
            nested(inner, form, make)
        }
        Block::List { first, items } => list_piece(*first, items, form),
        Block::Table { head, rows } => {
            let make = |rows: &[Vec<Vec<Inline>>]| Block::Table {
                head: head.clone(),
                rows: rows.to_vec(),
            };
            let count =
                most(rows.len(), |count| fits(&make(rows.get(..count).unwrap_or_default()), form))?;
            let (first, rest) = rows.split_at_checked(count)?;
            Some((make(first), vec![make(rest)]))
        }
        Block::Rule => None,
    }
}

fn nested(
    inner: &[Block],
    form: Form,
    make: impl Fn(&[Block]) -> Block,
) -> Option<(Block, Vec<Block>)> {
    let (head, rest) = nested_parts(inner, form, &make)?;
    Some((head, vec![make(&rest)]))
}

/// As much of what a block contains as fits into it, and what is left.
fn nested_parts(
    inner: &[Block],
    form: Form,
    make: impl Fn(&[Block]) -> Block,
) -> Option<(Block, Vec<Block>)> {
    let holds = |count| fits(&make(inner.get(..count).unwrap_or_default()), form);
    if let Some(count) = most(inner.len(), holds) {
        let (head, rest) = inner.split_at_checked(count)?;
        return Some((make(head), rest.to_vec()));
    }
    let (first, others) = inner.split_first()?;
    let around = form.unit.measure(&form.write(&[make(&[])])) + 8;
    let smaller = Form { limit: form.limit.checked_sub(around)?, ..form };
    let (head, mut rest) = first_piece(first, smaller)?;
    let piece = make(&[head]);
    if !fits(&piece, form) {
        return None;
    }
    rest.extend(others.iter().cloned());
    Some((piece, rest))
}

fn list_piece(first: Option<u64>, items: &[Vec<Block>], form: Form) -> Option<(Block, Vec<Block>)> {
    let make = |from: usize, items: &[Vec<Block>]| Block::List {
        first: first.map(|first| first + from as u64),
        items: items.to_vec(),
    };
    let holds = |count| fits(&make(0, items.get(..count).unwrap_or_default()), form);
    if let Some(count) = most(items.len(), holds) {
        let (head, rest) = items.split_at_checked(count)?;
        return Some((make(0, head), vec![make(count, rest)]));
    }
    // One item alone is too long: its rest goes on without a mark, as it would on paper.
    let (item, others) = items.split_first()?;
    let alone = |inner: &[Block]| make(0, std::slice::from_ref(&inner.to_vec()));
    let (piece, mut rest) = nested_parts(item, form, alone)?;
    if !others.is_empty() {
        rest.push(make(1, others));
    }
    Some((piece, rest))
}

fn fits(block: &Block, form: Form) -> bool {
    form.fits(std::slice::from_ref(block))
}

/// The largest number below `all` that holds, by halving; nothing when not even one does.
fn most(all: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    if all < 2 || !holds(1) {
        return None;
    }
    let (mut good, mut bad) = (1, all);
    while bad - good > 1 {
        let middle = usize::midpoint(good, bad);
        if holds(middle) { good = middle } else { bad = middle }
    }
    Some(good)
}

/// As many words as fit, up to the end of a sentence where one is in the second half.
fn first_words(
    words: &[Inline],
    form: Form,
    make: impl Fn(Vec<Inline>) -> Block,
) -> Option<(Vec<Inline>, Vec<Inline>)> {
    let pieces = atoms(words);
    let holds = |count: usize| {
        let head = joined(pieces.get(..count).unwrap_or_default());
        fits(&make(head), form)
    };
    let count = most(pieces.len(), holds)?;
    let sentence = pieces
        .iter()
        .take(count)
        .rposition(ends_sentence)
        .map(|at| at + 1)
        .filter(|end| *end * 2 >= count);
    let (head, rest) = pieces.split_at_checked(sentence.unwrap_or(count))?;
    Some((joined(head), joined(rest)))
}

/// A word with the marks around it. Code and links are never divided.
#[derive(Clone)]
struct Atom {
    marks: Vec<Mark>,
    piece: Inline,
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Strong,
    Emphasis,
    Strike,
}

fn atoms(words: &[Inline]) -> Vec<Atom> {
    let mut found = Vec::new();
    gather(words, &mut Vec::new(), &mut found);
    found
}

fn gather(words: &[Inline], marks: &mut Vec<Mark>, found: &mut Vec<Atom>) {
    for word in words {
        let mut inside = |mark, inner: &[Inline]| {
            marks.push(mark);
            gather(inner, marks, found);
            marks.pop();
        };
        match word {
            Inline::Strong(inner) => inside(Mark::Strong, inner),
            Inline::Emphasis(inner) => inside(Mark::Emphasis, inner),
            Inline::Strike(inner) => inside(Mark::Strike, inner),
            Inline::Text(text) => {
                for piece in text.split_inclusive(char::is_whitespace) {
                    let piece = Inline::Text(piece.to_owned());
                    found.push(Atom { marks: marks.clone(), piece });
                }
            }
            other => found.push(Atom { marks: marks.clone(), piece: other.clone() }),
        }
    }
}

/// Words with their marks again; neighbours with the same marks share them.
fn joined(atoms: &[Atom]) -> Vec<Inline> {
    let mut words = Vec::new();
    for group in atoms.chunk_by(|one, next| one.marks == next.marks) {
        let mut inner: Vec<Inline> = Vec::new();
        for atom in group {
            match (inner.last_mut(), &atom.piece) {
                (Some(Inline::Text(text)), Inline::Text(more)) => text.push_str(more),
                (_, piece) => inner.push(piece.clone()),
            }
        }
        let marks = group.first().map_or(&[][..], |atom| &atom.marks);
        words.extend(marks.iter().rev().fold(inner, |inner, mark| {
            vec![match mark {
                Mark::Strong => Inline::Strong(inner),
                Mark::Emphasis => Inline::Emphasis(inner),
                Mark::Strike => Inline::Strike(inner),
            }]
        }));
    }
    words
}

fn ends_sentence(atom: &Atom) -> bool {
    match &atom.piece {
        Inline::Text(text) => {
            let end = text.trim_end();
            end.len() < text.len() && end.ends_with(['.', '!', '?', ':', ';', '。', '！', '？'])
        }
        Inline::Break => true,
        _ => false,
    }
}

/// The last resort: the words of a block without marks, letter by letter.
fn by_letters(block: &Block, form: Form) -> Vec<Vec<Block>> {
    let (language, text) = match block {
        Block::Code { language, text } => (Some(language.clone()), text.clone()),
        Block::Paragraph(words) | Block::Heading(_, words) => (None, text_of(words)),
        other => (None, super::dialect::write(std::slice::from_ref(other), super::Dialect::Plain)),
    };
    let make = |text: &str| match &language {
        Some(language) => Block::Code { language: language.clone(), text: text.to_owned() },
        None => Block::Paragraph(vec![Inline::Text(text.to_owned())]),
    };
    let mut parts = Vec::new();
    let mut letters: Vec<char> = text.chars().collect();
    while !letters.is_empty() {
        let holds = |count: usize| {
            let piece: String = letters.iter().take(count).collect();
            fits(&make(&piece), form)
        };
        let count = if holds(letters.len()) {
            letters.len()
        } else {
            most(letters.len(), holds).unwrap_or(1)
        };
        let count = whole_letters(&letters, count);
        let rest = letters.split_off(count.min(letters.len()));
        let piece: String = letters.iter().collect();
        parts.push(vec![make(&piece)]);
        letters = rest;
    }
    parts
}

/// Fewer letters when the cut would part a letter from what belongs to it.
fn whole_letters(letters: &[char], count: usize) -> usize {
    let joins = |c: char| matches!(c, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{300}'..='\u{36f}' | '\u{1f3fb}'..='\u{1f3ff}');
    let mut end = count;
    while end > 1
        && letters.get(end).is_some_and(|next| {
            joins(*next) || letters.get(end - 1).is_some_and(|last| *last == '\u{200d}')
        })
    {
        end -= 1;
    }
    if end > 1 { end } else { count }
}
