//! Changes that wait for a person: one file each below `pending/skills` of the home.

use std::fs;
use std::path::PathBuf;

use petasos_contract::{CallContext, Settings};
use petasos_fs::Mode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::change::Change;
use crate::digest::sha256;
use crate::error::SkillError;
use crate::usage::{self, Usage};

/// More than a person would ever decide about.
const WAITING_MAX: usize = 200;

/// A change that waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pending {
    /// What a person calls it by.
    pub id: String,
    /// Why it was not made at once.
    pub why: String,
    /// Whether words from outside were in the conversation.
    #[serde(default)]
    pub foreign: bool,
    /// The conversation that wants it.
    pub session: String,
    /// Since when.
    pub created_at: String,
    /// The change.
    pub change: Change,
}

impl Pending {
    /// Keeps a change for a person; what the model is told.
    pub fn stage(change: Change, why: &str, cx: &CallContext) -> Result<Value, SkillError> {
        let settings = &cx.settings;
        if all(settings).len() >= WAITING_MAX {
            let said = "too many changes of skills wait for the user: /skills pending";
            return Err(SkillError::new("busy", said));
        }
        let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = format!("{:?} {} {}", nanos, change.name, cx.call.as_str());
        let id: String = sha256(seed.as_bytes()).chars().take(8).collect();
        let pending = Self {
            id: id.clone(),
            why: why.to_owned(),
            foreign: cx.words.heat() != petasos_contract::Heat::Clean,
            session: cx.session.as_str().to_owned(),
            created_at: usage::now(),
            change,
        };
        let text = serde_json::to_vec_pretty(&pending)
            .map_err(|error| SkillError::new("upstream", error.to_string()))?;
        let path = folder(settings).join(format!("{id}.json"));
        petasos_fs::write(&path, &text, Mode::Exactly(0o600))
            .map_err(|error| SkillError::disk("written", &path, &error))?;
        let message = format!(
            "The change waits for the user ({why}): `/skills approve {id}` makes it. Do not try again."
        );
        Ok(json!({ "success": true, "staged": true, "pending_id": id, "message": message }))
    }

    /// Makes the change, byte for byte as it was staged.
    pub fn approve(settings: &Settings, id: &str) -> Result<Self, SkillError> {
        let pending = get(settings, id)?;
        pending.change.apply(settings)?;
        if pending.foreign && pending.change.action != "delete" {
            let place = format!("conversation {}", pending.session);
            Usage::edit(settings, &pending.change.name, |record| {
                record.other.insert("from".to_owned(), place.into());
            })?;
        }
        remove(settings, &pending.id)?;
        Ok(pending)
    }

    /// Drops the change.
    pub fn reject(settings: &Settings, id: &str) -> Result<Self, SkillError> {
        let pending = get(settings, id)?;
        remove(settings, &pending.id)?;
        Ok(pending)
    }

    /// One line.
    pub fn line(&self) -> String {
        let Change { action, name, .. } = &self.change;
        format!("{} {action} `{name}` since {} ({})", self.id, self.created_at, self.why)
    }
}

/// Those that wait, the oldest first.
pub fn all(settings: &Settings) -> Vec<Pending> {
    let entries = fs::read_dir(folder(settings)).into_iter().flatten().flatten();
    let read = |path: PathBuf| {
        let ours = path.extension().is_some_and(|ending| ending == "json");
        let text = ours.then(|| fs::read(&path).ok()).flatten()?;
        serde_json::from_slice::<Pending>(&text).ok()
    };
    let mut all: Vec<Pending> = entries.filter_map(|entry| read(entry.path())).collect();
    all.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
    all
}

/// The one of a name, or of the beginning of one.
pub fn get(settings: &Settings, id: &str) -> Result<Pending, SkillError> {
    let mut fitting =
        all(settings).into_iter().filter(|one| !id.is_empty() && one.id.starts_with(id));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => {
            Err(SkillError::new("ambiguous", format!("several changes begin with `{id}`")))
        }
        (None, _) => Err(SkillError::missing(format!(
            "no change `{id}` waits: `/skills pending` lists them"
        ))),
    }
}

fn remove(settings: &Settings, id: &str) -> Result<(), SkillError> {
    let path = folder(settings).join(format!("{id}.json"));
    fs::remove_file(&path).map_err(|error| SkillError::disk("removed", &path, &error))
}

fn folder(settings: &Settings) -> PathBuf {
    settings.home().join("pending/skills")
}
