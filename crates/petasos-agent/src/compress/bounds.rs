//! What stays word for word: where the beginning ends and the end begins. Pure.
//!
//! Both lie between whole groups: a call is never on another side than its results.

use petasos_contract::message::Message;
use petasos_store::LoadedRow;

/// At least so many of the last messages stay, when they fit at all.
const FLOOR_MAX: usize = 8;

/// Where the end begins: by tokens, with a few messages and the user's last words in any case.
pub(super) fn tail(rows: &[LoadedRow], budget: u64, protect: usize) -> usize {
    let floor = protect.min(FLOOR_MAX);
    let (soft, mut used, mut start) = (budget + budget / 2, 0, rows.len());
    for (at, row) in rows.iter().enumerate().rev() {
        let cost = u64::from(row.stored.tokens);
        let count = rows.len() - at;
        let fits = used + cost <= budget || (count <= floor && used + cost <= soft);
        if !fits || (count > protect && used + cost > budget) {
            break;
        }
        used += cost;
        start = at;
    }
    // The user's last words are what everything after them is about.
    let last_user = rows.iter().rposition(is_users);
    let start = match last_user {
        Some(last) if last < start && cost(rows, last, start) <= soft => last,
        _ => start,
    };
    aligned(rows, start)
}

/// Where the beginning ends.
pub(super) fn head(rows: &[LoadedRow], protect: usize, tail: usize) -> usize {
    let at = protect.min(tail);
    // Forward over results, so that a protected call keeps them.
    let results = rows.iter().skip(at).take_while(|row| is_result(row)).count();
    (at + results).min(tail)
}

/// Back to the beginning of a group.
fn aligned(rows: &[LoadedRow], start: usize) -> usize {
    let mut start = start.min(rows.len());
    while start > 0 && rows.get(start).is_some_and(is_result) {
        start -= 1;
    }
    start
}

fn cost(rows: &[LoadedRow], from: usize, to: usize) -> u64 {
    let range = rows.iter().skip(from).take(to.saturating_sub(from));
    range.map(|row| u64::from(row.stored.tokens)).sum()
}

fn is_result(row: &LoadedRow) -> bool {
    matches!(row.stored.message, Message::Tool(_))
}

fn is_users(row: &LoadedRow) -> bool {
    matches!(row.stored.message, Message::User { .. }) && row.stored.note.is_none()
}
