//! What changed, as a unified diff that is never longer than a result may be.

use std::time::{Duration, Instant};

use similar::{Algorithm, TextDiff};

/// Comparing junk is quadratic; a coarse diff is as good there.
const TIME_MAX: Duration = Duration::from_millis(500);

/// Leaves room for the rest of the result.
const CHARS_MAX: usize = 20_000;

/// A unified diff of two texts, with names as `a/…` and `b/…`; cut when it is long.
pub(crate) fn unified(name: &str, old: Option<&str>, new: Option<&str>) -> String {
    let head = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{}", name.trim_start_matches('/')),
        None => "/dev/null".to_owned(),
    };
    let (from, to) = (head("a", old), head("b", new));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .deadline(Instant::now() + TIME_MAX)
        .diff_lines(old, new);
    let whole = diff.unified_diff().context_radius(3).header(&from, &to).to_string();
    cut(whole)
}

fn cut(whole: String) -> String {
    let Some((end, _)) = whole.char_indices().nth(CHARS_MAX) else { return whole };
    let kept = whole.get(..end).unwrap_or_default();
    let kept = kept.rsplit_once('\n').map_or(kept, |(lines, _)| lines);
    let left = whole.lines().count().saturating_sub(kept.lines().count());
    format!("{kept}\n… [{left} more lines of diff]\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_names_both_sides_and_is_cut_when_long() {
        let told = unified("a.txt", Some("one\ntwo\n"), Some("one\n2\n"));
        assert_eq!(told, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
        assert!(unified("n", None, Some("x\n")).starts_with("--- /dev/null\n+++ b/n\n"));
        assert!(unified("n", Some("x\n"), None).contains("+++ /dev/null"));
        assert_eq!(unified("n", Some("x\n"), Some("x\n")), "");
        let long = unified("n", None, Some(&"line\n".repeat(10_000)));
        assert!(long.chars().count() < CHARS_MAX + 50 && long.contains("more lines of diff"));
    }
}
