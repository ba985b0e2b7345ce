//! Makes a copy: what changed since the last one goes into the index, and the index becomes a
//! tree. An unchanged workspace makes no new copy.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use petasos_contract::CallContext;
use serde_json::json;

use crate::checkpoints::Checkpoints;
use crate::error::CheckpointError;
use crate::error::CheckpointError as Error;
use crate::git::{Git, quote};
use crate::look::{Ahead, Look};
use crate::settings::CheckpointSettings;
use crate::store::{Last, Store};

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

/// From so many files on, one pack is faster.
const BULK_FROM: usize = 500;

/// So many copies are made between two looks at the limits.
const PRUNE_EVERY: usize = 8;

/// After so many copies were dropped their objects are swept.
const SWEEP_EVERY: usize = 10;

impl Checkpoints {
    /// Copies the workspace of a call; `why` is told in the list.
    pub async fn take(&self, why: &str, cx: &CallContext) -> Result<Taken, Error> {
        self.take_seen(why, None, cx).await
    }

    /// As [`Self::take`], with a look that was begun ahead.
    pub(crate) async fn take_seen(
        &self,
        why: &str,
        ahead: Option<Ahead>,
        cx: &CallContext,
    ) -> Result<Taken, Error> {
        let seen = match ahead {
            Some(ahead) => ahead.fresh().await,
            None => None,
        };
        let _turn = self.turn.acquire().await.map_err(|error| Error::Git(error.to_string()))?;
        let (store, git) = self.open(cx).await?;
        take(&store, &git, why, seen, cx).await
    }
}

pub(crate) async fn take(
    store: &Store,
    git: &Git,
    why: &str,
    seen: Option<Look>,
    cx: &CallContext,
) -> Result<Taken, CheckpointError> {
    let settings = settings(cx)?;
    let Look { is_first, candidates } = match seen {
        Some(look) => look,
        None => Look::now(store, git, cx).await?,
    };
    let (wanted, left_out) = chosen(&store.workspace, &candidates, &settings)?;
    let last = store.last();
    if let Some(last) = last.as_ref().filter(|_| wanted.count == 0 && left_out.is_empty()) {
        return Ok(Taken::Same { id: last.id() });
    }
    let about = json!({ "why": why, "session": cx.session, "turn": cx.turn }).to_string();
    let before = match &last {
        Some(last) => Before::Known(last),
        None if is_first => Before::Nothing,
        None => Before::Unknown,
    };
    let script = script(&wanted, &before, &quote(&about));
    let printed = match git.run(&script, wanted.names.clone(), cx).await {
        // What we remembered of the last copy was not true: look for it.
        Err(Error::Git(_)) if !matches!(before, Before::Unknown) => {
            let script = self::script(&wanted, &Before::Unknown, &quote(&about));
            git.run(&script, wanted.names, cx).await?
        }
        printed => printed?,
    };
    let printed = String::from_utf8_lossy(&printed);
    match printed.trim().split_once(' ') {
        Some(("same", id)) => Ok(Taken::Same { id: id.to_owned() }),
        Some(("new", id)) => {
            let number: usize = id.parse().unwrap_or(0);
            // Few are kept exactly; of many, a few more do not matter until the next look.
            if settings.max_snapshots < PRUNE_EVERY || number.is_multiple_of(PRUNE_EVERY) {
                prune(git, &settings, cx).await?;
            }
            Ok(Taken::New { id: id.to_owned(), left_out })
        }
        _ => Err(Error::Git(format!("an answer is not understood: {printed}"))),
    }
}

/// What is known of the copy before this one.
enum Before<'a> {
    /// There is none.
    Nothing,
    /// It is this.
    Known(&'a Last),
    /// Git must be asked.
    Unknown,
}

/// Puts the wanted files into the index and makes a copy of it, unless the last one is the same.
/// Each git it need not start is a millisecond that a call does not wait.
fn script(wanted: &Wanted, before: &Before<'_>, about: &str) -> String {
    // Many files at once go into one pack: a file for each would be slower and more to sweep.
    let bulk = if wanted.count > BULK_FROM { "-c core.bigFileThreshold=1 " } else { "" };
    let index = match wanted.count {
        0 => String::new(),
        _ => format!("git {bulk}update-index --add --remove --replace -z --stdin\n"),
    };
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
        "{index}tree=$(git write-tree)\n\
         {find}\n\
         if [ \"$before\" = \"$tree\" ]; then echo same \"$last\"; exit 0; fi\n\
         number=$(printf %06d $number)\n\
         commit=$(printf %s {about} | git commit-tree \"$tree\")\n\
         git update-ref \"refs/petasos/$number\" \"$commit\" ''\n\
         echo \"$number $tree\" > \"$GIT_DIR/last\"\n\
         echo new \"$number\""
    )
}

pub(crate) fn settings(cx: &CallContext) -> Result<CheckpointSettings, Error> {
    cx.settings.section().map_err(|error| Error::Git(error.to_string()))
}

/// What goes into a copy, as git wants to read it.
struct Wanted {
    names: Vec<u8>,
    count: usize,
}

/// What goes into the copy, and what does not.
fn chosen(
    workspace: &Path,
    candidates: &[u8],
    settings: &CheckpointSettings,
) -> Result<(Wanted, Vec<String>), Error> {
    let names: Vec<&[u8]> =
        candidates.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
    if names.len() > settings.max_files {
        return Err(Error::TooMany { most: settings.max_files });
    }
    let mut wanted = Wanted { names: Vec::with_capacity(candidates.len()), count: 0 };
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
            wanted.names.extend_from_slice(name);
            wanted.names.push(0);
            wanted.count += 1;
        }
    }
    Ok((wanted, left_out))
}

/// Drops the oldest copies beyond the limits.
async fn prune(git: &Git, settings: &CheckpointSettings, cx: &CallContext) -> Result<(), Error> {
    let listed = git
        .text(
            "git for-each-ref --sort=refname --format='%(refname)' refs/petasos/\n\
             git count-objects -v",
            cx,
        )
        .await?;
    let refs: Vec<&str> = listed.lines().filter(|line| line.starts_with("refs/")).collect();
    let size = |name: &str| -> u64 {
        let line = listed.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|size| size.trim().parse().ok()).unwrap_or(0)
    };
    let is_large = size("size:") + size("size-pack:") > settings.max_total_size_mb << 10;
    let most = settings.max_snapshots.max(1);
    let surplus = refs.len().saturating_sub(most);
    // A little room, so that objects are swept once in a while and not at every copy.
    let dropped = match (is_large, surplus) {
        (true, _) => (refs.len() / 2).max(surplus),
        (false, 0..SWEEP_EVERY) => return drop_refs(git, refs.get(..surplus), "", cx).await,
        (false, surplus) => surplus,
    };
    let sweep = "git gc -q --prune=now";
    drop_refs(git, refs.get(..dropped), sweep, cx).await
}

async fn drop_refs(
    git: &Git,
    refs: Option<&[&str]>,
    then: &str,
    cx: &CallContext,
) -> Result<(), Error> {
    let refs = refs.unwrap_or_default();
    if refs.is_empty() {
        return Ok(());
    }
    let orders: String = refs.iter().flat_map(|name| ["delete ", name, "\n"]).collect();
    let script = format!("git update-ref --stdin\n{then}");
    git.run(&script, orders.into_bytes(), cx).await.map(drop)
}
