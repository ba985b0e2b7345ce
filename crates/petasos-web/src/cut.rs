//! The part of a long text that is shown: its head and its tail, cut at line ends, with fences and
//! table rows whole.

/// A text that fits, and where to read on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) text: String,
    /// The first line that is left out, counted from 1; `None` when nothing is.
    pub(crate) next_line: Option<usize>,
}

/// Cuts to about `chars`: three quarters from the start, one from the end.
pub(crate) fn cut(text: &str, chars: usize, stored: Option<&str>) -> Cut {
    let total = text.chars().count();
    if total <= chars {
        return Cut { text: text.to_owned(), next_line: None };
    }
    let lines: Vec<&str> = text.lines().collect();
    let head = take(lines.iter().copied(), chars * 3 / 4);
    let rest = lines.get(head..).unwrap_or_default();
    let tail = take(rest.iter().rev().copied(), chars / 4).min(rest.len());
    let (mut start, end) = (
        lines.get(..head).unwrap_or_default().join("\n"),
        rest.get(rest.len() - tail..).unwrap_or_default(),
    );
    if head == 0 {
        // One endless line: it is cut between words.
        start = text.chars().take(chars * 3 / 4).collect();
    }
    let is_open = |part: &str| {
        part.lines().filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1
    };
    if is_open(&start) {
        start.push_str("\n```");
    }
    let mut end = end.join("\n");
    if is_open(&end) {
        end = format!("```\n{end}");
    }
    let place = stored.map_or_else(String::new, |path| {
        format!("; the whole text is in {path}, read on from line {}", head + 1)
    });
    let note = format!(
        "[… {} of {total} characters shown{place} …]",
        start.chars().count() + end.chars().count()
    );
    Cut {
        text: format!("{start}\n\n{note}\n\n{end}").trim_end().to_owned(),
        next_line: Some(head + 1),
    }
}

/// How many lines fit.
fn take<'a>(lines: impl Iterator<Item = &'a str>, chars: usize) -> usize {
    let mut left = chars;
    let fits = |line: &&str| {
        let length = line.chars().count() + 1;
        let fits = length <= left;
        left = left.saturating_sub(length);
        fits
    };
    lines.take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_head_and_tail_and_says_where_to_go_on() {
        let lines: Vec<String> = (1..=200).map(|n| format!("line number {n}")).collect();
        let text = lines.join("\n") + "\n";
        let cut = cut(&text, 1000, Some("/x/w1.md"));
        let next = cut.next_line.unwrap();
        assert!(cut.text.starts_with("line number 1\n") && cut.text.ends_with("line number 200"));
        assert!(cut.text.contains(&format!("line number {}\n", next - 1)));
        assert!(!cut.text.contains(&format!("line number {next}\n")));
        assert!(cut.text.contains("/x/w1.md"));
        let fenced = format!("```rust\n{}```\nend", "let a = 1;\n".repeat(300));
        let cut = super::cut(&fenced, 1000, None);
        assert_eq!(cut.text.matches("```").count() % 2, 0, "{}", cut.text);
        assert_eq!(super::cut("short", 1000, None).next_line, None);
    }
}
