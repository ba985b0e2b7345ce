//! Gives a whole draft a name, which is what makes it a checkpoint. Nobody has to wait for this: the
//! bytes are safe, and who finds a draft without a name, because a program died over it, names it
//! first.

use petasos_contract::CallContext;

use crate::checkpoints::Entered;
use crate::draft::Draft;
use crate::error::CheckpointError as Error;
use crate::prune::prune;
use crate::store::{Pending, REFS, id};
use crate::take::settings;

/// So many copies are made between two looks at the limits.
const PRUNE_EVERY: u32 = 8;

/// A copy that has no name yet.
pub(crate) struct Unnamed {
    /// The number of the copy before it, 0 when there is none; nothing when git must be asked.
    pub(crate) last: Option<u32>,
    /// What the list shows of it.
    pub(crate) about: String,
    /// The whole draft.
    pub(crate) draft: Draft,
}

/// The name.
pub(crate) struct Named {
    pub(crate) number: u32,
    /// Not that of an older copy with the same files.
    pub(crate) is_new: bool,
}

impl Unnamed {
    /// The draft is whole: whatever happens now, this copy is not lost.
    pub(crate) fn promise(self, entered: &Entered) -> Result<Self, Error> {
        let (about, draft) = (self.about.clone(), self.draft.name.clone());
        entered.store.promise(&Pending { about, draft })?;
        Ok(self)
    }

    /// Names what a dead program left without a name, and removes what it left unfinished.
    pub(crate) async fn recover(entered: &Entered, cx: &CallContext) -> Result<(), Error> {
        let store = &entered.store;
        let pending = store.pending()?;
        store.sweep(pending.as_ref().map(|pending| pending.draft.as_str()));
        let Some(Pending { about, draft }) = pending else { return Ok(()) };
        store.remove_locks();
        // A git of the dead program may still be at work on its own draft.
        let draft = Draft::like(&draft, entered)?;
        Self { last: None, about, draft }.promise(entered)?.finish(entered, cx).await.map(drop)
    }

    /// The second half of a copy.
    pub(crate) async fn finish(self, entered: &Entered, cx: &CallContext) -> Result<Named, Error> {
        let store = &entered.store;
        let named = match self.last.map(|last| last + 1) {
            Some(number) if !store.is_taken(number) => match self.commit(number, entered, cx).await
            {
                Err(Error::Git(_)) => self.find_and_name(entered, cx).await?,
                named => named?,
            },
            // What we remembered of the last copy was not true: look for it.
            _ => self.find_and_name(entered, cx).await?,
        };
        store.end(&self.draft.name, named.number)?;
        let settings = settings(cx)?;
        // Few are kept exactly; of many, a few more do not matter until the next look.
        let few = usize::try_from(PRUNE_EVERY).is_ok_and(|every| settings.max_snapshots < every);
        if named.is_new && (few || named.number.is_multiple_of(PRUNE_EVERY)) {
            store.remove_locks();
            // The copy is made; the next one makes room.
            if let Err(error) = prune(&entered.git, &settings, cx).await {
                tracing::warn!(%error, "old checkpoints were not dropped");
            }
        }
        Ok(named)
    }

    /// One git does it all where nobody has to compare: it takes the name for a branch that has
    /// no commit yet.
    async fn commit(
        &self,
        number: u32,
        entered: &Entered,
        cx: &CallContext,
    ) -> Result<Named, Error> {
        let branch = entered.store.branch(&format!("{REFS}/{}", id(number)))?;
        let words = ["commit", "-q", "--allow-empty", "--no-verify", "-m", &self.about];
        self.draft.git.on(&branch, &words, cx).await?;
        Ok(Named { number, is_new: true })
    }

    /// Names the draft, unless the last copy is the same.
    async fn find_and_name(&self, entered: &Entered, cx: &CallContext) -> Result<Named, Error> {
        let git = &self.draft.git;
        let newest = "--format=%(refname:lstrip=2) %(tree)";
        let words = ["for-each-ref", "--sort=-refname", "--count=1", newest, REFS];
        let newest = git.one(&words, Vec::new(), cx).await?;
        let newest = String::from_utf8_lossy(&newest);
        let (last, before) = newest.trim().split_once(' ').unwrap_or(("0", ""));
        let number = last
            .parse()
            .map_err(|_| Error::Git(format!("an answer is not understood: {}", newest.trim())))?;
        let tree = git.one(&["write-tree"], Vec::new(), cx).await?;
        if number > 0 && tree.trim_ascii() == before.as_bytes() {
            return Ok(Named { number, is_new: false });
        }
        self.commit(entered.store.free_from(number + 1), entered, cx).await
    }
}
