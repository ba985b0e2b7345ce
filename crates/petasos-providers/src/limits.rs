//! How long an answer may be and how much thought goes into it, by the vendors' names for models.

use petasos_contract::model::{Effort, Prompt};

use crate::transport::target::Target;

/// Output limits by the start of a model's name; the longest match wins.
const OUTPUT: [(&str, u32); 20] = [
    ("claude-fable", 128_000),
    ("claude-sonnet-5", 128_000),
    ("claude-opus-4-6", 128_000),
    ("claude-opus-4-7", 128_000),
    ("claude-opus-4-8", 128_000),
    ("claude-sonnet-4-6", 64_000),
    ("claude-sonnet-4-5", 64_000),
    ("claude-haiku-4-5", 64_000),
    ("claude-opus-4-5", 64_000),
    ("claude-sonnet-4", 64_000),
    ("claude-opus-4", 32_000),
    ("claude-3-7", 128_000),
    ("claude-3-5", 8_192),
    ("claude-3", 4_096),
    ("minimax", 131_072),
    ("qwen3", 65_536),
    ("claude-opus-4-1", 32_000),
    ("claude-opus-4-0", 32_000),
    ("claude-sonnet-4-0", 64_000),
    ("claude", 128_000),
];

const OUTPUT_DEFAULT: u32 = 128_000;

/// The limit of the Messages dialect, which must name one.
pub fn messages(prompt: &Prompt, target: &Target) -> u32 {
    let tokens = wanted(prompt, target)
        .unwrap_or_else(|| of_table(&target.family()).unwrap_or(OUTPUT_DEFAULT));
    let room = target.context_length.map(|context| context.saturating_sub(1).max(1));
    let room = room.and_then(|room| u32::try_from(room).ok()).unwrap_or(u32::MAX);
    capped(tokens.min(room), target)
}

/// The limit of a chat request; none when the server's own default is better.
pub fn chat(prompt: &Prompt, target: &Target) -> Option<u32> {
    // A provider's usual limit may be more than a small model has room for at all.
    let half = target.context_length.and_then(|context| u32::try_from(context / 2).ok());
    let usual = target.default_max_tokens.map(|tokens| tokens.min(half.unwrap_or(u32::MAX)));
    let usual = wanted(prompt, target).or(usual).or_else(|| {
        let family = target.family();
        let named = ["claude", "minimax", "qwen3"].iter().any(|start| family.starts_with(start));
        let through =
            matches!(target.provider.as_str(), "openrouter" | "nous" | "ai-gateway" | "kilocode");
        if named && through { of_table(&family) } else { None }
    });
    usual.map(|tokens| capped(tokens, target)).or(target.token_cap())
}

/// The limit that the user or the question names.
pub fn wanted(prompt: &Prompt, target: &Target) -> Option<u32> {
    prompt.max_tokens.or(target.max_output_tokens)
}

/// A limit below what a repair imposes.
pub fn capped(tokens: u32, target: &Target) -> u32 {
    target.token_cap().map_or(tokens, |cap| tokens.min(cap))
}

fn of_table(family: &str) -> Option<u32> {
    let family = family.replace('.', "-");
    let rows = OUTPUT.iter().filter(|(start, _)| family.starts_with(start));
    rows.max_by_key(|(start, _)| start.len()).map(|(_, tokens)| *tokens)
}

/// The version in a Claude name such as `claude-opus-4-6`, as (4, 6).
pub fn claude_version(family: &str) -> Option<(u32, u32)> {
    let name = family.replace('.', "-");
    let rest = name.strip_prefix("claude-").or_else(|| name.split("claude-").nth(1))?;
    let mut numbers = rest.split('-').filter_map(|word| {
        // A date such as 20250514 is no version.
        word.parse::<u32>().ok().filter(|number| *number < 1000)
    });
    let major = numbers.next()?;
    Some((major, numbers.next().unwrap_or(0)))
}

/// Whether a Claude model decides by itself how long to think.
pub fn is_adaptive(family: &str) -> bool {
    family.contains("claude") && claude_version(family).is_none_or(|version| version >= (4, 6))
}

/// The thinking level that a Gemini model takes, if it takes one.
pub fn gemini_level(effort: Effort, family: &str) -> Option<&'static str> {
    if !family.starts_with("gemini-3") || effort == Effort::Off {
        return None;
    }
    if effort <= Effort::Low {
        return Some("low");
    }
    let medium = family.contains("flash") && effort == Effort::Medium;
    Some(if medium { "medium" } else { "high" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_names_are_read_in_both_spellings() {
        let cases = [
            ("claude-opus-4-6", Some((4, 6)), true),
            ("claude-sonnet-4.5-20250929", Some((4, 5)), false),
            ("claude-3-5-haiku-20241022", Some((3, 5)), false),
            ("claude-sonnet-4-20250514", Some((4, 0)), false),
            ("claude-fable", None, true),
        ];
        for (name, version, adaptive) in cases {
            assert_eq!((claude_version(name), is_adaptive(name)), (version, adaptive), "{name}");
        }
        assert_eq!(of_table("claude-sonnet-4.5"), Some(64_000));
        assert_eq!(of_table("claude-3-5-haiku"), Some(8_192));
    }
}
