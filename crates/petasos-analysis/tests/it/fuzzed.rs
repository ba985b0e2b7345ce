//! What fuzzing has found worth keeping is judged again: no panic, no hang.

use petasos_analysis::{Facts, Language, judge_code, judge_command};

const CORPUS: &str = include_str!("../../../../fuzz/corpus.jsonl");
const LANGUAGES: [Language; 8] = [
    Language::Python,
    Language::Perl,
    Language::Ruby,
    Language::JavaScript,
    Language::Php,
    Language::Awk,
    Language::PowerShell,
    Language::Other,
];

/// The bytes of a line, each written as the character of its number.
fn bytes(line: &str) -> Vec<u8> {
    let text: String = serde_json::from_str(line).unwrap();
    text.chars().map(|it| u8::try_from(u32::from(it)).unwrap()).collect()
}

/// As the fuzz target reads its input: one in eight is a program, the rest are commands.
#[test]
fn every_input_of_the_packed_corpus_is_judged() {
    let facts = Facts::default();
    let mut judged = 0;
    for line in CORPUS.lines() {
        let data = bytes(line);
        let Some((first, rest)) = data.split_first() else { continue };
        let text = String::from_utf8_lossy(rest);
        match LANGUAGES.get(usize::from(*first).wrapping_sub(224)) {
            Some(language) => drop(judge_code(*language, &text, &facts)),
            None => drop(judge_command(&text, &facts)),
        }
        judged += 1;
    }
    assert!(judged > 100, "the corpus is packed by `scripts/fuzz pack`: {judged} inputs");
}
