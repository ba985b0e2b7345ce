//! The decision about a package, and what follows from it: files, lock, audit, verification.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use petasos_contract::Settings;
use serde::Serialize;
use serde_json::json;
use similar::TextDiff;
use tempfile::TempDir;

use super::fetch::Package;
use super::source::{Source, TrustLevel};
use crate::change::archived;
use crate::consent::Consent;
use crate::digest::{Digest, digest_of, digest_of_files};
use crate::error::SkillError;
use crate::format::{self, MAIN_FILE};
use crate::lock::{self, Installed};
use crate::scan::{self, Report, Verdict};
use crate::usage::{self, Usage};
use crate::{discover, places};

const DIFF_CHARS_MAX: usize = 60_000;
/// Longer than any fetch takes.
const FETCHING_MAX: Duration = Duration::from_hours(1);

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

/// Trust against verdict. There is no switch that forces it. Nobody is kept from their own folder,
/// but a folder is often somebody else's that was copied here: what the scan found is agreed to.
pub fn decide(trust: TrustLevel, verdict: Verdict) -> Decision {
    match (trust, verdict) {
        (TrustLevel::Official, _) | (TrustLevel::Own | TrustLevel::Trusted, Verdict::Safe) => {
            Decision::Allow
        }
        (TrustLevel::Own | TrustLevel::Trusted, Verdict::Caution)
        | (TrustLevel::Community, Verdict::Safe) => Decision::Ask,
        (TrustLevel::Own, Verdict::Dangerous) | (TrustLevel::Community, Verdict::Caution) => {
            Decision::TypeName
        }
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
    /// What it would replace: the installation is for this and nothing else.
    #[serde(skip)]
    base: Option<Digest>,
    /// The content that was looked at.
    #[serde(skip)]
    content: Digest,
}

impl Review {
    /// What a person agrees to: this content in the place of that one.
    pub(crate) fn seal(&self) -> String {
        let base = self.base.as_ref().map_or("nothing", Digest::as_str);
        format!("{} for {base}", self.content.as_str())
    }
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
    // A home may have texts without it; what is published says its name and what it is about.
    if format::split(&main).0.is_none() {
        return Err(SkillError::bad(format!(
            "{MAIN_FILE} has no front matter: it begins with `---` lines around `name` and \
             `description`"
        )));
    }
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
    let (mut diff, mut base) = (None, None);
    if let Some(known) = &installed {
        let place = inside(&places::home(settings), &known.install_path)?;
        base = digest_of(&place).ok();
        diff = Some(unified_files(&place, &package.files));
        same_pin(known, package)?;
    }
    Ok(Review {
        base,
        content: digest_of_files(&package.files),
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

/// A commit has one content. A source that gives another one under the same name lies, or it is
/// another folder of it.
fn same_pin(known: &Installed, package: &Package) -> Result<(), SkillError> {
    let is_pinned = known.revision.is_some() && known.revision == package.revision;
    let Some(locked) = known.sha256.as_deref().filter(|_| is_pinned) else { return Ok(()) };
    if digest_of_files(&package.files).as_str() == locked {
        return Ok(());
    }
    let revision = package.revision.as_deref().unwrap_or_default();
    Err(SkillError::denied(format!(
        "commit {revision} has another content than when it was installed: the source lies, or it \
         is another skill of it; `petasos skills uninstall` the old one first"
    )))
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
///
/// The lock says first what is about to be there, then the folder is exchanged in one step, then
/// the lock says what is there: a death at any moment leaves the old skill or the new one whole.
pub fn install(
    package: &Package,
    review: &Review,
    (typed, source): (&str, &Source),
    settings: &Settings,
) -> Result<PathBuf, SkillError> {
    if review.decision == Decision::Refuse {
        return Err(SkillError::denied("the scan found what no skill needs: it is not installed"));
    }
    let root = places::home(settings);
    let _lock = locked(&root)?;
    swept(settings);
    let known = settled(&review.name, settings)?;
    let place = known
        .as_ref()
        .map_or_else(|| PathBuf::from(&review.name), |it| PathBuf::from(&it.install_path));
    let folder = inside(&root, &place.to_string_lossy())?;
    let draft = drafted(package, settings)?;
    let digest = digest_of(draft.path())?;
    let there = fs::symlink_metadata(&folder).is_ok();
    let old = if there { digest_of(&folder).ok() } else { None };
    if there && known.is_none() {
        return Err(SkillError::denied(format!("`{}` is taken", folder.display())));
    }
    if let Some(known) = known.as_ref().filter(|_| there && old.as_ref() == Some(&digest))
        && known.sha256.as_deref() == Some(digest.as_str())
        && known.revision == review.revision
        && known.identifier == typed
    {
        // Nothing changes; perhaps somebody else has just installed the very same.
        return Ok(folder);
    }
    if review.base != old {
        let said = format!("`{}` was changed meanwhile: look at the review again", review.name);
        return Err(SkillError::new("stale", said));
    }
    let next = entry(review, (typed, source), &digest, &place, known.as_ref());
    lock::edit(settings, |file| {
        let held = file.installed.entry(review.name.clone()).or_default();
        if held.install_path.is_empty() {
            held.install_path.clone_from(&next.install_path);
        }
        held.next = Some(Box::new(next.clone()));
    })?;
    put_in_place(&root, draft.path(), &folder, &review.name)?;
    lock::edit(settings, |file| {
        file.installed.insert(review.name.clone(), next);
    })?;
    if let Some(old) = old {
        // Variables were agreed to for names that the person saw again in this review.
        Consent::carry(settings, &old, &digest)?;
    }
    let action = if known.is_some() { "UPDATE" } else { "INSTALL" };
    audit(settings, action, review, source, &digest)?;
    Usage::edit(settings, &review.name, |record| {
        record.state = None;
        record.archived_at = None;
    })?;
    Ok(folder)
}

/// One process changes the skills of a home at a time.
fn locked(root: &Path) -> Result<petasos_fs::Lock, SkillError> {
    fs::create_dir_all(root).map_err(|error| SkillError::disk("written", root, &error))?;
    let lock = petasos_fs::lock(&root.join(".write"));
    lock.map_err(|error| SkillError::disk("locked", root, &error))
}

/// What is known of an installed skill, after whatever a death in the middle left.
fn settled(name: &str, settings: &Settings) -> Result<Option<Installed>, SkillError> {
    let Some(known) = lock::read(settings)?.installed.get(name).cloned() else { return Ok(None) };
    if known.next.is_none() {
        return Ok(Some(known));
    }
    let folder = inside(&places::home(settings), &known.install_path)?;
    let digest = digest_of(&folder).ok();
    let known = known.settled(digest.as_ref().map(Digest::as_str));
    lock::edit(settings, |file| {
        match known.clone() {
            Some(known) => file.installed.insert(name.to_owned(), known),
            None => file.installed.remove(name),
        };
    })?;
    Ok(known)
}

/// Drafts that killed installations left. Whoever is at work with one holds the lock, but for those
/// who still fetch.
fn swept(settings: &Settings) {
    let quarantine = lock::folder(settings).join("quarantine");
    for entry in fs::read_dir(quarantine).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let age = entry.metadata().and_then(|about| about.modified()).ok();
        let is_old = age.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > FETCHING_MAX);
        if (name.starts_with("skill-") || is_old)
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::warn!(%error, "something stays in the quarantine of skills");
        }
    }
}

/// The draft becomes the skill; what was there goes to the archive. Where the file system cannot
/// exchange two folders, there is a moment without either, which `verify` tells.
fn put_in_place(root: &Path, draft: &Path, folder: &Path, name: &str) -> Result<(), SkillError> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let failed = |error: std::io::Error| SkillError::disk("written", folder, &error);
    if fs::symlink_metadata(folder).is_err() {
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        return fs::rename(draft, folder).map_err(failed);
    }
    match renameat_with(CWD, draft, CWD, folder, RenameFlags::EXCHANGE) {
        Ok(()) => archived(root, draft, name).map(drop),
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
            archived(root, folder, name)?;
            fs::rename(draft, folder).map_err(failed)
        }
        Err(error) => Err(failed(error.into())),
    }
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

/// What the lock says of it from now on; what older programs wrote there is kept.
fn entry(
    review: &Review,
    (typed, source): (&str, &Source),
    digest: &Digest,
    place: &Path,
    known: Option<&Installed>,
) -> Installed {
    let old = known.cloned().unwrap_or_default();
    let now = usage::now();
    let installed_at =
        if old.installed_at.is_empty() { now.clone() } else { old.installed_at.clone() };
    Installed {
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
        next: None,
        ..old
    }
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
    let root = places::home(settings);
    let _lock = locked(&root)?;
    let installed = settled(name, settings)?;
    let installed = installed
        .ok_or_else(|| SkillError::missing(format!("`{name}` was not installed from a hub")))?;
    if Usage::of(settings).get(name).is_some_and(|record| record.pinned) {
        return Err(SkillError::denied(format!(
            "`{name}` is pinned: `petasos skills unpin {name}` first"
        )));
    }
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
    let digest = digest_of(&folder);
    let installed =
        &installed.clone().settled(digest.as_ref().ok().map(Digest::as_str)).unwrap_or_default();
    match (&installed.sha256, digest) {
        (Some(known), Ok(digest)) if known == digest.as_str() => "ok",
        _ if installed.modified => "modified",
        (Some(_), _) => "tampered",
        // Another program's lock has a digest of its own kind.
        (None, _) => "unknown",
    }
}

/// Why an installed skill is not offered: it is not what was installed.
pub(crate) fn is_tampered(skill: &discover::Skill, installed: &Installed) -> bool {
    if installed.modified || (installed.sha256.is_none() && installed.next.is_none()) {
        return false;
    }
    let digest = digest_of(&skill.folder).ok();
    let holds = installed.clone().settled(digest.as_ref().map(Digest::as_str));
    let known = holds.and_then(|holds| holds.sha256);
    known.is_some_and(|known| Some(known.as_str()) != digest.as_ref().map(Digest::as_str))
}

fn inside(root: &Path, place: &str) -> Result<PathBuf, SkillError> {
    let path = Path::new(place);
    let plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    if path.components().all(plain) && !place.is_empty() {
        return Ok(root.join(path));
    }
    Err(SkillError::denied(format!("the lock leads out of the skills: `{place}`")))
}
