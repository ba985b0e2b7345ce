//! The embedded table: lengths and list prices as the vendors published them.

use super::Price;

/// Context lengths by the start of a model's name; the longest match wins.
const CONTEXT: [(&str, u64); 38] = [
    ("claude", 200_000),
    ("claude-opus-4-6", 1_000_000),
    ("claude-opus-4-7", 1_000_000),
    ("claude-opus-4-8", 1_000_000),
    ("claude-sonnet-4-6", 1_000_000),
    ("claude-sonnet-5", 1_000_000),
    ("claude-fable", 1_000_000),
    ("gpt-5", 400_000),
    ("gpt-5-4", 1_050_000),
    ("gpt-5-5", 1_050_000),
    ("gpt-5-6", 1_050_000),
    ("gpt-4-1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-3-5", 16_385),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("gemini", 1_048_576),
    ("gemma", 131_072),
    ("deepseek", 131_072),
    ("deepseek-v4", 1_000_000),
    ("glm", 202_752),
    ("glm-5-2", 1_048_576),
    ("kimi", 262_144),
    ("kimi-k3", 1_048_576),
    ("minimax", 204_800),
    ("minimax-m3", 1_000_000),
    ("grok", 131_072),
    ("grok-4", 256_000),
    ("grok-4-fast", 2_000_000),
    ("qwen", 131_072),
    ("qwen3", 262_144),
    ("llama-3", 131_072),
    ("llama-4", 1_048_576),
    ("mistral", 131_072),
    ("mimo", 262_144),
    ("step", 262_144),
];

/// Dollars for a million tokens: read, written, read from the cache, written to the cache.
type Row = (&'static str, f64, f64, Option<f64>, Option<f64>);

const PRICES: [Row; 27] = [
    ("claude-opus-4", 15.0, 75.0, Some(1.5), Some(18.75)),
    ("claude-opus-4-0", 15.0, 75.0, Some(1.5), Some(18.75)),
    ("claude-opus-4-1", 15.0, 75.0, Some(1.5), Some(18.75)),
    ("claude-opus-4-5", 5.0, 25.0, Some(0.5), Some(6.25)),
    ("claude-opus-4-6", 5.0, 25.0, Some(0.5), Some(6.25)),
    ("claude-sonnet-4", 3.0, 15.0, Some(0.3), Some(3.75)),
    ("claude-sonnet-4-0", 3.0, 15.0, Some(0.3), Some(3.75)),
    ("claude-sonnet-4-5", 3.0, 15.0, Some(0.3), Some(3.75)),
    ("claude-sonnet-4-6", 3.0, 15.0, Some(0.3), Some(3.75)),
    ("claude-3-7-sonnet", 3.0, 15.0, Some(0.3), Some(3.75)),
    ("claude-3-5-sonnet", 3.0, 15.0, Some(0.3), Some(3.75)),
    ("claude-haiku-4-5", 1.0, 5.0, Some(0.1), Some(1.25)),
    ("claude-3-5-haiku", 0.8, 4.0, Some(0.08), Some(1.0)),
    ("gpt-5-mini", 0.25, 2.0, Some(0.025), None),
    ("gpt-5-nano", 0.05, 0.4, Some(0.005), None),
    ("gpt-5-codex", 1.25, 10.0, Some(0.125), None),
    ("gpt-5-1", 1.25, 10.0, Some(0.125), None),
    ("gpt-4-1", 2.0, 8.0, Some(0.5), None),
    ("gpt-4-1-mini", 0.4, 1.6, Some(0.1), None),
    ("gpt-4-1-nano", 0.1, 0.4, Some(0.025), None),
    ("gpt-4o", 2.5, 10.0, Some(1.25), None),
    ("gpt-4o-mini", 0.15, 0.6, Some(0.075), None),
    ("o3", 2.0, 8.0, Some(0.5), None),
    ("o4-mini", 1.1, 4.4, Some(0.275), None),
    ("gemini-2-5-pro", 1.25, 10.0, Some(0.125), None),
    ("gemini-2-5-flash", 0.3, 2.5, Some(0.03), None),
    ("gemini-2-5-flash-lite", 0.1, 0.4, Some(0.01), None),
];

/// The name after the vendor, with dots as hyphens: vendors spell versions both ways.
fn plain(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase().replace('.', "-");
    // Bedrock writes `us.anthropic.claude-…`; the vendor's own name starts later.
    name.find("claude-").and_then(|at| name.get(at..)).unwrap_or(&name).to_owned()
}

pub(super) fn context(model: &str) -> Option<u64> {
    let model = plain(model);
    let rows = CONTEXT.iter().filter(|(start, _)| model.starts_with(start));
    rows.max_by_key(|(start, _)| start.len()).map(|(_, length)| *length)
}

/// A price needs more than a family: what follows the match must be a date or nothing, never a
/// newer version, which may cost another sum, or another model of the family.
pub(super) fn price(model: &str) -> Option<Price> {
    let model = plain(model);
    let rows = PRICES.iter().filter(|row| {
        let rest = model.strip_prefix(row.0);
        rest.is_some_and(|rest| {
            let more = rest.strip_prefix('-').unwrap_or(rest);
            let year = more.split('-').next().unwrap_or_default();
            let dated = year.len() >= 4 && more.chars().all(|c| c.is_ascii_digit() || c == '-');
            rest.is_empty()
                || (rest.starts_with('-') && (dated || matches!(more, "latest" | "preview")))
        })
    });
    let row = rows.max_by_key(|row| row.0.len())?;
    let (_, input, output, cache_read, cache_write) = *row;
    Some(Price { input, output, cache_read, cache_write })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_every_spelling_and_strangers_are_not_priced() {
        assert_eq!(context("anthropic/claude-opus-4.6"), Some(1_000_000));
        assert_eq!(context("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), Some(200_000));
        assert_eq!(price("claude-sonnet-4-5-20250929").map(|price| price.input), Some(3.0));
        assert_eq!(price("openai/gpt-4o-mini").map(|price| price.input), Some(0.15));
        assert_eq!(price("gpt-4o-realtime"), None);
        assert_eq!(price("gpt-4o-2024-08-06").map(|price| price.input), Some(2.5));
        assert_eq!(price("claude-opus-4-20250514").map(|price| price.input), Some(15.0));
        assert_eq!(price("claude-opus-4-7"), None, "a newer version has a price of its own");
    }
}
