//! One skill by what somebody calls it.

use std::sync::Arc;

use serde_json::json;

use crate::digest::digest_of;
use crate::discover::{Skill, Survey};
use crate::error::SkillError;
use crate::places::PlaceKind;

const CANDIDATES_MAX: usize = 20;

/// The skill of a name: bare, `category:name`, `category/name`, `plugin:name`.
pub(crate) fn find(survey: &Survey, name: &str) -> Result<Arc<Skill>, SkillError> {
    let name = name.trim();
    check(name)?;
    let exact = survey.all.iter().filter(|skill| skill.name == name);
    let mut found: Vec<&Arc<Skill>> = exact.collect();
    if found.is_empty() {
        found = survey.all.iter().filter(|skill| is_called(skill, name)).collect();
    }
    // A skill of ours stands behind everything else, and is not in anybody's way.
    if found.iter().any(|skill| skill.place != PlaceKind::Bundled) {
        found.retain(|skill| skill.place != PlaceKind::Bundled);
    }
    match found.as_slice() {
        [] => Err(absent(survey, name)),
        [one] => Ok(offered(survey, one)),
        many => one_of(survey, name, many),
    }
}

/// Several of a name are one skill when they hold the same; the first is taken.
fn one_of(survey: &Survey, name: &str, many: &[&Arc<Skill>]) -> Result<Arc<Skill>, SkillError> {
    let digests: Vec<_> = many.iter().map(|skill| digest_of(&skill.folder).ok()).collect();
    let first = digests.first().cloned().flatten();
    if let Some(skill) = many.first().filter(|_| first.is_some())
        && digests.iter().all(|digest| *digest == first)
    {
        return Ok(offered(survey, skill));
    }
    let paths: Vec<String> =
        many.iter().take(CANDIDATES_MAX).map(|skill| skill.folder.display().to_string()).collect();
    let said = format!(
        "several skills are named `{name}`: {}; say which by its category or place, as \
         `category:{name}` or `home:{name}`",
        paths.join(", ")
    );
    Err(SkillError::new("ambiguous", said).with("candidates", json!(paths)))
}

/// The same skill with what it hides, where it is the one that is offered.
fn offered(survey: &Survey, skill: &Arc<Skill>) -> Arc<Skill> {
    let same = survey.skills.iter().find(|other| other.file == skill.file);
    Arc::clone(same.unwrap_or(skill))
}

/// Refuses what leads somewhere else.
fn check(name: &str) -> Result<(), SkillError> {
    let parts = name.split(['/', ':']);
    let odd = |part: &str| part.is_empty() || part == "." || part == "..";
    let plain = !name.contains(['\\', '\0']) && !parts.clone().any(odd) && !name.starts_with('~');
    if plain {
        return Ok(());
    }
    Err(SkillError::bad(format!("`{name}` is no name of a skill; `skills_list` has them")))
}

fn is_called(skill: &Skill, name: &str) -> bool {
    let place = name.replace(':', "/");
    let folder = skill.folder.file_name().unwrap_or_default().to_string_lossy();
    match place.rsplit_once('/') {
        Some((category, last)) => {
            let there = skill.shelf() == category || skill.place.as_str() == category;
            there && (skill.name == last || folder == last)
        }
        None => folder == place,
    }
}

fn absent(survey: &Survey, name: &str) -> SkillError {
    let bare = name.rsplit([':', '/']).next().unwrap_or(name);
    let held = survey.withheld.iter().find(|held| held.name == name || held.name == bare);
    if let Some(held) = held {
        let kind = match held.why {
            crate::discover::Why::Platform(_) => "unsupported",
            _ => "denied",
        };
        return SkillError::new(
            kind,
            format!("skill `{}` is not offered: {}", held.name, held.reason()),
        );
    }
    let near: Vec<&str> = survey
        .skills
        .iter()
        .filter(|skill| skill.name.contains(bare) || bare.contains(&skill.name))
        .map(|skill| skill.name.as_str())
        .take(5)
        .collect();
    let hint = if near.is_empty() {
        "`skills_list` or `petasos skills list` shows them".to_owned()
    } else {
        format!("near to it: {}", near.join(", "))
    };
    SkillError::missing(format!("no skill is named `{name}`; {hint}"))
}
