//! Reads what `stat` and `grep` print.

use std::cmp::Reverse;
use std::path::PathBuf;

use super::{Target, ripgrep};
use crate::files::line;
use crate::files::search::content::{Found, Hit, LINE_CHARS_MAX, excerpt};
use crate::files::search::names::Names;
use crate::files::search::walk::Walked;

/// Lines of seconds and name; the newest `needed` files.
pub(super) fn newest(
    target: &Target<'_>,
    printed: &[u8],
    needed: usize,
    mut walked: Walked,
) -> Names {
    let text = String::from_utf8_lossy(printed);
    let mut files: Vec<(Reverse<i64>, PathBuf)> = Vec::new();
    for row in text.lines() {
        let Some((time, name)) = row.split_once(' ') else { continue };
        let Ok(time) = time.parse() else { continue };
        if let Some(inside) = target.wanted(name, &mut walked) {
            files.push((Reverse(time), inside));
        }
    }
    files.sort();
    let total = files.len() as u64;
    Names { files: files.into_iter().take(needed).map(|(_, path)| path).collect(), total, walked }
}

/// `path NUL line : text` for a hit, with `-` for a line near one.
pub(super) fn matches(target: &Target<'_>, printed: &[u8], walked: &mut Walked) -> Vec<Found> {
    let mut files: Vec<Found> = Vec::new();
    let mut last: Option<(String, bool)> = None;
    let mut before: Vec<String> = Vec::new();
    for row in printed.split(|byte| *byte == b'\n') {
        let Some(row) = Row::of(row) else { continue };
        if last.as_ref().is_none_or(|(path, _)| *path != row.path) {
            let inside = target.wanted(&row.path, walked);
            last = Some((row.path.clone(), inside.is_some()));
            before.clear();
            files.extend(inside.map(|inside| Found { inside, hits: Vec::new(), count: 0 }));
        }
        let is_wanted = last.as_ref().is_some_and(|(_, is_wanted)| *is_wanted);
        let Some(file) = files.last_mut().filter(|_| is_wanted) else { continue };
        if row.is_hit {
            file.count += 1;
            let (text, before) = (excerpt(row.text, None), std::mem::take(&mut before));
            file.hits.push(Hit { line: row.line, text, before, after: Vec::new() });
        } else {
            let shown = line::decoded(row.text, LINE_CHARS_MAX).0;
            ripgrep::around(file, &mut before, (row.line, target.context), shown);
        }
    }
    files.retain(|file| file.count > 0);
    files
}

struct Row<'a> {
    path: String,
    line: u64,
    is_hit: bool,
    text: &'a [u8],
}

impl<'a> Row<'a> {
    fn of(row: &'a [u8]) -> Option<Self> {
        let (path, rest) = row.split_at_checked(memchr::memchr(0, row)?)?;
        let rest = rest.get(1..)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = rest.split_at_checked(digits)?;
        let (mark, text) = rest.split_first()?;
        Some(Self {
            path: String::from_utf8_lossy(path).into_owned(),
            line: std::str::from_utf8(number).ok()?.parse().ok()?,
            is_hit: *mark == b':',
            text,
        })
    }
}
