//! Secrets that are known by their shape alone.
//!
//! Each expression hides its group `x`, or all of it. One expression a row, so that each is looked
//! for by its own fixed letters: as one expression they took three times as long over a large
//! output. Classes are spelled out in ASCII, which is built in a tenth of the time.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Keys of services, tokens and logins, wherever they stand.
const KEYS: &[&str] = &[
    r"(?-u:\b)sk-(?:ant-|or-|proj-)?[A-Za-z0-9_-]{16,}",
    r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9_]{16,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})",
    r"(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"(?-u:\b)(?:AKIA|ASIA)[A-Z0-9]{16}(?-u:\b)",
    r"(?-u:\b)AIza[A-Za-z0-9_-]{30,}",
    r"(?-u:\b)(?:hf|npm|pypi|r8|gsk|fw|nvapi|pplx|tvly|exa|xai|dop_v1|shpat|rk_live|sk_live|SG)[_.-][A-Za-z0-9_.-]{20,}",
    r"(?-u:\b)pts_[A-Za-z0-9_-]{40,}",
    r"(?-u:\b)ya29\.[A-Za-z0-9_-]{20,}",
    r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"(?-u:\b)[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}",
    r"(?i:authorization[\x22']?:[ \t-\r]*[\x22']?(?:bearer|basic|token)[ \t-\r]+|x-api-key[\x22']?:[ \t-\r]*[\x22']?)(?<x>[^ \t-\r\x22']{8,})",
    r"(?-u:\b)[a-z][a-z0-9+.-]{1,15}://[^ \t-\r:/@]{0,64}:(?<x>[^ \t-\r@/]{3,})@",
];

/// Secrets by their place in a command line: options, assignments, what is piped into sudo.
const COMMANDS: &[&str] = &[
    r"(?i)(?-u:\b)authorization[ \t-\r]*:[ \t-\r]*(?:(?:bearer|basic|token)[ \t-\r]+)?(?<x>[^ \t-\r'\x22\x1f]+)",
    r"(?i)(?:api[_-]?key|token|secret|passw(?:or)?d|passphrase|access[_-]?key|credential)[0-9A-Za-z_]*[ \t-\r]*[=:][ \t-\r]*['\x22]?(?<x>[^ \t-\r'\x22&;|\x1f]+)",
    r"(?i)--?(?:password|passwd|passphrase|token|secret|api-?key|access-?key)(?:=|[ \t-\r\x1f]+)['\x22]?(?<x>[^ \t-\r'\x22\x1f]+)",
    r"://[^/ \t-\r:@]*:(?<x>[^@ \t-\r/]+)@",
    r"(?:echo|printf)[ \t-\r\x1f]+(?:-[0-9A-Za-z_]+[ \t-\r]+)?(?<x>[^ \t-\r|]+)[ \t-\r]*\|[ \t-\r]*sudo[ \t-\r]+-[0-9A-Za-z_]*S",
];

static COMPILED_KEYS: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(KEYS));
static COMPILED_COMMANDS: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(COMMANDS));

fn compiled(shapes: &[&str]) -> Vec<Regex> {
    let one = |shape: &&str| {
        Regex::new(shape).inspect_err(|error| tracing::error!(%error, "a shape is lost")).ok()
    };
    shapes.iter().filter_map(one).collect()
}

/// Builds the expressions before the first text needs them.
pub(crate) fn warm() {
    LazyLock::force(&COMPILED_KEYS);
    LazyLock::force(&COMPILED_COMMANDS);
}

/// Where keys stand in a text.
pub(crate) fn keys(text: &str, found: &mut Vec<Range<usize>>) {
    collect(&COMPILED_KEYS, text, found);
    found.retain(|range| !is_hyphenated_words(text.get(range.clone()).unwrap_or_default()));
}

/// Whether something like `sk-fading-circle-animation` is words and no key: short parts, no digit.
fn is_hyphenated_words(part: &str) -> bool {
    part.starts_with("sk-")
        && !part.bytes().any(|byte| byte.is_ascii_digit())
        && part.split(['-', '_']).all(|word| word.len() < 16)
}

/// Where a command line holds a secret by its place.
pub(crate) fn commands(text: &str, found: &mut Vec<Range<usize>>) {
    collect(&COMPILED_COMMANDS, text, found);
}

fn collect(shapes: &[Regex], text: &str, found: &mut Vec<Range<usize>>) {
    for shape in shapes {
        for hit in shape.captures_iter(text) {
            found.extend(hit.name("x").or_else(|| hit.get(0)).map(|part| part.range()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_a_valid_expression() {
        assert_eq!(COMPILED_KEYS.len(), KEYS.len());
        assert_eq!(COMPILED_COMMANDS.len(), COMMANDS.len());
    }
}
