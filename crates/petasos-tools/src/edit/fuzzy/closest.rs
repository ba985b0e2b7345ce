//! The places of a file that look most like a text that was not found.

use super::lines::similarity;

const SHOWN_MAX: usize = 3;
const LOOKED_AT_MAX: usize = 20_000;
const SCORE_MIN: f64 = 0.45;
const AROUND: usize = 2;
const LINE_CHARS_MAX: usize = 200;

/// Up to three excerpts with line numbers, the most alike first.
pub(crate) fn excerpts(content: &str, old: &str) -> Vec<String> {
    let quoted: Vec<&str> = old.lines().filter(|line| !line.trim().is_empty()).collect();
    let Some(anchor) = quoted.iter().max_by_key(|line| line.trim().chars().count().min(80)) else {
        return Vec::new();
    };
    let lines: Vec<&str> = content.lines().take(LOOKED_AT_MAX).collect();
    let mut scored: Vec<(f64, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| (similarity(line, anchor), at))
        .filter(|(score, _)| *score >= SCORE_MIN)
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    let mut shown: Vec<usize> = Vec::new();
    for (_, at) in scored {
        if shown.len() < SHOWN_MAX && shown.iter().all(|other| other.abs_diff(at) > AROUND * 2) {
            shown.push(at);
        }
    }
    shown.into_iter().map(|at| excerpt(&lines, at)).collect()
}

fn excerpt(lines: &[&str], at: usize) -> String {
    let first = at.saturating_sub(AROUND);
    let shown = lines.iter().enumerate().skip(first).take(at - first + AROUND + 1);
    let numbered = shown.map(|(index, line)| {
        let text: String = line.chars().take(LINE_CHARS_MAX).collect();
        format!("{}|{text}", index + 1)
    });
    numbered.collect::<Vec<_>>().join("\n")
}
