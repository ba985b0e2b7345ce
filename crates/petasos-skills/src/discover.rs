//! Which skills there are: the folders walked, what wins over what, and what is held back and why.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use crate::consent::Consent;
use crate::digest::digest_of;
use crate::format::{self, Checked, MAIN_FILE, SUPPORT};
use crate::places::{Place, PlaceKind};

const DEPTH_MAX: usize = 3;
/// The most skills that are looked at.
pub(crate) const SKILLS_MAX: usize = 2000;
/// Bytes that are read of one file: four for each character that it may have.
const READ_MAX: u64 = 4 * format::MAIN_CHARS_MAX as u64;
const SKIPPED: [&str; 9] = [
    ".git",
    ".github",
    ".hub",
    ".archive",
    ".venv",
    "venv",
    "node_modules",
    "site-packages",
    "__pycache__",
];

/// One skill.
#[derive(Debug, Clone)]
pub struct Skill {
    /// How it is called; with its plugin before a colon where it has one.
    pub name: String,
    /// The folders between its place and itself.
    pub category: Option<String>,
    /// What was understood of its text.
    pub checked: Arc<Checked>,
    /// Its main file.
    pub file: PathBuf,
    /// Its folder.
    pub folder: PathBuf,
    /// Where it comes from.
    pub place: PlaceKind,
    /// Skills of the same name that it hides.
    pub shadows: Vec<PathBuf>,
}

impl Skill {
    /// What it is about.
    pub fn description(&self) -> &str {
        &self.checked.description
    }

    /// The category that people see.
    pub fn shelf(&self) -> &str {
        let own = self.checked.front.category.as_deref();
        self.category.as_deref().or(own).unwrap_or("general")
    }
}

/// A skill that is there and not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// How it is called.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Where it comes from.
    pub place: PlaceKind,
    /// Why.
    pub why: Why,
}

/// Why a skill is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Its text cannot be understood.
    Broken(String),
    /// Nobody has agreed to it, or it was changed since.
    NotAgreed {
        /// Whether an earlier content was agreed to.
        changed: bool,
    },
    /// The settings or a person switched it off.
    Disabled,
    /// It is for other systems.
    Platform(Vec<String>),
    /// It is not what was installed.
    Tampered,
    /// It cannot be looked at safely.
    Unsafe(String),
}

impl Withheld {
    /// The reason, and what to do, for a person or a model.
    pub fn reason(&self) -> String {
        let name = &self.name;
        match &self.why {
            Why::Broken(what) => format!("{what}; `petasos skills check {name}` shows more"),
            Why::NotAgreed { changed: false } => {
                format!(
                    "it comes with the project and nobody agreed to it: `petasos skills trust {name}`"
                )
            }
            Why::NotAgreed { changed: true } => {
                format!("it was changed since somebody agreed to it: `petasos skills trust {name}`")
            }
            Why::Disabled => "it is switched off: see `skills.disabled`".to_owned(),
            Why::Platform(wanted) => format!("it is for {}", wanted.join(", ")),
            Why::Tampered => {
                format!(
                    "its files are not those that were installed: `petasos skills verify {name}`"
                )
            }
            Why::Unsafe(what) => format!("it cannot be trusted: {what}"),
        }
    }
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Those that are offered, by name.
    pub skills: Vec<Arc<Skill>>,
    /// All of those that could be read, in the order in which they win, shadowed ones too.
    pub all: Vec<Arc<Skill>>,
    /// Those that are not.
    pub withheld: Vec<Withheld>,
}

/// What was read of a file of this size and time.
type Read = (u64, SystemTime, Arc<Checked>);

/// What was read before, by path: with the same size and time it is the same text.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<HashMap<PathBuf, Read>>);

impl Cache {
    fn checked(&self, file: &Path, folder: &Path) -> Option<Arc<Checked>> {
        let about = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
        let (size, time) = (about.len(), about.modified().ok()?);
        let known = self.0.lock().get(file).cloned();
        if let Some((_, _, checked)) = known.filter(|(known, at, _)| (*known, *at) == (size, time))
        {
            return Some(checked);
        }
        let checked = Arc::new(match read_main(file) {
            Ok(text) => format::check(&text, folder),
            Err(why) => unreadable(folder, why),
        });
        let mut known = self.0.lock();
        if known.len() > 2 * SKILLS_MAX {
            known.clear();
        }
        known.insert(file.to_owned(), (size, time, Arc::clone(&checked)));
        Some(checked)
    }
}

fn unreadable(folder: &Path, why: String) -> Checked {
    let mut checked = format::check("", folder);
    checked.problems = vec![format::Problem { level: format::Level::Broken, what: why }];
    checked
}

/// The text of a main file.
pub(crate) fn read_main(file: &Path) -> Result<String, String> {
    let size = fs::metadata(file).map_err(|error| error.to_string())?.len();
    if size > READ_MAX {
        return Err(format!("{MAIN_FILE} has more than {} characters", format::MAIN_CHARS_MAX));
    }
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| format!("{MAIN_FILE} is no UTF-8 text"))
}

/// The folders below a place that hold a skill, sorted.
pub(crate) fn folders(place: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![(place.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        let is_skill = depth > 0 && folder.join(MAIN_FILE).is_file();
        if is_skill {
            found.push(folder.clone());
            if found.len() >= SKILLS_MAX {
                break;
            }
        }
        if depth == DEPTH_MAX {
            continue;
        }
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let support = is_skill && SUPPORT.contains(&name.as_ref());
            let skipped = support || SKIPPED.contains(&name.as_ref()) || name.starts_with('.');
            if !skipped && entry.path().is_dir() {
                waiting.push((entry.path(), depth + 1));
            }
        }
    }
    found.sort();
    found
}

/// A skill that a plugin brings, or the program itself.
#[derive(Debug, Clone)]
pub(crate) struct Brought {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) kind: PlaceKind,
}

/// Looks for what wins and what is held back.
pub(crate) struct Surveyor<'a> {
    pub(crate) cache: &'a Cache,
    pub(crate) consent: &'a Consent,
    pub(crate) disabled: &'a dyn Fn(&Skill) -> Option<Why>,
}

impl Surveyor<'_> {
    /// Everything in these places, and what others bring.
    pub(crate) fn survey(&self, places: &[Place], brought: &[Brought]) -> Survey {
        let mut survey = Survey::default();
        for place in places {
            for folder in folders(&place.folder) {
                let category = category(&place.folder, &folder);
                let file = folder.join(MAIN_FILE);
                let Some(checked) = self.cache.checked(&file, &folder) else { continue };
                let name = checked.name.clone();
                let (kind, shadows) = (place.kind, Vec::new());
                let skill = Skill { name, category, checked, file, folder, place: kind, shadows };
                self.add(skill, &mut survey);
            }
        }
        for one in brought {
            let (file, folder) = if one.file.is_dir() {
                (one.file.join(MAIN_FILE), one.file.clone())
            } else {
                (one.file.clone(), one.file.parent().unwrap_or(Path::new("")).to_owned())
            };
            let Some(checked) = self.cache.checked(&file, &folder) else { continue };
            let skill = Skill {
                name: one.name.clone(),
                category: None,
                checked,
                file,
                folder,
                place: one.kind,
                shadows: Vec::new(),
            };
            self.add(skill, &mut survey);
        }
        resolve(&mut survey);
        survey
    }

    fn add(&self, skill: Skill, survey: &mut Survey) {
        match self.held_back(&skill) {
            None => survey.all.push(Arc::new(skill)),
            Some(why) => {
                let folder_name = skill.folder.file_name().unwrap_or_default().to_string_lossy();
                let name =
                    if skill.name.is_empty() { folder_name.into_owned() } else { skill.name };
                let (folder, place) = (skill.folder, skill.place);
                survey.withheld.push(Withheld { name, folder, place, why });
            }
        }
    }

    fn held_back(&self, skill: &Skill) -> Option<Why> {
        // What a stranger's text says is not repeated before somebody agreed to it.
        if skill.place == PlaceKind::Project {
            match digest_of(&skill.folder) {
                Err(error) => return Some(Why::Unsafe(error.message)),
                Ok(digest) if !self.consent.covers(&skill.folder, &digest) => {
                    return Some(Why::NotAgreed { changed: self.consent.knew(&skill.folder) });
                }
                Ok(_) => {}
            }
        }
        // A plugin names its skills, and may bring plain text.
        if let Some(what) = skill.checked.broken().filter(|_| skill.place != PlaceKind::Plugin) {
            return Some(Why::Broken(what.to_owned()));
        }
        let platforms = &skill.checked.front.platforms;
        if !platforms.is_empty() && !platforms.iter().any(|name| is_this_system(name)) {
            return Some(Why::Platform(platforms.clone()));
        }
        (self.disabled)(skill)
    }
}

/// The first of each name is offered, and says what it hides.
fn resolve(survey: &mut Survey) {
    let mut first: HashMap<String, usize> = HashMap::new();
    let mut offered: Vec<Skill> = Vec::new();
    for skill in &survey.all {
        if let Some(winner) = first.get(&skill.name).and_then(|at| offered.get_mut(*at)) {
            winner.shadows.push(skill.folder.clone());
            continue;
        }
        first.insert(skill.name.clone(), offered.len());
        offered.push(Skill::clone(skill));
    }
    offered.sort_by(|a, b| a.name.cmp(&b.name));
    survey.skills = offered.into_iter().map(Arc::new).collect();
}

fn category(place: &Path, folder: &Path) -> Option<String> {
    let between = folder.parent()?.strip_prefix(place).ok()?;
    let parts: Vec<String> =
        between.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Whether a name stands for the system that this program runs on.
fn is_this_system(name: &str) -> bool {
    match std::env::consts::OS {
        "macos" => matches!(name, "macos" | "darwin" | "osx" | "mac"),
        "windows" => matches!(name, "windows" | "win32" | "win"),
        system => name == system || name == "unix",
    }
}

/// What is not as it should be about a skill that is offered all the same.
pub fn problems_of(skill: &Skill) -> Vec<format::Problem> {
    let mut problems = skill.checked.problems.clone();
    if crate::disclose::cleaned(skill.description(), format::DESCRIPTION_MAX).is_none() {
        let what = "the description gives orders or hides characters, so that no index shows it";
        problems.push(format::Problem { level: format::Level::Warning, what: what.to_owned() });
    }
    problems
}
