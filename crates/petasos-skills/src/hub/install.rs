//! The decision about a package, and what follows from it: files, lock, audit, verification.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use petasos_contract::Settings;
use serde::Serialize;
use serde_json::json;
use similar::TextDiff;
use tempfile::TempDir;

use super::fetch::Package;
use super::source::{Source, TrustLevel};
use crate::change::archived;
use crate::consent::Consent;
use crate::digest::{Digest, digest_of};
use crate::error::SkillError;
use crate::format::{self, MAIN_FILE};
use crate::lock::{self, Installed};
use crate::scan::{self, Report, Verdict};
use crate::usage::{self, Usage};
use crate::{discover, places};

const DIFF_CHARS_MAX: usize = 60_000;

/// What is needed before a package is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Nothing more.
    Allow,
    /// A person says yes.
    Ask,
    /// A person types the name of the skill.
    TypeName,
    /// Nothing helps.
    Refuse,
}

/// Trust against verdict. There is no switch that forces it.
pub fn decide(trust: TrustLevel, verdict: Verdict) -> Decision {
    match (trust, verdict) {
        (TrustLevel::Own, _) | (TrustLevel::Trusted, Verdict::Safe) => Decision::Allow,
        (TrustLevel::Trusted, Verdict::Caution) | (TrustLevel::Community, Verdict::Safe) => {
            Decision::Ask
        }
        (TrustLevel::Community, Verdict::Caution) => Decision::TypeName,
        (TrustLevel::Trusted | TrustLevel::Community, Verdict::Dangerous) => Decision::Refuse,
    }
}

/// All that a person is shown before they decide.
#[derive(Debug, Clone, Serialize)]
pub struct Review {
    /// How the skill is called.
    pub name: String,
    /// What it says it is about.
    pub description: String,
    /// How far its source is trusted.
    pub trust: TrustLevel,
    /// What the scan comes to.
    pub verdict: Verdict,
    /// What is needed.
    pub decision: Decision,
    /// The commit.
    pub revision: Option<String>,
    /// Its files and their sizes.
    pub files: BTreeMap<String, usize>,
    /// What was found.
    pub report: Report,
    /// What its front matter is not as it should be.
    pub problems: Vec<format::Problem>,
    /// What would change, where it is installed already.
    pub diff: Option<String>,
    /// Whether it was changed here since it was installed.
    pub modified: bool,
}

/// Looks at a package, and at what it would replace.
pub fn review(
    package: &Package,
    source: &Source,
    settings: &Settings,
) -> Result<Review, SkillError> {
    let main =
        package.files.get(MAIN_FILE).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let main = main.ok_or_else(|| SkillError::missing(format!("it has no {MAIN_FILE}")))?;
    let checked = format::check(&main, Path::new(&package.folder));
    if let Some(why) = checked.broken() {
        return Err(SkillError::bad(format!("the skill is broken: {why}")));
    }
    let report = scan::scan(&package.files);
    let (trust, verdict) = (source.trust(), report.verdict());
    let installed = lock::read(settings)?.installed.get(&checked.name).cloned();
    let folder = places::home(settings).join(&checked.name);
    if installed.is_none() && folder.exists() {
        return Err(SkillError::denied(format!(
            "the home has a skill `{}` of its own: rename or remove it first",
            checked.name
        )));
    }
    let diff = installed.as_ref().map(|known| {
        unified_files(&places::home(settings).join(&known.install_path), &package.files)
    });
    Ok(Review {
        description: checked.description.clone(),
        trust,
        verdict,
        decision: decide(trust, verdict),
        revision: package.revision.clone(),
        files: package.files.iter().map(|(path, data)| (path.clone(), data.len())).collect(),
        report,
        problems: checked.problems.clone(),
        diff,
        modified: installed.is_some_and(|installed| installed.modified),
        name: checked.name,
    })
}

/// What a folder and new files differ in.
pub fn unified_files(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> String {
    let old = crate::digest::files_of(folder).unwrap_or_default();
    let mut names: Vec<&String> = old.keys().chain(files.keys()).collect();
    names.sort();
    names.dedup();
    let mut all = String::new();
    for name in names {
        let before = old.get(name).and_then(|path| fs::read(path).ok()).unwrap_or_default();
        let after = files.get(name).cloned().unwrap_or_default();
        if before == after {
            continue;
        }
        let (before, after) = (String::from_utf8_lossy(&before), String::from_utf8_lossy(&after));
        let diff = TextDiff::from_lines(before.as_ref(), after.as_ref());
        let from =
            if old.contains_key(name) { format!("a/{name}") } else { "/dev/null".to_owned() };
        let to =
            if files.contains_key(name) { format!("b/{name}") } else { "/dev/null".to_owned() };
        all.push_str(&diff.unified_diff().context_radius(3).header(&from, &to).to_string());
        if all.len() > DIFF_CHARS_MAX {
            all = all.chars().take(DIFF_CHARS_MAX).collect();
            all.push_str("\n[cut: the rest is not shown]\n");
            break;
        }
    }
    all
}

/// Puts a package into the home. The caller has the decision that the review asks for.
pub fn install(
    package: &Package,
    review: &Review,
    identifier: (&str, &Source),
    settings: &Settings,
) -> Result<PathBuf, SkillError> {
    if review.decision == Decision::Refuse {
        return Err(SkillError::denied("the scan found what no skill needs: it is not installed"));
    }
    let root = places::home(settings);
    fs::create_dir_all(&root).map_err(|error| SkillError::disk("written", &root, &error))?;
    let lock = petasos_fs::lock(&root.join(".write"));
    let _lock = lock.map_err(|error| SkillError::disk("locked", &root, &error))?;
    let known = lock::read(settings)?.installed.get(&review.name).cloned();
    // What is not moved into place goes with the draft.
    let draft = drafted(package, settings)?;
    let digest = digest_of(draft.path())?;
    let place = known
        .as_ref()
        .map_or_else(|| PathBuf::from(&review.name), |it| PathBuf::from(&it.install_path));
    let folder = root.join(&place);
    if folder.exists() {
        if known.is_none() {
            return Err(SkillError::denied(format!("`{}` is taken", folder.display())));
        }
        let old = digest_of(&folder).ok();
        archived(&root, &folder, &review.name)?;
        if let Some(old) = old {
            // Variables were agreed to for names that the person saw again in this review.
            Consent::carry(settings, &old, &digest)?;
        }
    }
    let moved = fs::rename(draft.path(), &folder);
    moved.map_err(|error| SkillError::disk("written", &folder, &error))?;
    let (typed, source) = identifier;
    let action = if known.is_some() { "UPDATE" } else { "INSTALL" };
    record(review, (typed, source), &digest, &place, settings)?;
    audit(settings, action, review, source, &digest)?;
    Usage::edit(settings, &review.name, |record| {
        record.state = None;
        record.archived_at = None;
    })?;
    Ok(folder)
}

/// Writes a package into the quarantine.
fn drafted(package: &Package, settings: &Settings) -> Result<TempDir, SkillError> {
    let quarantine = lock::folder(settings).join("quarantine");
    let failed = |error| SkillError::disk("written", &quarantine, &error);
    fs::create_dir_all(&quarantine).map_err(failed)?;
    let draft =
        tempfile::Builder::new().prefix("skill-").tempdir_in(&quarantine).map_err(failed)?;
    for (path, data) in &package.files {
        let to = draft.path().join(path);
        let mode = if data.starts_with(b"#!") { 0o755 } else { 0o644 };
        petasos_fs::write(&to, data, petasos_fs::Mode::Exactly(mode))
            .map_err(|error| SkillError::disk("written", &to, &error))?;
    }
    Ok(draft)
}

fn record(
    review: &Review,
    (typed, source): (&str, &Source),
    digest: &Digest,
    place: &Path,
    settings: &Settings,
) -> Result<(), SkillError> {
    lock::edit(settings, |file| {
        let old = file.installed.remove(&review.name).unwrap_or_default();
        let now = usage::now();
        let installed_at =
            if old.installed_at.is_empty() { now.clone() } else { old.installed_at.clone() };
        let installed = Installed {
            source: source.word().to_owned(),
            identifier: typed.to_owned(),
            trust_level: review.trust.as_str().to_owned(),
            scan_verdict: review.verdict.as_str().to_owned(),
            content_hash: format!("sha256:{}", digest.as_str()),
            install_path: place.display().to_string(),
            files: review.files.keys().cloned().collect(),
            scan_provenance: json!({ "scanner": "petasos", "findings": review.report.findings.len() }),
            installed_at,
            updated_at: now,
            revision: review.revision.clone(),
            sha256: Some(digest.as_str().to_owned()),
            approved_by: Some("person".to_owned()),
            modified: false,
            ..old
        };
        file.installed.insert(review.name.clone(), installed);
    })
}

/// One line for each thing that was done: time, action, name, source and trust, verdict, digest.
fn audit(
    settings: &Settings,
    action: &str,
    review: &Review,
    source: &Source,
    digest: &Digest,
) -> Result<(), SkillError> {
    let line = format!(
        "{} {action} {} {}:{} {} sha256:{}\n",
        usage::now(),
        review.name,
        source.word(),
        review.trust.as_str(),
        review.verdict.as_str(),
        digest.as_str(),
    );
    audit_line(settings, &line)
}

fn audit_line(settings: &Settings, line: &str) -> Result<(), SkillError> {
    let path = lock::folder(settings).join("audit.log");
    let failed = |error| SkillError::disk("written", &path, &error);
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&path).and_then(|mut file| file.write_all(line.as_bytes())).map_err(failed)
}

/// Removes an installed skill; its folder goes to the archive.
pub fn uninstall(name: &str, settings: &Settings) -> Result<PathBuf, SkillError> {
    let installed = lock::read(settings)?.installed.get(name).cloned();
    let installed = installed
        .ok_or_else(|| SkillError::missing(format!("`{name}` was not installed from a hub")))?;
    if Usage::of(settings).get(name).is_some_and(|record| record.pinned) {
        return Err(SkillError::denied(format!(
            "`{name}` is pinned: `petasos skills unpin {name}` first"
        )));
    }
    let root = places::home(settings);
    let folder = inside(&root, &installed.install_path)?;
    let to = if folder.exists() { archived(&root, &folder, name)? } else { folder };
    lock::forget(settings, name)?;
    let line = format!(
        "{} REMOVE {name} {}:{} {} {}\n",
        usage::now(),
        installed.source,
        installed.trust_level,
        installed.scan_verdict,
        installed.content_hash,
    );
    audit_line(settings, &line)?;
    Ok(to)
}

/// What became of each installed skill: `ok`, `modified`, `tampered`, `missing` or `unknown`.
pub fn verify(settings: &Settings) -> Result<BTreeMap<String, &'static str>, SkillError> {
    let root = places::home(settings);
    let all = lock::read(settings)?.installed;
    Ok(all.into_iter().map(|(name, installed)| (name, state(&root, &installed))).collect())
}

fn state(root: &Path, installed: &Installed) -> &'static str {
    let Ok(folder) = inside(root, &installed.install_path) else { return "tampered" };
    if !folder.exists() {
        return "missing";
    }
    match (&installed.sha256, digest_of(&folder)) {
        (Some(known), Ok(digest)) if known == digest.as_str() => "ok",
        _ if installed.modified => "modified",
        (Some(_), _) => "tampered",
        // Another program's lock has a digest of its own kind.
        (None, _) => "unknown",
    }
}

/// Why an installed skill is not offered: it is not what was installed.
pub(crate) fn is_tampered(skill: &discover::Skill, installed: &Installed) -> bool {
    let Some(known) = installed.sha256.as_deref().filter(|_| !installed.modified) else {
        return false;
    };
    digest_of(&skill.folder).map_or(true, |digest| digest.as_str() != known)
}

fn inside(root: &Path, place: &str) -> Result<PathBuf, SkillError> {
    let path = Path::new(place);
    let plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    if path.components().all(plain) && !place.is_empty() {
        return Ok(root.join(path));
    }
    Err(SkillError::denied(format!("the lock leads out of the skills: `{place}`")))
}
