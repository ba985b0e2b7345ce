//! Ranks tools for a query: BM25 over names, descriptions and parameter names.

use std::collections::HashMap;
use std::sync::Arc;

use crate::registry::Entry;

/// Term saturation.
const K1: f64 = 1.5;
/// Length normalisation.
const B: f64 = 0.75;

/// The best matches, best first; names break ties so that the order is stable.
pub(super) fn best<'a>(query: &str, tools: &[&'a Arc<Entry>], limit: usize) -> Vec<&'a Arc<Entry>> {
    let documents: Vec<Vec<String>> = tools.iter().map(|entry| document(entry)).collect();
    let scores = bm25(&words(query), &documents);
    let mut ranked: Vec<(f64, &'a Arc<Entry>)> =
        scores.into_iter().zip(tools.iter().copied()).filter(|(score, _)| *score > 0.0).collect();
    if ranked.is_empty() {
        let part = query.trim().to_lowercase();
        let named = |entry: &&&Arc<Entry>| {
            !part.is_empty() && entry.name.as_str().to_lowercase().contains(&part)
        };
        return tools.iter().filter(named).take(limit).copied().collect();
    }
    ranked.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.name.cmp(&right.name)));
    ranked.into_iter().take(limit).map(|(_, entry)| entry).collect()
}

/// What a tool is found by.
fn document(entry: &Entry) -> Vec<String> {
    let mut text = words(entry.name.as_str());
    text.extend(words(entry.description()));
    let properties = entry.schema.parameters().and_then(|p| p.get("properties")?.as_object());
    for name in properties.into_iter().flat_map(serde_json::Map::keys) {
        text.extend(words(name));
    }
    text
}

/// Alphanumeric runs, lower-cased; `_` separates, so that parts of a name count as words.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and tools are small")]
fn bm25(query: &[String], documents: &[Vec<String>]) -> Vec<f64> {
    let total = documents.len() as f64;
    let length: usize = documents.iter().map(Vec::len).sum();
    let average = (length as f64 / total.max(1.0)).max(1.0);
    let mut with_word: HashMap<&str, f64> = HashMap::new();
    for word in query {
        let count = documents.iter().filter(|document| document.contains(word)).count();
        with_word.insert(word, count as f64);
    }
    documents
        .iter()
        .map(|document| {
            let norm = K1 * (1.0 - B + B * document.len() as f64 / average);
            query
                .iter()
                .map(|word| {
                    let n = with_word.get(word.as_str()).copied().unwrap_or_default();
                    let frequency = document.iter().filter(|other| *other == word).count() as f64;
                    let rarity = ((total - n + 0.5) / (n + 0.5) + 1.0).ln();
                    rarity * frequency * (K1 + 1.0) / (frequency + norm)
                })
                .sum()
        })
        .collect()
}
