//! Makes a copy, in two halves: what changed since the last one goes into a draft, and then the
//! draft gets a name. A call waits for the first half only. An unchanged workspace makes no new
//! copy, and an attempt that is cut short makes none.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use petasos_contract::CallContext;
use petasos_contract::event::Event;
use serde_json::json;

use crate::checkpoints::{Checkpoints, Entered};
use crate::draft::{Draft, Names};
use crate::error::CheckpointError as Error;
use crate::look::Look;
use crate::name::Unnamed;
use crate::seen::Seen;
use crate::settings::CheckpointSettings;
use crate::store::{Store, id};

/// A copy was made, or there was one already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// A new one.
    New {
        /// Its name.
        id: String,
        /// What is not in it, for people.
        left_out: Vec<String>,
    },
    /// Nothing has changed since this one.
    Same {
        /// Its name.
        id: String,
    },
}

impl Taken {
    /// The copy that holds the present state.
    pub fn id(&self) -> &str {
        match self {
            Self::New { id, .. } | Self::Same { id } => id,
        }
    }
}

/// A copy of so many files is announced.
const ANNOUNCED_FROM: usize = 5_000;

/// A workspace whose bytes are safe.
pub(crate) enum Staged {
    /// Nothing has changed since this copy.
    Same { id: String },
    /// They are in a draft, as a copy that has no name yet; and what is not in it, for people.
    New { unnamed: Unnamed, left_out: Vec<String> },
}

impl Checkpoints {
    /// Copies the workspace of a call; `why` is shown in the list.
    pub async fn take(&self, why: &str, cx: &CallContext) -> Result<Taken, Error> {
        take(&self.enter(cx).await?, why, cx).await
    }
}

/// Both halves.
pub(crate) async fn take(entered: &Entered, why: &str, cx: &CallContext) -> Result<Taken, Error> {
    match stage(entered, why, None, cx).await? {
        Staged::Same { id } => Ok(Taken::Same { id }),
        Staged::New { unnamed, left_out } => {
            let named = unnamed.finish(entered, cx).await?;
            let id = id(named.number);
            Ok(if named.is_new { Taken::New { id, left_out } } else { Taken::Same { id } })
        }
    }
}

/// The first half: afterwards the workspace may change. With what was seen ahead, perhaps.
pub(crate) async fn stage(
    entered: &Entered,
    why: &str,
    ahead: Option<Look>,
    cx: &CallContext,
) -> Result<Staged, Error> {
    let Entered { store, git, .. } = entered;
    let settings = settings(cx)?;
    let Look { is_first, candidates, seen } = match ahead {
        Some(look) => look,
        None => Look::now(store, git, cx).await?,
    };
    let (wanted, left_out) = chosen(&store.workspace, &candidates, &settings)?;
    let seen = seen.filter(|_| left_out.is_empty());
    let last = match store.last() {
        Some(last) if wanted.count == 0 => {
            keep(seen, store);
            return Ok(Staged::Same { id: id(last) });
        }
        None if is_first => Some(0),
        last => last,
    };
    if wanted.count >= ANNOUNCED_FROM {
        let text = format!("copying {} files for a checkpoint; later ones are quick", wanted.count);
        cx.events.emit(|| Event::Notice { text });
    }
    let about = json!({ "why": why, "session": cx.session, "turn": cx.turn }).to_string();
    let draft = Draft::new(entered)?;
    draft.fill(wanted, cx).await?;
    let unnamed = Unnamed { last, about, draft }.promise(entered)?;
    keep(seen, store);
    Ok(Staged::New { unnamed, left_out })
}

/// A draft of the present state that becomes no copy.
pub(crate) async fn present(entered: &Entered, cx: &CallContext) -> Result<Draft, Error> {
    let Entered { store, git, .. } = entered;
    let look = Look::now(store, git, cx).await?;
    let (wanted, _) = chosen(&store.workspace, &look.candidates, &settings(cx)?)?;
    let draft = Draft::new(entered)?;
    draft.fill(wanted, cx).await?;
    Ok(draft)
}

/// What was seen saves work the next time; without it there is only more to do.
fn keep(seen: Option<Seen>, store: &Store) {
    if let Some(Err(error)) = seen.map(|seen| seen.keep(store)) {
        tracing::debug!(%error, "what a workspace looks like was not written down");
    }
}

pub(crate) fn settings(cx: &CallContext) -> Result<CheckpointSettings, Error> {
    cx.settings.section().map_err(|error| Error::Git(error.to_string()))
}

/// What goes into the copy, and what does not.
fn chosen(
    workspace: &Path,
    candidates: &[u8],
    settings: &CheckpointSettings,
) -> Result<(Names, Vec<String>), Error> {
    let names: Vec<&[u8]> =
        candidates.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
    if names.len() > settings.max_files {
        return Err(Error::TooMany { most: settings.max_files });
    }
    let mut wanted = Names { bytes: Vec::with_capacity(candidates.len()), count: 0 };
    let mut left_out = Vec::new();
    for name in names {
        let path = workspace.join(std::ffi::OsStr::from_bytes(name));
        let shown = || String::from_utf8_lossy(name).into_owned();
        let size = fs::symlink_metadata(&path).map_or(0, |known| known.len());
        if name.ends_with(b"/") {
            left_out.push(format!("{} (a repository of its own)", shown()));
        } else if size > settings.max_file_size_mb << 20 {
            left_out.push(format!("{} ({} MB)", shown(), size >> 20));
        } else {
            wanted.bytes.extend_from_slice(name);
            wanted.bytes.push(0);
            wanted.count += 1;
        }
    }
    Ok((wanted, left_out))
}
