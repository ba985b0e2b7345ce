//! What `skill_view` shows: a skill with what it lacks, or one file of it.

use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use petasos_contract::Settings;
use petasos_contract::terminal::Lent;
use serde_json::{Map, Value, json};

use crate::digest::{Digest, digest_of};
use crate::discover::{Skill, read_main};
use crate::error::SkillError;
use crate::format::{MAIN_FILE, SUPPORT};
use crate::lending;
use crate::places::PlaceKind;
use crate::readiness::{Readiness, is_local, may_be_offered};

/// The most characters of a file that are shown at once.
const FILE_CHARS_MAX: usize = 100_000;
const FILE_BYTES_MAX: u64 = 8 << 20;
/// The most files that are listed of one folder.
const LISTED_MAX: usize = 100;

/// A skill as it was found, before variables and commands in it are filled in.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) text: String,
    pub(crate) shown: Map<String, Value>,
}

/// Whose words these are, in one word.
pub(crate) fn trust(skill: &Skill, from_hub: bool) -> &'static str {
    match skill.place {
        PlaceKind::Home if from_hub => "hub",
        PlaceKind::Home | PlaceKind::External | PlaceKind::Bundled => "own",
        PlaceKind::Project => "project",
        PlaceKind::Plugin => "plugin",
    }
}

/// Reads a skill.
pub(crate) fn load(skill: &Skill, settings: &Settings) -> Result<Loaded, SkillError> {
    let text = read_main(&skill.file);
    let text =
        text.map_err(|why| SkillError::new("upstream", format!("`{}`: {why}", skill.name)))?;
    let front = &skill.checked.front;
    let ready = Readiness::of(front, settings);
    let wanted = front.variable_names();
    // A folder that cannot be looked at as a whole has no digest, and so no consent.
    let Lent { variables: granted, files: lent } =
        digest(skill).map_or_else(|_| Lent::default(), |it| lending::granted(skill, &it, settings));
    let mut shown = Map::new();
    let mut put = |key: &str, value: Value| {
        shown.insert(key.to_owned(), value);
    };
    put("success", true.into());
    put("name", skill.name.as_str().into());
    put("description", skill.description().into());
    put("tags", json!(front.tags));
    put("related_skills", json!(front.related));
    put("content", Value::Null);
    put("path", skill.file.display().to_string().into());
    put("skill_dir", skill.folder.display().to_string().into());
    put("linked_files", linked(skill));
    put(
        "usage_hint",
        json!(
            "skill_view with `file_path` reads one of linked_files; run its scripts by their path below skill_dir"
        ),
    );
    put("required_environment_variables", json!(front.variables));
    put("missing_required_environment_variables", json!(ready.variables));
    put("missing_required_commands", json!(ready.programs));
    put("missing_credential_files", json!(ready.files));
    put("setup_needed", (!ready.is_ready()).into());
    put("readiness_status", if ready.is_ready() { "available" } else { "setup_needed" }.into());
    if let Some(note) = ready.note() {
        put("setup_note", note.into());
    }
    let waiting: Vec<&String> = wanted
        .iter()
        .filter(|name| !granted.contains(name) && !ready.variables.contains(name))
        .collect();
    if !waiting.is_empty() {
        put("environment_not_granted", json!(waiting));
        let hint = format!(
            "commands do not see these variables before the user runs: petasos skills allow-env {} {}",
            skill.name,
            waiting.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ")
        );
        put("environment_hint", hint.into());
    }
    if let Some((files, hint)) = not_lent(skill, &lent, &ready, settings) {
        put("credential_files_not_granted", json!(files));
        put("credential_files_hint", hint.into());
    }
    for (key, value) in [("compatibility", &front.compatibility), ("license", &front.license)] {
        if let Some(value) = value {
            put(key, value.as_str().into());
        }
    }
    if let Some(metadata) = &front.metadata {
        put("metadata", metadata.clone());
    }
    if !front.allowed_tools.is_empty() {
        put("allowed_tools", json!(front.allowed_tools));
    }
    Ok(Loaded { text, shown })
}

/// Files that commands elsewhere would need and nobody let the skill have, and what to do. Commands
/// of this machine see the home as it is.
fn not_lent(
    skill: &Skill,
    lent: &[String],
    ready: &Readiness,
    settings: &Settings,
) -> Option<(Vec<String>, String)> {
    let wanted = skill.checked.front.credential_files.iter().filter(|file| may_be_offered(file));
    let files: Vec<String> = wanted
        .filter(|file| !lent.contains(file) && !ready.files.contains(file))
        .cloned()
        .collect();
    if files.is_empty() || is_local(settings) {
        return None;
    }
    let hint = format!(
        "commands there do not have these files before the user runs: petasos skills allow-file {} {}",
        skill.name,
        files.join(" ")
    );
    Some((files, hint))
}

/// What consent is given to: the folder, or the one file of a plugin's skill.
pub(crate) fn digest(skill: &Skill) -> Result<Digest, SkillError> {
    digest_of(&skill.folder)
}

/// The files that a skill has beside its main one, by folder.
fn linked(skill: &Skill) -> Value {
    let mut all = Map::new();
    if !skill.file.ends_with(MAIN_FILE) {
        return Value::Object(all);
    }
    for shelf in SUPPORT {
        let names = below(&skill.folder.join(shelf), shelf);
        if !names.is_empty() {
            all.insert(shelf.to_owned(), json!(names));
        }
    }
    // Skills of other agents keep files wherever they like.
    let mut others = Vec::new();
    for entry in fs::read_dir(&skill.folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let known = SUPPORT.contains(&name.as_str()) || name == MAIN_FILE || name.starts_with('.');
        if known {
            continue;
        }
        if entry.path().is_dir() {
            others.extend(below(&entry.path(), &name));
        } else if entry.path().is_file() {
            others.push(name);
        }
    }
    if !others.is_empty() {
        others.sort();
        others.truncate(LISTED_MAX);
        all.insert("other".to_owned(), json!(others));
    }
    Value::Object(all)
}

fn below(folder: &Path, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    if !fs::symlink_metadata(folder).is_ok_and(|about| about.is_dir()) {
        return names;
    }
    let mut waiting = vec![(folder.to_owned(), prefix.to_owned(), 0)];
    while let Some((folder, prefix, depth)) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // A link may lead anywhere, in circles too.
            let Ok(kind) = entry.file_type() else { continue };
            let hidden = name.starts_with('.') || name == "__pycache__" || name == "node_modules";
            if kind.is_dir() && !hidden && depth < 3 {
                waiting.push((entry.path(), format!("{prefix}/{name}"), depth + 1));
            } else if kind.is_file() && !hidden {
                names.push(format!("{prefix}/{name}"));
            }
        }
    }
    names.sort();
    names.truncate(LISTED_MAX);
    names
}

/// The place of a file inside a skill; refuses whatever leads out of it.
pub(crate) fn inside(skill: &Skill, file: &str) -> Result<PathBuf, SkillError> {
    let refused = |why: &str| {
        let said = format!("`{file}` is no file of skill `{}`: {why}", skill.name);
        SkillError::denied(said)
    };
    let path = Path::new(file);
    if file.contains(['\\', '\0']) || file.is_empty() {
        return Err(refused("give a path below the skill's folder"));
    }
    if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(refused("give a path below the skill's folder, without `..`"));
    }
    if !skill.file.ends_with(MAIN_FILE) {
        return Err(SkillError::missing(format!("skill `{}` is a single file", skill.name)));
    }
    let missing = || {
        SkillError::missing(format!(
            "skill `{}` has no file `{file}`; linked_files of skill_view has them",
            skill.name
        ))
    };
    let folder = skill.folder.canonicalize().map_err(|_| missing())?;
    let real = folder.join(path).canonicalize().map_err(|_| missing())?;
    if !real.starts_with(&folder) {
        return Err(refused("a link leads out of the skill's folder"));
    }
    if !real.is_file() {
        return Err(missing());
    }
    Ok(real)
}

/// One file of a skill.
pub(crate) fn one_file(skill: &Skill, file: &str) -> Result<Value, SkillError> {
    let path = inside(skill, file)?;
    let failed = |error| SkillError::disk("read", &path, &error);
    let handle = fs::File::open(&path).map_err(failed)?;
    let mut bytes = Vec::new();
    handle.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    let kind = path.extension().map(|ending| format!(".{}", ending.to_string_lossy()));
    let mut shown = json!({
        "success": true, "name": skill.name, "file": file, "file_type": kind.unwrap_or_default(),
    });
    let size = bytes.len();
    let text = if bytes.contains(&0) { None } else { String::from_utf8(bytes).ok() };
    let (content, more) = match text {
        None => {
            shown["is_binary"] = true.into();
            (format!("[{file} is no text, {size} bytes: {}]", path.display()), false)
        }
        Some(text) => match text.char_indices().nth(FILE_CHARS_MAX) {
            None => (text, false),
            Some((end, _)) => (text.get(..end).unwrap_or_default().to_owned(), true),
        },
    };
    shown["content"] = content.into();
    if more {
        let hint = format!(
            "cut after {FILE_CHARS_MAX} characters: read_file has the rest at {}",
            path.display()
        );
        shown["truncated"] = true.into();
        shown["hint"] = hint.into();
    }
    Ok(shown)
}
