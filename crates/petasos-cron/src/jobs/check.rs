//! Parts of a job that are looked at before they are kept.

use std::path::PathBuf;

use super::{Author, JobError};
use crate::job::JobBody;

const NAME_MAX: usize = 200;
/// From a tool or over the network.
const PROMPT_MAX: usize = 5000;
/// From a person at the machine.
const PROMPT_MAX_PERSON: usize = 100_000;

/// The name: as given, or the beginning of what is done.
pub(super) fn name(given: Option<String>, body: &JobBody) -> Result<String, JobError> {
    let name = given.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| {
        let words = body.prompt.lines().find(|line| !line.trim().is_empty());
        let words = words.map(str::to_owned);
        let words = words.or_else(|| body.skills.first().cloned()).or_else(|| body.script.clone());
        words.unwrap_or_default().trim().chars().take(50).collect()
    });
    if name.chars().count() > NAME_MAX {
        let what = format!("a name has at most {NAME_MAX} characters");
        return Err(JobError::Invalid(what));
    }
    Ok(name)
}

/// The prompt is not too long.
pub(super) fn prompt(text: &str, author: &Author) -> Result<(), JobError> {
    let away = author.session.is_some() || author.remote;
    let most = if away { PROMPT_MAX } else { PROMPT_MAX_PERSON };
    if text.chars().count() > most {
        return Err(JobError::Invalid(format!("a prompt has at most {most} characters")));
    }
    Ok(())
}

/// The most that a run may cost; zero is without a limit.
pub(super) fn cost(given: Option<f64>, before: Option<f64>) -> Result<Option<f64>, JobError> {
    let Some(given) = given else { return Ok(before) };
    if !given.is_finite() || given < 0.0 {
        let what = "`max_cost` is a number of US dollars, such as 0.50";
        return Err(JobError::Invalid(what.to_owned()));
    }
    Ok((given > 0.0).then_some(given))
}

/// A working directory is absolute and there; an empty one is none.
pub(super) fn workdir(path: PathBuf) -> Result<Option<PathBuf>, JobError> {
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    if !path.is_absolute() || !path.is_dir() {
        let what = format!("`{}` is no folder with its whole path", path.display());
        return Err(JobError::Invalid(what));
    }
    Ok(Some(path))
}
