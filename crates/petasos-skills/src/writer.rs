//! From what somebody wants of a skill to the change that does it, or why it may not be.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_contract::context::Principal;
use petasos_contract::taint::{Carry, Heat};
use petasos_contract::{CallContext, Settings};
use serde_json::{Value, json};

use crate::change::{Change, FileStep};
use crate::digest::{files_of, sha256};
use crate::discover::{Skill, Survey};
use crate::error::SkillError;
use crate::format::{self, MAIN_FILE, SUPPORT};
use crate::library::Library;
use crate::places::{self, PlaceKind};
use crate::usage::Usage;
use crate::{lock, lookup, scan, view};

const FILE_BYTES_MAX: usize = 1 << 20;

/// What somebody wants of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// A new skill.
    Create {
        /// The whole of `SKILL.md`.
        content: String,
        /// A folder for it.
        category: Option<String>,
    },
    /// A new text for one of its files; for `SKILL.md` without a path.
    Put {
        /// In the words of the tool: `edit`, `patch` or `write_file`.
        action: &'static str,
        /// The file.
        file: Option<String>,
        /// Its new text.
        content: String,
    },
    /// One of its files goes.
    RemoveFile {
        /// The file.
        file: String,
    },
    /// All of it goes.
    Delete {
        /// The skill that takes its place.
        absorbed_into: Option<String>,
    },
}

/// A file of a skill that may be changed.
#[derive(Debug)]
pub struct Editable {
    /// The skill.
    pub skill: Arc<Skill>,
    /// The file's text; nothing where it is new.
    pub text: Option<String>,
    /// Its path below the skill's folder.
    pub file: String,
}

impl Library {
    /// A file of a skill, `SKILL.md` without a path, for whoever wants to change part of it.
    pub fn editable(
        &self,
        name: &str,
        file: Option<&str>,
        cx: &CallContext,
    ) -> Result<Editable, SkillError> {
        let skill = changeable(&self.survey(cx), name)?;
        let file = match file.filter(|file| !file.is_empty()) {
            None | Some(MAIN_FILE) => MAIN_FILE.to_owned(),
            Some(file) => support(file)?,
        };
        let path = skill.folder.join(&file);
        let text = match view::inside(&skill, &file) {
            Ok(path) => Some(fs::read_to_string(&path).map_err(|error| {
                SkillError::new("unsupported", format!("`{file}` is no text: {error}"))
            })?),
            Err(_) if fs::symlink_metadata(&path).is_err() => None,
            Err(error) => return Err(error),
        };
        Ok(Editable { skill, text, file })
    }

    /// The change that does what somebody wants, with every rule about it held.
    pub fn change(&self, name: &str, wish: Wish, cx: &CallContext) -> Result<Change, SkillError> {
        let survey = self.survey(cx);
        if cx.principal == Principal::Review {
            self.reviewed(&survey, name, &wish, cx)?;
        }
        let change = match wish {
            Wish::Create { content, category } => {
                create(&survey, name, content, category.as_deref(), &cx.settings)
            }
            Wish::Put { action, file, content } => {
                let skill = changeable(&survey, name)?;
                let file = match file.as_deref().filter(|file| !file.is_empty()) {
                    None | Some(MAIN_FILE) if action != "write_file" => MAIN_FILE.to_owned(),
                    None => return Err(SkillError::bad("`file_path` says which file to write")),
                    Some(file) => support(file)?,
                };
                if file == MAIN_FILE {
                    keeps_format(&content, &skill)?;
                } else if content.len() > FILE_BYTES_MAX {
                    return Err(too_large());
                }
                stepped(&skill, action, file, Some(content), &cx.settings)
            }
            Wish::RemoveFile { file } => {
                let skill = changeable(&survey, name)?;
                let file = support(&file)?;
                view::inside(&skill, &file)?;
                stepped(&skill, "remove_file", file, None, &cx.settings)
            }
            Wish::Delete { absorbed_into } => delete(&survey, name, absorbed_into, &cx.settings),
        }?;
        guarded(change, cx)
    }
}

impl Library {
    /// Whoever looks over a turn touches skills that models made, and files that it has read.
    fn reviewed(
        &self,
        survey: &Survey,
        name: &str,
        wish: &Wish,
        cx: &CallContext,
    ) -> Result<(), SkillError> {
        if matches!(wish, Wish::Create { .. }) {
            return Ok(());
        }
        let skill = changeable(survey, name)?;
        let usage = Usage::of(&cx.settings);
        let made = usage.get(&skill.name).and_then(|record| record.created_by.clone());
        if made.as_deref() != Some("agent") || lock::is_installed(&cx.settings, &skill.name) {
            let said = format!("skill `{}` was made by a person: leave it as it is", skill.name);
            return Err(SkillError::denied(said));
        }
        let file = match wish {
            Wish::Put { file, .. } => file.as_deref().filter(|file| !file.is_empty()),
            Wish::RemoveFile { file } => Some(file.as_str()),
            Wish::Create { .. } | Wish::Delete { .. } => None,
        };
        let file = file.unwrap_or(MAIN_FILE);
        let is_new = fs::symlink_metadata(skill.folder.join(file)).is_err();
        if is_new || self.has_viewed(&skill.name, file, cx) {
            return Ok(());
        }
        Err(SkillError::denied(format!("read `{file}` of `{}` with skill_view first", skill.name)))
    }
}

/// Nothing dangerous is written: looked for after text from outside was read, and always where
/// `skills.guard_agent_created` is on.
fn guarded(change: Change, cx: &CallContext) -> Result<Change, SkillError> {
    let always = cx.settings.get("skills.guard_agent_created") == Some(&Value::Bool(true));
    if cx.words.heat() == petasos_contract::Heat::Clean && !always {
        return Ok(change);
    }
    let text = |step: &FileStep| Some((step.path.clone(), step.after.clone()?.into_bytes()));
    let report = scan::scan(&change.files.iter().filter_map(text).collect());
    if report.verdict() < scan::Verdict::Dangerous {
        return Ok(change);
    }
    let what = report.findings.first().map_or("", |finding| finding.what.as_str());
    Err(SkillError::new("blocked_policy", format!("no skill needs this: {what}"))
        .with("findings", json!(report.findings)))
}

/// Why a change is kept for a person to decide instead of being made. After the turn that read
/// text from outside that is so only for what repeats it.
pub fn staged_because(change: &Change, cx: &CallContext) -> Option<&'static str> {
    if cx.principal == Principal::Person {
        return None;
    }
    let approval = cx.settings.get("skills.write_approval");
    if approval == Some(&Value::Bool(true)) {
        return Some("`skills.write_approval` is on");
    }
    let clean = cx.words.heat() == Heat::Clean;
    if cx.principal == Principal::Review {
        // Only who wrote down that nobody needs to agree is not asked.
        let waived = clean && approval == Some(&Value::Bool(false));
        return (!waived).then_some("a model that nobody asked wants it");
    }
    let texts: Vec<&str> = change.files.iter().filter_map(|file| file.after.as_deref()).collect();
    let counts = match cx.words.heat() {
        Heat::Clean => false,
        Heat::Warm => !cx.words.carried(&texts.join("\n"), Carry::Anything).is_empty(),
        Heat::Hot => true,
    };
    if counts {
        return Some("this conversation has read text from outside");
    }
    (!cx.attended).then_some("nobody is there to see it")
}

fn create(
    survey: &Survey,
    name: &str,
    content: String,
    category: Option<&str>,
    settings: &Settings,
) -> Result<Change, SkillError> {
    let name = name.trim();
    if !format::is_standard_name(name) {
        return Err(SkillError::bad(format!(
            "`{name}` is no name for a skill: small letters, digits and hyphens, 64 at most"
        )));
    }
    let category = category.map(str::trim).filter(|category| !category.is_empty());
    if let Some(category) = category.filter(|category| !format::is_readable_name(category)) {
        return Err(SkillError::bad(format!("`{category}` is no name for a category")));
    }
    let taken = survey.all.iter().any(|skill| skill.name == name)
        || survey.withheld.iter().any(|held| held.name == name);
    if taken {
        let said = format!("a skill named `{name}` is there already: edit or patch it");
        return Err(SkillError::bad(said));
    }
    let folder = category.map_or_else(|| PathBuf::from(name), |it| Path::new(it).join(name));
    if places::home(settings).join(&folder).exists() {
        return Err(SkillError::bad(format!("`{}` is taken in the home", folder.display())));
    }
    well_formed(&content, name)?;
    let step = FileStep { path: MAIN_FILE.to_owned(), before: None, after: Some(content) };
    Ok(Change {
        action: "create".to_owned(),
        name: name.to_owned(),
        folder,
        files: vec![step],
        absorbed_into: None,
        diff: String::new(),
    })
}

/// What is written keeps the standard; what older skills may do is no model for new ones.
fn well_formed(content: &str, name: &str) -> Result<(), SkillError> {
    let checked = format::check(content, Path::new(name));
    match checked.problems.first() {
        None => Ok(()),
        Some(problem) => Err(SkillError::bad(format!(
            "{MAIN_FILE} is not as it should be: {}; begin it with front matter that has `name: \
             {name}` and `description`",
            problem.what
        ))),
    }
}

/// A skill that was odd before may stay as odd; it may not break, or change its name.
fn keeps_format(content: &str, skill: &Skill) -> Result<(), SkillError> {
    let checked = format::check(content, &skill.folder);
    let own = skill.checked.name.as_str();
    if let Some(why) = checked.broken() {
        return Err(SkillError::bad(format!("the skill would be broken: {why}")));
    }
    if checked.name != own {
        let said = format!("the skill would be called `{}` then: keep `name: {own}`", checked.name);
        return Err(SkillError::bad(said));
    }
    if skill.checked.problems.is_empty() {
        return well_formed(content, own);
    }
    Ok(())
}

/// A file in one of the folders that hold what a skill refers to.
fn support(file: &str) -> Result<String, SkillError> {
    let parts: Vec<&str> = file.split('/').filter(|part| *part != ".").collect();
    let plain = |part: &&str| {
        !part.is_empty() && *part != ".." && !part.starts_with('.') && !part.contains(['\\', '\0'])
    };
    let shelf = parts.first().is_some_and(|first| SUPPORT.contains(first));
    if parts.len() > 1 && shelf && parts.iter().all(plain) {
        return Ok(parts.join("/"));
    }
    Err(SkillError::denied(format!(
        "`{file}` is no place for a file of a skill: use references/, templates/, scripts/ or assets/"
    )))
}

/// The skill of a name, if it can be changed: one of the home, or ours, which is copied first.
fn changeable(survey: &Survey, name: &str) -> Result<Arc<Skill>, SkillError> {
    let skill = lookup::find(survey, name)?;
    let whose = match skill.place {
        PlaceKind::Home | PlaceKind::Bundled => return Ok(skill),
        PlaceKind::Project => {
            "it belongs to the project: change it there, with the project's tools"
        }
        PlaceKind::External => "its folder is only read: change it where it comes from",
        PlaceKind::Plugin => "it belongs to a plugin",
    };
    Err(SkillError::denied(format!("skill `{}` is not changed here: {whose}", skill.name)))
}

fn stepped(
    skill: &Skill,
    action: &str,
    file: String,
    after: Option<String>,
    settings: &Settings,
) -> Result<Change, SkillError> {
    let root = places::home(settings);
    let mut files = Vec::new();
    let folder = if skill.place == PlaceKind::Bundled {
        // A skill of ours is copied to the home with the change in it.
        for (name, path) in files_of(&skill.folder)? {
            if name != file {
                let text = fs::read_to_string(&path);
                let text = text.map_err(|error| SkillError::disk("read", &path, &error))?;
                files.push(FileStep { path: name, before: None, after: Some(text) });
            }
        }
        if after.is_some() {
            files.push(FileStep { path: file, before: None, after });
        }
        PathBuf::from(&skill.name)
    } else {
        let before = fs::read(skill.folder.join(&file)).ok().map(|bytes| sha256(&bytes));
        files.push(FileStep { path: file, before, after });
        let below = skill.folder.strip_prefix(&root);
        below.map_err(|_| SkillError::denied("the skill is not below the home"))?.to_owned()
    };
    Ok(Change {
        action: action.to_owned(),
        name: skill.name.clone(),
        folder,
        files,
        absorbed_into: None,
        diff: String::new(),
    })
}

fn delete(
    survey: &Survey,
    name: &str,
    absorbed_into: Option<String>,
    settings: &Settings,
) -> Result<Change, SkillError> {
    let skill = changeable(survey, name)?;
    if Usage::of(settings).get(&skill.name).is_some_and(|record| record.pinned) {
        let said = format!("skill `{0}` is pinned: `petasos skills unpin {0}` first", skill.name);
        return Err(SkillError::denied(said));
    }
    let absorbed_into = absorbed_into.filter(|other| !other.is_empty());
    if let Some(other) = &absorbed_into {
        let other = lookup::find(survey, other)?;
        if other.name == skill.name {
            return Err(SkillError::bad("a skill cannot take its own place"));
        }
    }
    let below = skill.folder.strip_prefix(places::home(settings));
    let folder = match (skill.place, below) {
        (PlaceKind::Home, Ok(below)) => below.to_owned(),
        // Nothing of ours lies there; it is only switched off.
        _ => PathBuf::from(&skill.name),
    };
    Ok(Change {
        action: if skill.place == PlaceKind::Bundled { "disable" } else { "delete" }.to_owned(),
        name: skill.name.clone(),
        folder,
        files: Vec::new(),
        absorbed_into,
        diff: String::new(),
    })
}

fn too_large() -> SkillError {
    SkillError::new("too_large", format!("a file of a skill has {FILE_BYTES_MAX} bytes at most"))
}

/// Who still names a skill that goes: schedules, by the file that they are kept in, and bundles.
pub fn references(settings: &Settings, name: &str) -> Vec<String> {
    let mut all = schedules(settings, name);
    let bundles = settings.get("bundles").and_then(Value::as_object).into_iter().flatten();
    let names = |bundle: &Value| {
        let members = bundle.get("skills").unwrap_or(bundle).as_array();
        members.into_iter().flatten().any(|member| member == name)
    };
    all.extend(bundles.filter(|(_, it)| names(it)).map(|(bundle, _)| format!("bundle {bundle}")));
    all
}

fn schedules(settings: &Settings, name: &str) -> Vec<String> {
    let file = settings.home().join("cron/jobs.json");
    let Ok(text) = fs::read_to_string(file) else { return Vec::new() };
    let jobs: Value = serde_json::from_str(&text).unwrap_or_default();
    let jobs = jobs.get("jobs").unwrap_or(&jobs).clone();
    let rows: Vec<Value> = match jobs {
        Value::Array(rows) => rows,
        Value::Object(rows) => rows.into_iter().map(|(_, row)| row).collect(),
        _ => Vec::new(),
    };
    let named = |job: &&Value| {
        let many = job.get("skills").and_then(Value::as_array).into_iter().flatten();
        many.chain(job.get("skill")).any(|skill| skill == name)
    };
    let called = |job: &Value| {
        let name = job.get("name").or_else(|| job.get("id")).and_then(Value::as_str);
        format!("schedule {}", name.unwrap_or("without a name"))
    };
    rows.iter().filter(named).map(called).collect()
}

/// What `skill_manage` tells after a change.
pub fn told(change: &Change, at: &Path, settings: &Settings) -> Value {
    let (name, action) = (&change.name, change.action.as_str());
    let message = match action {
        "create" => format!("skill `{name}` is made; it can be read at once"),
        "delete" => format!("skill `{name}` is put away in {}", at.display()),
        "disable" => format!("skill `{name}` comes with the program and is switched off"),
        "remove_file" => format!("a file of skill `{name}` is removed"),
        _ => format!("skill `{name}` is changed"),
    };
    let mut told = json!({ "success": true, "message": message, "path": at });
    if action != "delete" && action != "disable" {
        told["skill_md"] = json!(at.join(MAIN_FILE));
    }
    if let Some(category) = change.folder.parent().filter(|it| !it.as_os_str().is_empty()) {
        told["category"] = json!(category);
    }
    if !change.diff.is_empty() {
        told["diff"] = change.diff.as_str().into();
    }
    if action == "create" {
        told["hint"] =
            "add files with write_file under references/, templates/, scripts/ or assets/".into();
    }
    if action == "delete" {
        let named = references(settings, name);
        if !named.is_empty() {
            told["still_named_by"] = json!(named);
            told["hint"] = "these name the skill and will fail: change them".into();
        }
    }
    if lock::is_modified(settings, name) {
        told["note"] =
            "it was installed from a hub: an update will ask before it replaces this".into();
    }
    told
}
