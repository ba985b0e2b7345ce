//! Gives what is in the index a name. Nobody has to wait for this: the bytes are safe, and who
//! finds an index without a name, because a program died over it, names it first.

use petasos_contract::CallContext;

use crate::checkpoints::Entered;
use crate::error::CheckpointError as Error;
use crate::git::quote;
use crate::prune::prune;
use crate::store::Last;
use crate::take::settings;

/// So many copies are made between two looks at the limits.
const PRUNE_EVERY: usize = 8;

/// A copy that has no name yet.
pub(crate) struct Unnamed {
    pub(crate) before: Before,
    /// What the list tells of it.
    pub(crate) about: String,
}

/// What is known of the copy before this one.
#[derive(PartialEq)]
pub(crate) enum Before {
    /// There is none.
    Nothing,
    /// It is this.
    Known(Last),
    /// Git must be asked.
    Unknown,
}

/// The name.
pub(crate) struct Named {
    pub(crate) id: String,
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
        let named = match self.name(&self.before, entered, cx).await {
            // What we remembered of the last copy was not true: look for it.
            Err(Error::Git(_)) if self.before != Before::Unknown => {
                self.name(&Before::Unknown, entered, cx).await?
            }
            named => named?,
        };
        let settings = settings(cx)?;
        let number: usize = named.id.parse().unwrap_or(0);
        // Few are kept exactly; of many, a few more do not matter until the next look.
        let is_time = settings.max_snapshots < PRUNE_EVERY || number.is_multiple_of(PRUNE_EVERY);
        if named.is_new && is_time {
            prune(&entered.git, &settings, cx).await?;
        }
        Ok(named)
    }

    async fn name(
        &self,
        before: &Before,
        entered: &Entered<'_>,
        cx: &CallContext,
    ) -> Result<Named, Error> {
        let printed = entered.git.text(&script(before, &quote(&self.about)), cx).await?;
        let words: Vec<&str> = printed.split_whitespace().collect();
        let (is_new, number, tree) = match words[..] {
            ["same", number, tree] => (false, number, tree),
            ["new", number, tree] => (true, number, tree),
            _ => return Err(Error::Git(format!("an answer is not understood: {printed}"))),
        };
        entered.store.end(&format!("{number} {tree}\n"))?;
        Ok(Named { id: number.to_owned(), is_new })
    }
}

/// Makes a copy of the index, unless the last one is the same; prints which, its name and its tree.
fn script(before: &Before, about: &str) -> String {
    let find = match before {
        Before::Nothing => "last= before= number=1".to_owned(),
        Before::Known(Last { number, tree }) => {
            format!("last={number:06} before={tree} number={}", number + 1)
        }
        Before::Unknown => "last=$(git for-each-ref --sort=-refname --count=1 --format='%(refname:lstrip=2)' refs/petasos/)\n\
                 before=; [ -z \"$last\" ] || before=$(git rev-parse \"refs/petasos/$last^{tree}\")\n\
                 number=$(( $(echo \"${last:-0}\" | sed 's/^0*//;s/^$/0/') + 1 ))"
            .to_owned(),
    };
    format!(
        "tree=$(git write-tree)\n\
         {find}\n\
         if [ \"$before\" = \"$tree\" ]; then echo same \"$last\" \"$tree\"; exit 0; fi\n\
         number=$(printf %06d $number)\n\
         commit=$(printf %s {about} | git commit-tree \"$tree\")\n\
         git update-ref \"refs/petasos/$number\" \"$commit\" ''\n\
         echo new \"$number\" \"$tree\""
    )
}
