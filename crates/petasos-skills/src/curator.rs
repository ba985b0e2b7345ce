//! The upkeep of skills: what nobody has used for long is called stale, then put away; every change
//! can be taken back. Only skills that a model made are put away, and ours where
//! `curator.prune_builtins` says so; never what a person wrote, installed or pinned. Where
//! `curator.consolidate` is on, a model merges those that models made.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use petasos_contract::{CallContext, Settings};
use petasos_fs::Record as File;
use serde::{Deserialize, Serialize};

use crate::change::archived;
use crate::digest::digest_of;
use crate::discover::Skill;
use crate::error::SkillError;
use crate::library::Library;
use crate::lock;
use crate::places::{self, PlaceKind};
use crate::usage::{self, Record, Usage};

const DAY: u64 = 86_400;

/// What the configuration says about the upkeep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CuratorSettings {
    /// How long after the last time it happens by itself, if it does.
    pub interval: Option<Duration>,
    /// How long nothing else must have happened.
    pub min_idle: Duration,
    /// After so many days without use a skill is stale.
    pub stale_after_days: u64,
    /// After so many days without use it is put away.
    pub archive_after_days: u64,
    /// Whether a model merges skills that say the same.
    pub consolidate: bool,
    /// Whether skills that come with the program are switched off, too.
    pub prune_builtins: bool,
    /// How many copies are kept; none are made with zero.
    pub backups: usize,
}

impl CuratorSettings {
    /// From the snapshot.
    pub fn of(settings: &Settings) -> Self {
        let section = settings.get("curator");
        let number = |key: &str, usual: u64| {
            section.and_then(|curator| curator.get(key)?.as_u64()).unwrap_or(usual)
        };
        let flag = |key: &str, usual: bool| {
            section.and_then(|curator| curator.get(key)?.as_bool()).unwrap_or(usual)
        };
        let backup = section.and_then(|curator| curator.get("backup"));
        let is_kept = backup.and_then(|it| it.get("enabled")?.as_bool()).unwrap_or(true);
        let keep = backup.and_then(|it| it.get("keep")?.as_u64()).unwrap_or(5);
        Self {
            interval: flag("enabled", true)
                .then(|| Duration::from_secs(number("interval_hours", 168) * 3600)),
            min_idle: Duration::from_secs(number("min_idle_hours", 2) * 3600),
            stale_after_days: number("stale_after_days", 30).max(1),
            archive_after_days: number("archive_after_days", 90).max(1),
            consolidate: flag("consolidate", false),
            prune_builtins: flag("prune_builtins", false),
            backups: if is_kept { usize::try_from(keep).unwrap_or(5).clamp(1, 100) } else { 0 },
        }
    }
}

/// What is known of the upkeep itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Upkeep {
    /// When it last happened.
    pub last_run_at: Option<String>,
    /// Whether somebody stopped it.
    pub paused: bool,
}

/// What becomes of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Move {
    /// It is used again.
    Active,
    /// It is called stale.
    Stale,
    /// It is put away.
    Archive,
    /// It comes with the program and is switched off.
    Disable,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The skill.
    pub name: String,
    /// What becomes of it.
    pub becomes: Move,
    /// When somebody last had to do with it.
    pub last_touched: Option<String>,
    #[serde(skip)]
    folder: PathBuf,
}

/// What was done.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Each change.
    pub steps: Vec<Step>,
    /// The copy that brings back what was there.
    pub backup: Option<String>,
}

/// Whether it is time, given when sessions were last at work.
pub fn is_due(settings: &Settings, idle: Duration, now: SystemTime) -> bool {
    let wanted = CuratorSettings::of(settings);
    let known: Upkeep = file(settings).read().unwrap_or_default();
    let last = known.last_run_at.as_deref().and_then(usage::seconds);
    let since = last.map(|last| seconds_of(now).saturating_sub(last));
    let Some(interval) = wanted.interval else { return false };
    !known.paused
        && idle >= wanted.min_idle
        && since.is_none_or(|since| since >= interval.as_secs())
}

/// What would be done now; changes nothing.
pub fn plan(library: &Library, cx: &CallContext, now: SystemTime) -> Result<Vec<Step>, SkillError> {
    let settings = CuratorSettings::of(&cx.settings);
    let hub = lock::read(&cx.settings)?.installed;
    let usage = Usage::of(&cx.settings);
    let today = seconds_of(now);
    let mut steps = Vec::new();
    for skill in &library.survey(cx).skills {
        let nothing = Record::default();
        let record = usage.get(&skill.name).unwrap_or(&nothing);
        if record.pinned || hub.contains_key(&skill.name) {
            continue;
        }
        let touched = record.last_touched().and_then(usage::seconds);
        let Some(touched) = touched.or_else(|| changed(skill)) else { continue };
        let days = today.saturating_sub(touched) / DAY;
        let made_by_model = record.created_by.as_deref() == Some("agent");
        let becomes = match skill.place {
            PlaceKind::Home if made_by_model && days >= settings.archive_after_days => {
                Some(Move::Archive)
            }
            PlaceKind::Bundled
                if settings.prune_builtins
                    && record.created_at.is_some()
                    && days >= settings.archive_after_days =>
            {
                Some(Move::Disable)
            }
            PlaceKind::Home if days >= settings.stale_after_days => {
                (record.state.as_deref() != Some("stale")).then_some(Move::Stale)
            }
            PlaceKind::Home => (record.state.as_deref() == Some("stale")).then_some(Move::Active),
            _ => None,
        };
        steps.extend(becomes.map(|becomes| Step {
            name: skill.name.clone(),
            becomes,
            last_touched: record.last_touched().map(str::to_owned),
            folder: skill.folder.clone(),
        }));
    }
    Ok(steps)
}

/// Does it: a copy first, then each step.
pub fn run(library: &Library, cx: &CallContext, now: SystemTime) -> Result<Report, SkillError> {
    let steps = plan(library, cx, now)?;
    let settings = &cx.settings;
    let moves = steps.iter().any(|step| matches!(step.becomes, Move::Archive | Move::Disable));
    let backup = if moves { stepped(settings, &steps)? } else { None };
    for step in &steps {
        if step.becomes == Move::Archive {
            archived(&places::home(settings), &step.folder, &step.name)?;
        }
        Usage::edit(settings, &step.name, |record| {
            let state = match step.becomes {
                Move::Active => "active",
                Move::Stale => "stale",
                Move::Archive => "archived",
                Move::Disable => "disabled",
            };
            record.state = Some(state.to_owned());
            if step.becomes == Move::Archive {
                record.archived_at = Some(usage::at(seconds_of(now)));
            }
        })?;
    }
    edit(settings, |known| known.last_run_at = Some(usage::at(seconds_of(now))))?;
    Ok(Report { steps, backup })
}

/// Skills that a model may merge: models made them, nobody pinned or installed them.
pub fn mergeable(library: &Library, cx: &CallContext) -> Result<Vec<Arc<Skill>>, SkillError> {
    let hub = lock::read(&cx.settings)?.installed;
    let usage = Usage::of(&cx.settings);
    let may = |skill: &&Arc<Skill>| {
        let record = usage.get(&skill.name);
        let by_model = record.is_some_and(|record| {
            record.created_by.as_deref() == Some("agent") && !record.pinned && !record.is_off()
        });
        skill.place == PlaceKind::Home && by_model && !hub.contains_key(&skill.name)
    };
    Ok(library.survey(cx).skills.iter().filter(may).cloned().collect())
}

/// A copy of skills that are about to be merged: `rollback` makes them what they are now.
pub fn keep(settings: &Settings, skills: &[Arc<Skill>]) -> Result<Option<String>, SkillError> {
    let usage = Usage::of(settings);
    let one = |skill: &Arc<Skill>| {
        let kept = Kept {
            below: below(settings, &skill.folder, &skill.name),
            is_whole: true,
            record: usage.get(&skill.name).cloned().unwrap_or_default(),
            name: skill.name.clone(),
            ..Kept::default()
        };
        (kept, skill.folder.clone())
    };
    back_up(settings, skills.iter().map(one).collect())
}

/// What is known of the upkeep.
pub fn status(settings: &Settings) -> Upkeep {
    file(settings).read().unwrap_or_default()
}

/// Stops it, or lets it go on.
pub fn pause(settings: &Settings, paused: bool) -> Result<(), SkillError> {
    edit(settings, |known| known.paused = paused)
}

/// The copies that there are, oldest first.
pub fn backups(settings: &Settings) -> Vec<String> {
    let entries = fs::read_dir(shelf(settings)).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Brings back what a copy holds; the last one without a name. A skill that is there again stays.
pub fn rollback(settings: &Settings, name: Option<&str>) -> Result<Vec<String>, SkillError> {
    let all = backups(settings);
    let name = match name {
        Some(name) => all.iter().find(|known| *known == name),
        None => all.last(),
    };
    let name = name.ok_or_else(|| SkillError::missing("there is no copy to bring back"))?;
    let from = shelf(settings).join(name);
    let kept: Vec<Kept> = File::at(from.join("moved.json"))
        .read()
        .map_err(|error| SkillError::disk("read", &from, &error))?;
    let mut back = Vec::new();
    for one in kept {
        let to = places::home(settings).join(&one.below);
        let copied = from.join("skills").join(&one.name);
        if one.is_whole && to.exists() && digest_of(&to)? != digest_of(&copied)? {
            archived(&places::home(settings), &to, &one.name)?;
        }
        if (one.becomes_archive || one.is_whole) && !to.exists() {
            copy(&copied, &to)?;
        }
        Usage::edit(settings, &one.name, |record| *record = one.record.clone())?;
        back.push(one.name);
    }
    Ok(back)
}

/// What a copy says of one skill.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    name: String,
    below: PathBuf,
    becomes_archive: bool,
    /// It was about to be changed: what it was comes back, whatever is there.
    is_whole: bool,
    record: Record,
}

/// A copy before the steps of a run.
fn stepped(settings: &Settings, steps: &[Step]) -> Result<Option<String>, SkillError> {
    let usage = Usage::of(settings);
    let one = |step: &Step| {
        let kept = Kept {
            name: step.name.clone(),
            below: below(settings, &step.folder, &step.name),
            becomes_archive: step.becomes == Move::Archive,
            is_whole: false,
            record: usage.get(&step.name).cloned().unwrap_or_default(),
        };
        (kept, step.folder.clone())
    };
    back_up(settings, steps.iter().map(one).collect())
}

fn below(settings: &Settings, folder: &Path, name: &str) -> PathBuf {
    let below = folder.strip_prefix(places::home(settings)).map(Path::to_owned);
    below.unwrap_or_else(|_| PathBuf::from(name))
}

fn back_up(
    settings: &Settings,
    skills: Vec<(Kept, PathBuf)>,
) -> Result<Option<String>, SkillError> {
    let keep = CuratorSettings::of(settings).backups;
    if keep == 0 {
        return Ok(None);
    }
    let name = usage::now().replace(':', "");
    let shelf = shelf(settings);
    let mut at = shelf.join(&name);
    for again in 1..100 {
        if !at.exists() {
            break;
        }
        at = shelf.join(format!("{name}-{again:02}"));
    }
    let mut kept = Vec::new();
    for (one, folder) in skills {
        if one.becomes_archive || one.is_whole {
            copy(&folder, &at.join("skills").join(&one.name))?;
        }
        kept.push(one);
    }
    fs::create_dir_all(&at).map_err(|error| SkillError::disk("written", &at, &error))?;
    let list = File::at(at.join("moved.json"));
    list.edit(|all: &mut Vec<Kept>| *all = kept)
        .map_err(|error| SkillError::disk("written", &at, &error))?;
    let all = backups(settings);
    for old in all.iter().take(all.len().saturating_sub(keep)) {
        let old = shelf.join(old);
        fs::remove_dir_all(&old).map_err(|error| SkillError::disk("removed", &old, &error))?;
    }
    Ok(Some(at.file_name().unwrap_or_default().to_string_lossy().into_owned()))
}

fn copy(from: &Path, to: &Path) -> Result<(), SkillError> {
    for (name, path) in crate::digest::files_of(from)? {
        let target = to.join(&name);
        let above = target.parent().unwrap_or(to);
        fs::create_dir_all(above).map_err(|error| SkillError::disk("written", above, &error))?;
        fs::copy(&path, &target).map_err(|error| SkillError::disk("written", &target, &error))?;
    }
    Ok(())
}

/// When the main file was changed, for a skill that nobody has counted yet.
fn changed(skill: &Skill) -> Option<u64> {
    let time = fs::metadata(&skill.file).ok()?.modified().ok()?;
    Some(seconds_of(time))
}

fn seconds_of(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn shelf(settings: &Settings) -> PathBuf {
    places::home(settings).join(".curator/backups")
}

fn file(settings: &Settings) -> File {
    File::at(places::home(settings).join(".curator/state.json"))
}

fn edit(settings: &Settings, change: impl FnOnce(&mut Upkeep)) -> Result<(), SkillError> {
    let file = file(settings);
    let folder = places::home(settings).join(".curator");
    fs::create_dir_all(&folder).map_err(|error| SkillError::disk("written", &folder, &error))?;
    file.edit(change).map_err(|error| SkillError::disk("written", file.path(), &error))
}
