//! Saved pages of many kinds against what a person would have copied from them.

use std::collections::HashMap;
use std::path::Path;

use petasos_net::Url;
use petasos_web::html;

/// Words, case-folded; letters of scripts without blanks stand alone. The same as
/// `scripts/extract/score.py` counts, which puts other readers beside us.
fn words(text: &str) -> HashMap<String, usize> {
    let mut found: HashMap<String, usize> = HashMap::new();
    let mut word = String::new();
    let mut end = |word: &mut String| {
        if !word.is_empty() {
            *found.entry(std::mem::take(word)).or_default() += 1;
        }
    };
    for letter in text.chars().flat_map(char::to_lowercase) {
        match letter {
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' => {
                end(&mut word);
                end(&mut letter.to_string());
            }
            _ if letter.is_alphanumeric() => word.push(letter),
            _ => end(&mut word),
        }
    }
    end(&mut word);
    found
}

#[expect(clippy::cast_precision_loss, reason = "pages have few words")]
fn f1(got: &str, wanted: &str) -> f64 {
    let (got, wanted) = (words(got), words(wanted));
    let both: usize =
        got.iter().map(|(word, n)| (*n).min(wanted.get(word).copied().unwrap_or(0))).sum();
    let sum = |all: &HashMap<String, usize>| all.values().sum::<usize>().max(1) as f64;
    let (precision, recall) = (both as f64 / sum(&got), both as f64 / sum(&wanted));
    if both == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) }
}

/// Markdown as the words that a reader sees: addresses are none.
fn bare(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        text.push(' ');
        rest = after.split_once(')').map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("```"));
    lines.collect::<Vec<_>>().join("\n")
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages"))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

// Acceptance 98, and issue 23's bar: mean at least 0.92, none below 0.75.
#[test]
fn e98_forty_pages_are_read_as_a_person_would() {
    let base = Url::parse("https://pages.example/").unwrap();
    let mut scores = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // Feeds are read over HTTP, by `reading`.
        let Some(stem) = name.strip_suffix(".html") else { continue };
        let document = html::read(&read(&name), &base);
        assert!(!document.needs_scripts, "{name}");
        scores.push((f1(&bare(&document.markdown), &read(&format!("{stem}.txt"))), name));
    }
    assert!(scores.len() >= 40, "{} pages", scores.len());
    scores.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (worst, name) = scores.first().unwrap();
    assert!(*worst >= 0.75, "{name}: {worst}");
    let sum: f64 = scores.iter().map(|(score, _)| score).sum();
    let count = f64::from(u32::try_from(scores.len()).unwrap());
    assert!(sum / count >= 0.92, "mean {} of {scores:?}", sum / count);
}

// Acceptance 98: what is more than words is kept: tables, code with its language, addresses.
#[test]
fn e98_tables_and_code_are_kept() {
    let base = Url::parse("https://pages.example/x/").unwrap();
    let markdown = |name: &str| html::read(&read(name), &base).markdown;
    let table = markdown("comparison.html");
    assert!(
        table.contains("| Fibre | Stretch | Floats | Sun | Price | Good for |\n| --- |"),
        "{table}"
    );
    assert_eq!(table.lines().filter(|line| line.starts_with('|')).count(), 6, "{table}");
    let code = markdown("docs-code.html");
    assert!(code.contains("```rust\nlet pool = Pool::open("), "{code}");
    assert!(code.contains("where price < $1\", &[&20]"), "{code}");
    assert_eq!(code.matches("```").count(), 4, "{code}");
    let links = markdown("link-list.html");
    assert_eq!(links.matches("](https://").count(), 6, "{links}");
    assert!(markdown("mathematics.html").contains("$2^k$"));
}

// Acceptance 99: fragments, shells before their scripts, and articles in structured data.
#[test]
fn e99_the_body_is_there_where_readers_lose_it() {
    let base = Url::parse("https://pages.example/").unwrap();
    for (name, words) in [
        ("landing.html", "Three reminders, each a little firmer"),
        ("prehydration.html", "We sawed the ladders"),
        ("json-ld.html", "bicycles, as ever, travel free"),
        ("qa.html", "A can of freezing spray"),
    ] {
        let document = html::read(&read(name), &base);
        assert!(document.markdown.contains(words), "{name}: {}", document.markdown);
    }
    let orders = html::read(&read("hidden-orders.html"), &base).markdown;
    for words in ["12345678", "address book", "previous instructions"] {
        assert!(!orders.contains(words), "{orders}");
    }
}
