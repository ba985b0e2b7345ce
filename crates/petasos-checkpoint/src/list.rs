//! The copies of a workspace, and what changed since one of them.

use std::time::{Duration, SystemTime};

use petasos_contract::CallContext;
use serde::Serialize;
use serde_json::Value;

use crate::checkpoints::{Checkpoints, Entered};
use crate::error::CheckpointError as Error;
use crate::store;
use crate::take::present;

/// One copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    /// Its name.
    pub id: String,
    /// When it was made.
    pub made: SystemTime,
    /// Before what.
    pub why: String,
    /// For which conversation.
    pub session: String,
    /// In which turn.
    pub turn: String,
}

impl Checkpoints {
    /// The copies of a call's workspace, the newest first.
    pub async fn list(&self, cx: &CallContext) -> Result<Vec<Checkpoint>, Error> {
        if !self.open(cx).await?.0.exists() {
            return Ok(Vec::new());
        }
        let entered = self.enter(cx).await?;
        let listed = entered
            .git
            .text(
                "git for-each-ref --sort=-refname \
                 --format='%(refname:lstrip=2) %(committerdate:unix) %(contents)%00' refs/petasos/",
                cx,
            )
            .await?;
        Ok(listed.split('\0').filter_map(|row| parsed(row.trim())).collect())
    }

    /// What changed in the workspace since a copy, as a unified diff.
    pub async fn diff(&self, id: &str, cx: &CallContext) -> Result<String, Error> {
        let (entered, name) = self.enter_for(id, cx).await?;
        // The present state goes into a draft: showing makes no copy.
        let draft = present(&entered, cx).await?;
        let words = ["diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv", &name];
        let diff = draft.git.one(&words, Vec::new(), cx).await?;
        Ok(String::from_utf8_lossy(&diff).into_owned())
    }

    /// The store with a copy that a person named, and the copy's full name.
    pub(crate) async fn enter_for(
        &self,
        id: &str,
        cx: &CallContext,
    ) -> Result<(Entered, String), Error> {
        let unknown = || Error::Unknown(id.to_owned());
        let number: u32 = id.trim().parse().map_err(|_| unknown())?;
        if !self.open(cx).await?.0.exists() {
            return Err(unknown());
        }
        let entered = self.enter(cx).await?;
        let name = format!("refs/petasos/{}", store::id(number));
        let script = format!("git rev-parse -q --verify {name} || true");
        let found = entered.git.text(&script, cx).await?;
        if found.trim().is_empty() { Err(unknown()) } else { Ok((entered, name)) }
    }
}

fn parsed(row: &str) -> Option<Checkpoint> {
    let (id, rest) = row.split_once(' ')?;
    let (seconds, about) = rest.split_once(' ')?;
    let about: Value = serde_json::from_str(about.trim()).unwrap_or_default();
    let text = |key: &str| about.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Checkpoint {
        id: id.to_owned(),
        made: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.parse().ok()?),
        why: text("why"),
        session: text("session"),
        turn: text("turn"),
    })
}
