//! A line and its hash: the hash is over the line without it, and the line names the one before.

use std::io;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::id::hex;
use petasos_store::DecisionEntry;

const JOINT: &str = ",\"hash\":\"";

/// What a line turned out to be.
pub(super) enum Link {
    /// It is as it was written, after the one it names.
    Holds(String),
    /// It was never written to its end.
    Torn,
    /// It is not what was written.
    Broken(String),
}

#[derive(Deserialize)]
struct Identity {
    seq: u64,
    hash: String,
}

#[derive(Deserialize)]
struct Chained {
    prev: Option<String>,
}

/// The text of an entry, with its hash.
pub(super) fn line(entry: &DecisionEntry) -> io::Result<String> {
    let mut text = serde_json::to_string(entry)?;
    let hash = digest(text.as_bytes());
    text.pop();
    text.push_str(JOINT);
    text.push_str(&hash);
    text.push_str("\"}");
    Ok(text)
}

/// The number and hash of a line that was written whole.
pub(super) fn identity(line: &[u8]) -> Option<(u64, String)> {
    let found: Identity = serde_json::from_slice(line).ok()?;
    Some((found.seq, found.hash))
}

/// Compares a line with its own hash and with the line before.
pub(super) fn check(line: &[u8], before: Option<&str>) -> Link {
    let Ok(text) = str::from_utf8(line) else { return Link::Torn };
    let Ok(chained) = serde_json::from_str::<Chained>(text) else { return Link::Torn };
    let Some((body, rest)) = text.rsplit_once(JOINT) else {
        return Link::Broken("it has no hash".to_owned());
    };
    let hash = rest.trim_end_matches("\"}");
    if digest(format!("{body}}}").as_bytes()) != hash {
        return Link::Broken("it was changed after it was written".to_owned());
    }
    if chained.prev.as_deref() != before {
        return Link::Broken("it does not follow the line before it".to_owned());
    }
    Link::Holds(hash.to_owned())
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
