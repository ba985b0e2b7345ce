//! The way back: the present state is copied first, so that a way back can itself be undone.

use petasos_contract::CallContext;

use crate::checkpoints::{Checkpoints, Entered};
use crate::error::CheckpointError as Error;
use crate::git::quote;
use crate::take::take;

/// What a way back did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The copy that undoes it.
    pub undo: String,
    /// Files that changed, were made or were removed.
    pub files: Vec<String>,
}

impl Checkpoints {
    /// Brings the workspace back to a copy, or only these paths of it.
    pub async fn restore(
        &self,
        id: &str,
        paths: &[String],
        cx: &CallContext,
    ) -> Result<Restored, Error> {
        let (entered, name) = self.enter_for(id, cx).await?;
        let Entered { store, git, .. } = &entered;
        let undo = take(&entered, &format!("before a rollback to {id}"), cx).await?;
        let mut words = String::new();
        for path in paths {
            words.push(' ');
            words.push_str(&quote(&store.inside(path)?));
        }
        let changed =
            format!("git diff-index --cached -r -z --name-only --no-renames {name} --{words}");
        let restored = if paths.is_empty() {
            format!("git read-tree --reset -u {name}")
        } else {
            // What the copy has comes back; what it has not goes.
            format!(
                "for path in{words}; do\n\
                 git ls-files -z -- \"$path\" | xargs -0 rm -f --\n\
                 git ls-files -z -- \"$path\" | git update-index --force-remove -z --stdin\n\
                 git ls-tree -r --full-tree {name} -- \"$path\" | git update-index --index-info\n\
                 git ls-files -z -- \"$path\" | git checkout-index -f -u -z --stdin\n\
                 done"
            )
        };
        let files = git.run(&changed, Vec::new(), cx).await?;
        // The index is no longer that of the last copy.
        let restored = format!("rm -f \"$GIT_DIR/last\"\n{restored}");
        git.run(&restored, Vec::new(), cx).await?;
        let files = files
            .split(|byte| *byte == 0)
            .filter(|file| !file.is_empty())
            .map(|file| String::from_utf8_lossy(file).into_owned())
            .collect();
        Ok(Restored { undo: undo.id().to_owned(), files })
    }
}
