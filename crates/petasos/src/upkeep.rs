//! Skills that nobody uses are put away by themselves, when it is time and nothing else went on;
//! and where the configuration says so, a model merges those that say the same.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_contract::wait::Owned;
use petasos_session::Sessions;
use petasos_skills::curator::{self, CuratorSettings, Report};
use petasos_skills::{Library, SkillError};
use petasos_sqlite::FILE_NAME;
use tracing::{info, warn};

use crate::host::Host;

/// How much of a description a model is told.
const ABOUT_CHARS: usize = 200;

/// What a model made of skills that say the same.
pub(crate) struct Merged {
    /// Its last line.
    pub(crate) said: String,
    /// The copy that brings back what was there, where it could write by itself.
    pub(crate) backup: Option<String>,
}

/// Begins it, if it is due; it ends with whoever holds it, and goes on another time.
pub(crate) fn start(host: &Arc<Host>, sessions: &Arc<Sessions>) -> Option<Owned<()>> {
    let now = SystemTime::now();
    let store = host.settings().home().join(FILE_NAME);
    let changed = std::fs::metadata(store).and_then(|found| found.modified());
    // A home without conversations has nothing to keep up.
    let idle = changed.ok().and_then(|at| now.duration_since(at).ok()).unwrap_or(Duration::ZERO);
    if !curator::is_due(host.settings(), idle, now) {
        return None;
    }
    let (host, sessions) = (Arc::clone(host), Arc::clone(sessions));
    Some(Owned::start(async move {
        match tidied(&host, now).await {
            Ok(report) if report.steps.is_empty() => {}
            Ok(report) => info!(steps = report.steps.len(), "skills were kept up"),
            Err(error) => warn!(%error, "skills were not kept up"),
        }
        if !CuratorSettings::of(host.settings()).consolidate {
            return;
        }
        match merged(&host, &sessions).await {
            Ok(Some(merged)) => info!(said = %merged.said, "skills were looked over"),
            Ok(None) => {}
            Err(error) => warn!(%error, "skills were not looked over"),
        }
    }))
}

async fn tidied(host: &Arc<Host>, now: SystemTime) -> Result<Report, SkillError> {
    let library = Library::of(host.ports());
    let cx = host.call_context(Surface::Cli, SessionId::new("curator"));
    let running = tokio::task::spawn_blocking(move || curator::run(&library, &cx, now));
    running.await.unwrap_or_else(|error| Err(SkillError::new("crashed", error.to_string())))
}

/// A model merges skills that models made. What it writes waits for a person, unless they wrote
/// down that nobody needs to agree: then a copy is made first.
pub(crate) async fn merged(
    host: &Arc<Host>,
    sessions: &Arc<Sessions>,
) -> Result<Option<Merged>, String> {
    let library = Library::of(host.ports());
    let cx = host.call_context(Surface::Cli, SessionId::new("curator"));
    let (skills, backup) = {
        let cx = cx.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let skills = curator::mergeable(&library, &cx)?;
            let writes = cx.settings.get("skills.write_approval") == Some(&false.into());
            let is_kept = writes && skills.len() > 1;
            let backup = if is_kept { curator::keep(&cx.settings, &skills)? } else { None };
            Ok::<_, SkillError>((skills, backup))
        });
        looked.await.map_err(|error| error.to_string())?.map_err(|error| error.message)?
    };
    if skills.len() < 2 {
        return Ok(None);
    }
    let line = |skill: &Arc<petasos_skills::Skill>| {
        let about: String = skill.description().chars().take(ABOUT_CHARS).collect();
        format!("- {}: {about}", skill.name)
    };
    let lines: Vec<String> = skills.iter().map(line).collect();
    let words = format!("The skills that models made:\n\n{}", lines.join("\n"));
    let end = sessions.merge_skills(&words, &cx).await?;
    let said = end.text.lines().last().unwrap_or_default().to_owned();
    Ok(Some(Merged { said, backup }))
}
