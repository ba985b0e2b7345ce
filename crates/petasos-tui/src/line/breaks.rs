//! Where a line may be broken: behind blanks, and around letters of scripts that write none.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// What no line begins with.
const NEVER_FIRST: &str = "、。，．・：；？！゛゜ヽヾゝゞ々ー）］｝〕〉》」』】〙〗〟｠’”»!%),.:;?]}…‥\
    ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ";
/// What no line ends with.
const NEVER_LAST: &str = "（［｛〔〈《「『【〘〖〝｟‘“«([{";

/// The parts of a word between which it may be broken.
pub(super) fn parts(word: &str) -> Vec<&str> {
    if word.is_ascii() {
        return vec![word];
    }
    let mut parts = Vec::new();
    let (mut begin, mut before) = (0, "");
    for (at, cluster) in word.grapheme_indices(true) {
        if may_break(before, cluster) {
            parts.extend(word.get(begin..at));
            begin = at;
        }
        before = cluster;
    }
    parts.extend(word.get(begin..).filter(|rest| !rest.is_empty()));
    parts
}

/// Whether a line may end behind the one and go on with the other.
pub(super) fn between(before: &str, after: &str) -> bool {
    let (last, first) = (before.graphemes(true).next_back(), after.graphemes(true).next());
    before.ends_with(' ') || may_break(last.unwrap_or_default(), first.unwrap_or_default())
}

fn may_break(before: &str, after: &str) -> bool {
    let is_one_of =
        |all: &str, cluster: &str| cluster.chars().next().is_some_and(|it| all.contains(it));
    !before.is_empty()
        && (before.width() == 2 || after.width() == 2)
        && !after.trim().is_empty()
        && !is_one_of(NEVER_FIRST, after)
        && !is_one_of(NEVER_LAST, before)
}
