//! What differs from the last copy, found by git unless a small workspace plainly is the same; perhaps begun before somebody asks.
//!
//! A look changes nothing but the store's own few files. It tells what was there when it was made,
//! so a call that comes later than a moment, or after another one, gets a new one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::CallContext;
use petasos_contract::wait::Owned;

use crate::checkpoints::Checkpoints;
use crate::error::CheckpointError as Error;
use crate::git::Git;
use crate::seen::{self, Seen};
use crate::store::Store;
use crate::take::settings;

/// So long a look is as good as one made now. What others change meanwhile is missed, as is what
/// they change between a copy and the command it was made for.
const FRESH: Duration = Duration::from_millis(100);

/// What differs from the last copy.
#[derive(Debug)]
pub(crate) struct Look {
    /// There was no store before it, and so no copy.
    pub(crate) is_first: bool,
    /// Names of new, changed and removed files, a zero byte behind each.
    pub(crate) candidates: Vec<u8>,
    /// How a small workspace looked before git looked at it.
    pub(crate) seen: Option<Seen>,
}

impl Look {
    /// Looks now.
    pub(crate) async fn now(store: &Store, git: &Git, cx: &CallContext) -> Result<Self, Error> {
        let is_first = !store.exists();
        store.prepare()?;
        let known = Seen::read(store).filter(|_| store.last().is_some());
        let seen = Seen::now(store, seen::rules(store, &settings(cx)?), known.as_ref());
        if let (Some(known), Some(seen)) = (known, &seen)
            && known.is_same(seen)
        {
            return Ok(Self { is_first, candidates: Vec::new(), seen: None });
        }
        let words = ["ls-files", "-z", "--others", "--modified", "--exclude-standard"];
        Ok(Self { is_first, candidates: git.one(&words, Vec::new(), cx).await?, seen })
    }
}

/// A look that was begun ahead. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Ahead {
    begun: Instant,
    look: Owned<Result<Look, Error>>,
}

impl Ahead {
    /// Begins it.
    pub(crate) fn begin(checkpoints: &Arc<Checkpoints>, cx: &CallContext) -> Self {
        let (checkpoints, cx) = (Arc::clone(checkpoints), cx.clone());
        let look = Owned::start(async move {
            let (store, git) = checkpoints.open(&cx).await?;
            Look::now(&store, &git, &cx).await
        });
        Self { begun: Instant::now(), look }
    }

    /// What was seen, when that is as good as a look now: asked by whoever is alone in the store.
    /// One that failed is made again, so that its reason is told where it is asked for.
    pub(crate) async fn fresh(self) -> Option<Look> {
        let seen = self.look.join().await?.ok()?;
        (self.begun.elapsed() <= FRESH).then_some(seen)
    }
}
