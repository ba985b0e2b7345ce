//! What to do with each file: pure decisions over three views of it, ours, theirs and the last
//! one that was common.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::rel::Rel;

/// The hash of a content, as hexadecimal digits.
pub(super) type Hash = String;

/// Every file with its hash.
pub(super) type Manifest = BTreeMap<Rel, Hash>;

/// The hash of a content.
pub(super) fn hash(bytes: &[u8]) -> Hash {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// What brings the target up to date.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Up {
    /// New or changed here.
    pub(super) upload: Vec<Rel>,
    /// Gone here, with the content that was brought: another content there is not ours to remove.
    pub(super) delete: Vec<(Rel, Hash)>,
}

/// From what is here and what was common.
pub(super) fn up(near: &Manifest, common: &Manifest) -> Up {
    let changed = near.iter().filter(|(rel, hash)| common.get(*rel) != Some(*hash));
    let gone = common.iter().filter(|(rel, _)| !near.contains_key(*rel));
    Up {
        upload: changed.map(|(rel, _)| rel.clone()).collect(),
        delete: gone.map(|(rel, hash)| (rel.clone(), hash.clone())).collect(),
    }
}

/// The files over there that are not what was brought, of those that may come back.
pub(super) fn changed(
    common: &Manifest,
    theirs: &Manifest,
    takes_back: impl Fn(&Rel) -> bool,
) -> Vec<(Rel, Hash)> {
    let differs = theirs.iter().filter(|(rel, hash)| common.get(*rel) != Some(*hash));
    differs
        .filter(|(rel, _)| takes_back(rel))
        .map(|(rel, hash)| (rel.clone(), hash.clone()))
        .collect()
}

/// What becomes of one file that changed over there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    /// We have it already.
    Nothing,
    /// Ours is what was brought, or there is none and never was.
    Replace,
    /// Ours changed too, or was removed: it stays, theirs is put beside it.
    Beside,
}

/// From what was common, what we have now and what they have.
pub(super) fn back(common: Option<&Hash>, ours: Option<&Hash>, theirs: &Hash) -> Back {
    if ours == Some(theirs) {
        return Back::Nothing;
    }
    if ours == common { Back::Replace } else { Back::Beside }
}
