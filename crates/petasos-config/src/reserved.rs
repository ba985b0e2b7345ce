//! Keys that are set though nothing obeys them: a setting must not promise what is not there.
//!
//! Each is a notice, so that a file of another version loads. No key that guards something is among
//! them; the table of keys is held to that by a test.

use std::collections::BTreeSet;

use petasos_contract::settings::{Notice, Source};

use crate::keys::{self, Key};
use crate::layers::Settled;
use crate::strict::names;

/// What every place says of such a key.
const NO_EFFECT: &str = "reserved: no effect in this version";
/// The reason of a key that waits for nothing begins with this.
const NEEDLESS: &str = "nothing: ";

/// Looks at every key that somebody set; what is written below a key counts as that key's value.
pub(crate) fn check(settled: &Settled, notices: &mut Vec<Notice>) {
    let mut seen = BTreeSet::new();
    for (path, stack) in &settled.sources {
        let in_force = stack.first().filter(|first| first.passed_over.is_none());
        let Some(layer) = in_force.filter(|layer| layer.source != Source::Default) else {
            continue;
        };
        let Some(key) = keys::find(&names(path)) else { continue };
        let Some(what) = said(key) else { continue };
        let path = if key.is_pattern() { path.as_str() } else { key.path };
        if seen.insert(path) {
            let hint = format!("nothing to do; {} may keep it", layer.source);
            notices.push(Notice { key: path.to_owned(), what, hint });
        }
    }
}

/// That nothing obeys a key, and why.
pub(crate) fn said(key: &Key) -> Option<String> {
    let waits_for = key.reserved?;
    Some(match waits_for.strip_prefix(NEEDLESS) {
        Some(why) => format!("{NO_EFFECT}; {why}"),
        None => format!("{NO_EFFECT}; it waits for {waits_for}"),
    })
}
