//! What of a command must not be written down or shown: known secrets by value, others by shape.

use std::ops::Range;
use std::sync::LazyLock;

use petasos_config::variables;
use petasos_contract::Settings;
use regex::Regex;

/// Stands for what is hidden.
pub(crate) const MASK: &str = "••••";

/// Shorter values would hide ordinary words.
const SECRET_CHARS_MIN: usize = 8;

/// Each hides its group `x`, or all of it. Classes are spelled out in ASCII: repeated ones of all
/// scripts took 60 ms and megabytes to build, which the first command of every program paid for.
const SHAPES: [&str; 7] = [
    r"(?-u:\b)(?:sk-[0-9A-Za-z_-]{12,}|gh[opsur]_[0-9A-Za-z_]{16,}|github_pat_[0-9A-Za-z_]{20,}|xox[abeprs]-[0-9A-Za-z_-]{10,}|AKIA[0-9A-Z]{12,}|AIza[0-9A-Za-z_-]{20,}|eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}(?:\.[0-9A-Za-z_-]*)?|glpat-[0-9A-Za-z_-]{16,}|npm_[0-9A-Za-z_]{20,}|pypi-[0-9A-Za-z_-]{20,}|hf_[0-9A-Za-z_]{16,})",
    r"(?i)(?-u:\b)authorization[ \t-\r]*:[ \t-\r]*(?:(?:bearer|basic|token)[ \t-\r]+)?(?<x>[^ \t-\r'\x22\x1f]+)",
    r"(?i)(?:api[_-]?key|token|secret|passw(?:or)?d|passphrase|access[_-]?key|credential)[0-9A-Za-z_]*[ \t-\r]*[=:][ \t-\r]*['\x22]?(?<x>[^ \t-\r'\x22&;|\x1f]+)",
    r"(?i)--?(?:password|passwd|passphrase|token|secret|api-?key|access-?key)(?:=|[ \t-\r\x1f]+)['\x22]?(?<x>[^ \t-\r'\x22\x1f]+)",
    r"://[^/ \t-\r:@]*:(?<x>[^@ \t-\r/]+)@",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?<x>(?s:.)*?)(?:-----END|\z)",
    r"(?:echo|printf)[ \t-\r\x1f]+(?:-[0-9A-Za-z_]+[ \t-\r]+)?(?<x>[^ \t-\r|]+)[ \t-\r]*\|[ \t-\r]*sudo[ \t-\r]+-[0-9A-Za-z_]*S",
];

static COMPILED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    SHAPES
        .iter()
        .filter_map(|shape| {
            Regex::new(shape).inspect_err(|error| tracing::error!(%error, "a mask is lost")).ok()
        })
        .collect()
});

/// Builds the shapes before the first entry needs them.
pub(super) fn warm() {
    LazyLock::force(&COMPILED);
}

/// The values that must not be shown whatever they look like.
pub(crate) fn secrets_of(settings: &Settings) -> Vec<String> {
    settings
        .variables()
        .iter()
        .filter(|(name, _)| variables::is_secret(name))
        .map(|(_, variable)| variable.value.expose().to_owned())
        .filter(|value| value.chars().count() >= SECRET_CHARS_MIN)
        .collect()
}

/// The parts of a text that must not be shown, in order, apart from each other.
pub(crate) fn ranges(text: &str, secrets: &[String]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for secret in secrets {
        found.extend(text.match_indices(secret.as_str()).map(|(at, it)| at..at + it.len()));
    }
    for shape in COMPILED.iter() {
        for hit in shape.captures_iter(text) {
            found.extend(hit.name("x").or_else(|| hit.get(0)).map(|part| part.range()));
        }
    }
    found.retain(|range| !range.is_empty());
    found.sort_by_key(|range| (range.start, range.end));
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for range in found {
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// A text that may be written down.
pub(crate) fn masked(text: &str, secrets: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges(text, secrets) {
        out.push_str(text.get(from..range.start).unwrap_or_default());
        out.push_str(MASK);
        from = range.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_the_rest_stays() {
        assert_eq!(COMPILED.len(), SHAPES.len());
        let known = vec!["hunter2hunter2".to_owned()];
        let cases = [
            ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: Bearer ••••' x"),
            ("export API_KEY=abcdef && rm -r x", "export API_KEY=•••• && rm -r x"),
            ("mysql --password hunter -e q", "mysql --password •••• -e q"),
            ("git push https://ada:pass@host/x", "git push https://ada:••••@host/x"),
            ("echo hunter2hunter2", "echo ••••"),
            ("use sk-0123456789abcdef now", "use •••• now"),
            ("echo pw | sudo -S rm x", "echo •••• | sudo -S rm x"),
            ("rm -r build", "rm -r build"),
        ];
        for (text, shown) in cases {
            assert_eq!(masked(text, &known), shown);
        }
    }
}
