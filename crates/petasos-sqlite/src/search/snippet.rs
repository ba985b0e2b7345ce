//! The place in a text where something was found, with a little of what stands around it.

const BEFORE: usize = 60;
const AFTER: usize = 120;

/// The first of the marks in the text, wrapped in `>>>` and `<<<`, with its surroundings.
pub(super) fn around(text: &str, marks: &[String]) -> Option<String> {
    let lower: Vec<char> = text.chars().map(fold).collect();
    let letters: Vec<char> = text.chars().collect();
    let place = |mark: &String| {
        let mark: Vec<char> = mark.chars().map(fold).collect();
        let at = lower.windows(mark.len().max(1)).position(|window| window == mark)?;
        Some((at, mark.len()))
    };
    let (at, length) = marks.iter().filter_map(place).min()?;
    let from = at.saturating_sub(BEFORE);
    let to = (at + length + AFTER).min(letters.len());
    let piece = |range: std::ops::Range<usize>| letters.get(range).unwrap_or_default().iter();
    let mut snippet = String::new();
    if from > 0 {
        snippet.push('…');
    }
    snippet.extend(piece(from..at));
    snippet.push_str(">>>");
    snippet.extend(piece(at..at + length));
    snippet.push_str("<<<");
    snippet.extend(piece(at + length..to));
    if to < letters.len() {
        snippet.push('…');
    }
    Some(one_line(&snippet))
}

/// The beginning of a text.
pub(super) fn start(text: &str) -> String {
    let mut beginning: String = text.chars().take(BEFORE + AFTER).collect();
    if beginning.len() < text.len() {
        beginning.push('…');
    }
    one_line(&beginning)
}

/// One letter for one letter, so that places in both texts agree.
fn fold(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_marks_what_was_found() {
        let text = "We bought\na LAMP on Monday";
        assert_eq!(around(text, &["lamp".to_owned()]).unwrap(), "We bought a >>>LAMP<<< on Monday");
        assert_eq!(around(text, &["sofa".to_owned()]), None);
        let long = format!("{} lamp {}", "x".repeat(500), "y".repeat(500));
        let snippet = around(&long, &["lamp".to_owned()]).unwrap();
        assert!(snippet.starts_with('…') && snippet.ends_with('…') && snippet.len() < 220);
    }
}
