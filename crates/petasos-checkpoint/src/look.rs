//! What differs from the last copy, found by git. A look changes nothing but the store's own few
//! files.

use petasos_contract::CallContext;

use crate::error::CheckpointError as Error;
use crate::git::Git;
use crate::store::Store;

/// What differs from the last copy.
#[derive(Debug)]
pub(crate) struct Look {
    /// There was no store before it, and so no copy.
    pub(crate) is_first: bool,
    /// Names of new, changed and removed files, a zero byte behind each.
    pub(crate) candidates: Vec<u8>,
}

impl Look {
    /// Looks now.
    pub(crate) async fn now(store: &Store, git: &Git, cx: &CallContext) -> Result<Self, Error> {
        let is_first = !store.exists();
        store.prepare()?;
        let words = ["ls-files", "-z", "--others", "--modified", "--exclude-standard"];
        Ok(Self { is_first, candidates: git.one(&words, cx).await? })
    }
}
