//! Words spelt another way: compatibility letters made plain, quotes put back.

use super::value::Arg;
use crate::shell::normalise::plain_spelling;

/// The arguments in plain letters; `None` when they are already.
pub(super) fn respelt(argv: &[Arg]) -> Option<Vec<Arg>> {
    let mut changed = false;
    let plain = argv
        .iter()
        .map(|arg| {
            let mut arg = arg.clone();
            if !arg.is_unknown()
                && let Some(text) = plain_spelling(&arg.text)
            {
                arg.text = text;
                changed = true;
            }
            arg
        })
        .collect();
    changed.then_some(plain)
}

/// A word quoted so that a shell reads it back unchanged.
pub(crate) fn quote(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+~*".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
