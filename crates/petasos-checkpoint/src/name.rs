//! Gives what is in the index a name. Nobody has to wait for this: the bytes are safe, and who
//! finds an index without a name, because a program died over it, names it first.

use petasos_contract::CallContext;

use crate::checkpoints::Entered;
use crate::error::CheckpointError as Error;
use crate::git::quote;
use crate::prune::prune;
use crate::take::settings;

/// So many copies are made between two looks at the limits.
const PRUNE_EVERY: u32 = 8;

/// A copy that has no name yet.
pub(crate) struct Unnamed {
    /// The number of the copy before it, 0 when there is none; nothing when git must be asked.
    pub(crate) last: Option<u32>,
    /// What the list tells of it.
    pub(crate) about: String,
}

/// The name.
pub(crate) struct Named {
    pub(crate) number: u32,
    /// Not that of an older copy with the same files.
    pub(crate) is_new: bool,
}

impl Unnamed {
    /// The second half of a copy.
    pub(crate) async fn finish(
        self,
        entered: &Entered<'_>,
        cx: &CallContext,
    ) -> Result<Named, Error> {
        let named = match self.last {
            Some(last) => match self.commit(last + 1, entered, cx).await {
                // What we remembered of the last copy was not true: look for it.
                Err(Error::Git(_)) => self.find_and_name(entered, cx).await?,
                named => named?,
            },
            None => self.find_and_name(entered, cx).await?,
        };
        entered.store.end(named.number)?;
        let settings = settings(cx)?;
        // Few are kept exactly; of many, a few more do not matter until the next look.
        let few = usize::try_from(PRUNE_EVERY).is_ok_and(|every| settings.max_snapshots < every);
        if named.is_new && (few || named.number.is_multiple_of(PRUNE_EVERY)) {
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
        entered: &Entered<'_>,
        cx: &CallContext,
    ) -> Result<Named, Error> {
        let branch = entered.store.branch(number)?;
        let words = ["commit", "-q", "--allow-empty", "--no-verify", "-m", &self.about];
        entered.git.on(&branch, &words, cx).await?;
        Ok(Named { number, is_new: true })
    }

    /// Makes a copy of the index, unless the last one is the same.
    async fn find_and_name(&self, entered: &Entered<'_>, cx: &CallContext) -> Result<Named, Error> {
        let script = format!(
            "last=$(git for-each-ref --sort=-refname --count=1 --format='%(refname:lstrip=2)' refs/petasos/)\n\
             before=; [ -z \"$last\" ] || before=$(git rev-parse \"refs/petasos/$last^{{tree}}\")\n\
             tree=$(git write-tree)\n\
             if [ \"$before\" = \"$tree\" ]; then echo same \"$last\"; exit 0; fi\n\
             number=$(( $(echo \"${{last:-0}}\" | sed 's/^0*//;s/^$/0/') + 1 ))\n\
             commit=$(printf %s {} | git commit-tree \"$tree\")\n\
             git update-ref \"refs/petasos/$(printf %06d $number)\" \"$commit\" ''\n\
             echo new \"$number\"",
            quote(&self.about)
        );
        let printed = entered.git.text(&script, cx).await?;
        let understood = printed.trim().split_once(' ').and_then(|(which, number)| {
            Some(Named { number: number.parse().ok()?, is_new: which == "new" })
        });
        understood.ok_or_else(|| Error::Git(format!("an answer is not understood: {printed}")))
    }
}
