//! Recognises our own display text, which a model sometimes writes back as if it were the file.

/// Stands in the notice of an unchanged file, and in no file.
pub(crate) const UNCHANGED: &str = "unchanged since you last read it";

/// A few numbered lines may be somebody's data.
const LINES_MIN: usize = 3;

/// The first so many tell.
const LINES_MAX: usize = 2000;

/// Says why a content is our own display and not a file's text.
pub(crate) fn found_in(content: &str) -> Option<&'static str> {
    if content.len() < 2000 && content.contains(UNCHANGED) {
        return Some(
            "`content` is the notice that a file is unchanged, not the file: nothing was written",
        );
    }
    let lines = content.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.take(LINES_MAX).collect();
    let mut numbered = 0;
    let mut last: Option<u64> = None;
    for line in &lines {
        let number = line.split_once('|').and_then(|(number, _)| number.trim().parse().ok());
        let Some(number) = number else { continue };
        if last.is_none_or(|last| number == last + 1) {
            numbered += 1;
        }
        last = Some(number);
    }
    let most = numbered >= LINES_MIN && numbered * 10 >= lines.len() * 6;
    most.then_some(
        "`content` has the `N|` line numbers that read_file shows: write the text without them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_lines_and_notices_are_recognised_and_data_is_not() {
        assert!(found_in("1|a\n2|b\n3|c\n").is_some());
        assert!(found_in("1|a\n2|b\n3|c\nplain\nplain").is_some());
        assert!(found_in("the file is unchanged since you last read it").is_some());
        assert!(found_in("1|a\n2|b").is_none());
        assert!(found_in("9|a\n4|b\n7|c\n1|d").is_none());
        assert!(found_in("a|b\nc|d\ne|f").is_none());
        assert!(found_in("").is_none());
    }
}
