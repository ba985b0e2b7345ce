//! The way back: the present state is copied first, so that a way back can itself be undone.

use std::path::{Component, Path, PathBuf};

use petasos_contract::CallContext;
use serde::Serialize;

use crate::checkpoints::Checkpoints;
use crate::draft::Draft;
use crate::error::CheckpointError as Error;
use crate::git::quote;
use crate::store::Store;
use crate::take::{present, take};

/// What a way back changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Files that get back their content, or come back.
    pub written: Vec<String>,
    /// Files that the copy does not have, and that are removed.
    pub deleted: Vec<String>,
}

/// What a way back did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The copy that undoes it.
    pub undo: String,
    /// What it changed.
    pub changes: Changes,
}

impl Changes {
    /// So many files may go without a question.
    const FEW: usize = 3;

    /// Whether more than a few files would be removed: whoever wants that is asked.
    pub fn needs_consent(&self) -> bool {
        self.deleted.len() > Self::FEW
    }

    /// Every file that is touched, in order.
    pub fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> =
            self.written.iter().chain(&self.deleted).map(String::as_str).collect();
        files.sort_unstable();
        files
    }
}

impl Checkpoints {
    /// What [`Self::restore`] would change now; changes nothing.
    pub async fn preview(
        &self,
        id: &str,
        paths: &[String],
        cx: &CallContext,
    ) -> Result<Changes, Error> {
        let (entered, name) = self.enter_for(id, cx).await?;
        let paths = inside(&entered.store, paths)?;
        let draft = present(&entered, cx).await?;
        let changes = changes(&draft, &name, &paths, cx).await?;
        known(&draft, id, &paths, (&changes, cx)).await?;
        Ok(changes)
    }

    /// Brings the workspace back to a copy, or only these paths of it.
    pub async fn restore(
        &self,
        id: &str,
        paths: &[String],
        cx: &CallContext,
    ) -> Result<Restored, Error> {
        let (entered, name) = self.enter_for(id, cx).await?;
        let paths = inside(&entered.store, paths)?;
        let undo = take(&entered, &format!("before a rollback to {id}"), cx).await?;
        let draft = Draft::new(&entered)?;
        let changes = changes(&draft, &name, &paths, cx).await?;
        known(&draft, id, &paths, (&changes, cx)).await?;
        let script = if paths.is_empty() {
            format!("git read-tree --reset -u {name}")
        } else {
            let words: String =
                paths.iter().flat_map(|path| [" ".to_owned(), quote(path)]).collect();
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
        // From here on the index is no longer that of the last copy.
        entered.store.forget_last()?;
        draft.git.run(&script, Vec::new(), cx).await?;
        entered.store.adopt(&draft.name)?;
        Ok(Restored { undo: undo.id().to_owned(), changes })
    }
}

fn inside(store: &Store, paths: &[String]) -> Result<Vec<String>, Error> {
    paths.iter().map(|path| store.inside(path)).collect()
}

/// A path that changes nothing must at least be there: else somebody mistyped it.
async fn known(
    draft: &Draft,
    id: &str,
    paths: &[String],
    (changes, cx): (&Changes, &CallContext),
) -> Result<(), Error> {
    for path in paths {
        let plain = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let wanted: PathBuf = Path::new(path).components().filter(plain).collect();
        // The whole workspace is always there.
        let is_whole = wanted.as_os_str().is_empty();
        if is_whole || changes.files().iter().any(|file| Path::new(file).starts_with(&wanted)) {
            continue;
        }
        let words = ["ls-files", "-z", "--", path.as_str()];
        if draft.git.one(&words, Vec::new(), cx).await?.is_empty() {
            return Err(Error::Absent { path: path.clone(), id: id.to_owned() });
        }
    }
    Ok(())
}

/// What differs between a draft of the present state and a copy.
async fn changes(
    draft: &Draft,
    name: &str,
    paths: &[String],
    cx: &CallContext,
) -> Result<Changes, Error> {
    let mut words =
        vec!["diff-index", "--cached", "-r", "-z", "--name-status", "--no-renames", name, "--"];
    words.extend(paths.iter().map(String::as_str));
    let output = draft.git.one(&words, Vec::new(), cx).await?;
    let mut parts = output.split(|byte| *byte == 0);
    let mut changes = Changes::default();
    while let (Some(status), Some(file)) = (parts.next(), parts.next()) {
        let file = String::from_utf8_lossy(file).into_owned();
        // What is there and not in the copy is new to git.
        if status == b"A" { changes.deleted.push(file) } else { changes.written.push(file) }
    }
    Ok(changes)
}
