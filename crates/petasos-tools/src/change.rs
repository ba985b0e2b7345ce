//! Brings new contents into files: what `write_file` and `patch` have in common.
//!
//! Files are held while they change, so that two agents do not undo each other. A content that
//! breaks a file's syntax is not written. What the model should know about the files besides
//! (changed by others, newly broken) is told and never blocks.

mod lint;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::effect::Effect;
use petasos_contract::event::Event;
use petasos_contract::plan::{EditPreview, FileEdit};
use petasos_contract::ports::Ports;
use petasos_contract::{BoxFuture, CallContext, ToolError};
use petasos_redact::Redactor;
use serde_json::{Map, Value, json};

use crate::edit::text::{NotText, Text};
use crate::edit::{diff, syntax};
use crate::files::open::Unreadable;
use crate::files::site::{Site, Sites};
use crate::files::write::{Anchor, Change, WriteFault};
use crate::memory::{FileMemory, Fingerprint, Held, Stale};

/// A file is changed in memory; larger ones are for programs.
const BYTES_MAX: u64 = 64 << 20;

/// Another agent's write takes milliseconds.
const HOLD_MAX: Duration = Duration::from_secs(30);

/// Changes files of calls.
pub(crate) struct Changer {
    pub(crate) sites: Sites,
    pub(crate) memory: Arc<FileMemory>,
}

/// A file that a call would change, as it was resolved when the call was planned.
#[derive(Debug, Clone)]
pub(crate) struct EditTarget {
    /// As it was named.
    pub(crate) path: PathBuf,
    /// Where it really is.
    pub(crate) real: PathBuf,
    /// Its folder.
    pub(crate) anchor: Option<Arc<Anchor>>,
}

impl EditTarget {
    /// Resolves a path; `Err` is what the model is told.
    pub(crate) fn resolve(site: &Site<'_>, given: &str) -> Result<Self, String> {
        let path = site.resolve(given);
        let real = site.target(&path).map_err(|fault| format!("`{}`: {fault}", site.shown(&path)));
        let real = real?;
        let anchor = site.anchor(&real);
        Ok(Self { path, real, anchor })
    }

    /// What a change of it would do, for policy: the name and what is behind it.
    pub(crate) fn effects(&self) -> impl Iterator<Item = Effect> {
        let behind = (self.real != self.path).then(|| self.real.clone());
        std::iter::once(self.path.clone()).chain(behind).map(Effect::Write)
    }
}

/// A file before its change.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// Which file.
    pub(crate) target: EditTarget,
    /// Its bytes, when it is there.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Loaded {
    /// Its text; `None` when it is not there.
    pub(crate) fn text(&self) -> Result<Option<Text>, NotText> {
        self.bytes.as_deref().map(Text::new).transpose()
    }
}

/// A file and what it becomes.
#[derive(Debug)]
pub(crate) struct Planned {
    /// Before.
    pub(crate) file: Loaded,
    /// After; `None` removes it.
    pub(crate) after: Option<Text>,
    /// A file whose permissions a new one takes.
    pub(crate) like: Option<PathBuf>,
    /// Whether a content that does not parse is refused even when the old one did not either.
    pub(crate) must_parse: bool,
}

/// What a change told besides.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Whether folders were made.
    pub(crate) dirs_created: bool,
    /// For `_warning`.
    pub(crate) warnings: Vec<String>,
    /// For `lint`.
    pub(crate) lint: Option<Value>,
}

impl Changer {
    /// With the program's ports.
    pub(crate) fn new(ports: &Ports) -> Self {
        Self { sites: Sites::new(ports), memory: FileMemory::of(ports) }
    }

    /// Holds files against other agents of this program.
    pub(crate) fn hold(
        &self,
        files: &[PathBuf],
        cx: &CallContext,
    ) -> Result<Option<Held<'_>>, String> {
        self.sites.may_write(files, cx)?;
        if is_off(cx) {
            return Ok(None);
        }
        let held = self.memory.lock(files, cx.deadline.min(Instant::now() + HOLD_MAX));
        held.map(Some).ok_or_else(|| {
            "another agent has been changing this file for too long: try again later".to_owned()
        })
    }

    /// Reads a file that is to be changed; what is not there has no bytes.
    pub(crate) fn load(site: &Site<'_>, target: &EditTarget) -> Result<Loaded, String> {
        let name = site.shown(&target.path);
        let told = |why: &Unreadable| match why {
            Unreadable::Missing => format!("`{name}` does not exist"),
            Unreadable::Folder => format!("`{name}` is a folder"),
            Unreadable::Special => format!("`{name}` is a device, pipe or socket"),
            Unreadable::Protected(protected) => format!("`{name}` is not changed: {protected}"),
            Unreadable::System(error) => format!("`{name}` cannot be read: {error}"),
        };
        let about = site.known(&target.real).map_err(|why| told(&why))?;
        let bytes = match about {
            None => None,
            Some(about) if about.is_folder => return Err(told(&Unreadable::Folder)),
            Some(about) => Some(site.bytes(&about, BYTES_MAX).map_err(|why| told(&why))?),
        };
        Ok(Loaded { target: target.clone(), bytes })
    }

    /// Writes all of the files or none; `Err` is what the model is told.
    pub(crate) fn apply(&self, site: &Site<'_>, planned: &[Planned]) -> Result<Told, String> {
        let mut told = Told::default();
        let mut changes = Vec::with_capacity(planned.len());
        let mut judged = Vec::with_capacity(planned.len());
        for plan in planned {
            judged.push(refuse_broken(site, plan)?);
            told.warnings.extend(self.stale(site, plan));
            changes.push(Change {
                real: plan.file.target.real.clone(),
                before: plan.file.bytes.as_deref(),
                after: plan.after.as_ref().map(Text::bytes),
                like: plan.like.clone(),
                anchor: plan.file.target.anchor.clone(),
            });
        }
        let done = site.commit(&changes).map_err(|fault| failure(site, planned, &fault))?;
        told.dirs_created = done.dirs_created;
        told.warnings.extend(done.notes);
        for change in &changes {
            let print = Fingerprint::of(change.after.as_deref().unwrap_or_default());
            self.memory.wrote(site.cx, &change.real, print);
        }
        for plan in planned {
            announce(site, plan);
        }
        told.lint = lint::of(site, &self.sites, planned.iter().zip(judged));
        Ok(told)
    }

    fn stale(&self, site: &Site<'_>, plan: &Planned) -> Option<String> {
        let bytes = plan.file.bytes.as_ref()?;
        if is_off(site.cx) {
            return None;
        }
        let print = || Fingerprint::of(bytes);
        let stale = self.memory.stale(site.cx, &plan.file.target.real, print)?;
        let who = match stale {
            Stale::OtherAgent => "another agent",
            Stale::Somebody => "somebody else",
        };
        let name = site.shown(&plan.file.target.path);
        Some(format!(
            "`{name}` was changed by {who} after you last read it: read it again to see whether \
             anything of theirs is lost"
        ))
    }
}

/// Paths that a relative name should not lead to.
pub(crate) fn left_workspace(given: &str, real: &Path, site: &Site<'_>) -> Option<String> {
    let is_relative = !Path::new(given).is_absolute() && !given.starts_with('~');
    let base = site.target(&site.base).ok()?;
    (is_relative && !real.starts_with(&base))
        .then(|| format!("`{given}` is outside of the working directory, at `{}`", real.display()))
}

/// Puts what was told besides into a result.
pub(crate) fn note(result: &mut Map<String, Value>, told: Told) {
    if let Some(lint) = told.lint {
        result.insert("lint".to_owned(), lint);
    }
    if !told.warnings.is_empty() {
        result.insert("_warning".to_owned(), json!(told.warnings.join("; ")));
    }
}

/// Shows people what changed; models have the result.
fn announce(site: &Site<'_>, plan: &Planned) {
    let Ok(before) = plan.file.text() else { return };
    site.cx.events.emit(|| {
        let path = site.shown(&plan.file.target.path);
        let diff = redacted_diff(site, plan, before.as_ref());
        let (session, call) = (site.cx.session.clone(), site.cx.call.clone());
        Event::FileChanged { session, call, path, diff }
    });
}

fn redacted_diff(site: &Site<'_>, plan: &Planned, before: Option<&Text>) -> String {
    let path = site.shown(&plan.file.target.path);
    let (old, new) = (before.map(Text::plain), plan.after.as_ref().map(Text::plain));
    let shown = diff::unified(&path, old, new);
    Redactor::of(&site.cx.settings).text(&shown).into_owned()
}

/// What planned changes would make of files, for people; files that are not shown stay unseen.
pub(crate) fn edits(site: &Site<'_>, planned: &[Planned]) -> Vec<FileEdit> {
    let edit = |plan: &Planned| {
        let target = &plan.file.target;
        let is_hidden =
            [&target.path, &target.real].iter().any(|it| site.guard.refuses(it).is_some());
        let path = target.real.clone();
        if is_hidden {
            let diff = "the content of this file is not shown".to_owned();
            return FileEdit { path, before: None, after: None, diff };
        }
        let before = plan.file.text().ok().flatten();
        let diff = redacted_diff(site, plan, before.as_ref());
        let plain = |text: &Text| text.plain().to_owned();
        let (before, after) = (before.as_ref().map(plain), plan.after.as_ref().map(plain));
        FileEdit { path, before, after, diff }
    };
    planned.iter().map(edit).collect()
}

/// Tells what an edit would change, on a thread that may wait for files.
pub(crate) struct Preview<W>(pub(crate) Arc<W>);

/// Work that can tell what it would change without changing it.
pub(crate) trait Previewed: Send + Sync + 'static {
    /// Every file that it would change; `Err` is what the model would be told.
    fn edits(&self, cx: &CallContext) -> Result<Vec<FileEdit>, String>;
}

impl<W: Previewed> EditPreview for Preview<W> {
    fn edits<'a>(&'a self, cx: &'a CallContext) -> BoxFuture<'a, Result<Vec<FileEdit>, ToolError>> {
        let (work, cx) = (Arc::clone(&self.0), cx.clone());
        Box::pin(async move {
            let told = tokio::task::spawn_blocking(move || work.edits(&cx)).await;
            match told {
                Ok(edits) => edits.map_err(|why| ToolError::new("NoPreview", why)),
                Err(error) => Err(ToolError::new("Cancelled", error.to_string())),
            }
        })
    }
}

fn is_off(cx: &CallContext) -> bool {
    cx.settings.role("DISABLE_FILE_STATE_GUARD").is_some_and(|switch| {
        let value = switch.value.expose().trim().to_ascii_lowercase();
        matches!(value.as_str(), "1" | "true" | "yes" | "on")
    })
}

/// Refuses what would newly not parse; tells what is wrong where that is no reason to refuse.
fn refuse_broken(site: &Site<'_>, plan: &Planned) -> Result<Option<String>, String> {
    let Some(after) = &plan.after else { return Ok(None) };
    let Some(language) = syntax::language(&plan.file.target.path) else { return Ok(None) };
    let Some(error) = syntax::error(language, after.plain()) else { return Ok(None) };
    let before = plan.file.text().ok().flatten();
    let was_broken = before.is_some_and(|text| syntax::error(language, text.plain()).is_some());
    if was_broken && !plan.must_parse {
        return Ok(Some(error));
    }
    let name = site.shown(&plan.file.target.path);
    Err(format!(
        "`{name}` would not be valid {}: {error}. Nothing was written; correct the text",
        syntax::name(language)
    ))
}

fn failure(site: &Site<'_>, planned: &[Planned], fault: &WriteFault) -> String {
    let one = planned.first().filter(|_| planned.len() == 1);
    match (fault, one) {
        (WriteFault::HalfDone { .. }, _) => fault.to_string(),
        (WriteFault::System { source, .. }, Some(plan)) => {
            format!("`{}` cannot be written: {source}", site.shown(&plan.file.target.path))
        }
        _ => format!("{fault}. No file was changed"),
    }
}
