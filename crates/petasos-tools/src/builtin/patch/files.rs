//! The V4A mode: every file of the patch, all or none.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use petasos_contract::CallContext;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::plan::FileEdit;
use petasos_redact::Redactor;
use serde_json::{Map, Value, json};

use super::{Input, Patch};
use crate::builtin::write_file::Told;
use crate::change::{self, Changer, EditTarget, Loaded, Planned, Previewed};
use crate::edit::text::Text;
use crate::edit::v4a::{self, Outcome, Step};
use crate::edit::{diff, own_words};
use crate::files::site::{FilePlace, Site};

/// A V4A patch whose files are resolved.
pub(super) struct PatchWork {
    place: FilePlace,
    steps: Vec<Step>,
    targets: BTreeMap<String, EditTarget>,
}

impl PatchWork {
    /// The work, with what it would touch in any case; `Err` is what the model is told.
    pub(super) fn plan(
        input: &Input,
        place: &FilePlace,
        cx: &CallContext,
    ) -> (Effects, Result<Self, String>) {
        let text = input.patch.as_deref().filter(|patch| !patch.trim().is_empty());
        let Some(text) = text else {
            return (Effects::none(), Err("`patch` is missing: send the patch's text".to_owned()));
        };
        let steps = match v4a::parse(text) {
            Ok(steps) => steps,
            // A patch that cannot be read touches nothing.
            Err(fault) => return (Effects::none(), Err(fault.to_string())),
        };
        let site = place.site(cx);
        let (mut effects, mut targets) = (Vec::new(), BTreeMap::new());
        let mut refused = steps.iter().find_map(unwritable);
        for path in steps.iter().flat_map(Step::paths) {
            match EditTarget::resolve(&site, path) {
                Ok(target) => {
                    effects.extend(target.effects());
                    targets.insert(path.to_owned(), target);
                }
                Err(why) => {
                    effects.push(Effect::Write(site.resolve(path)));
                    refused.get_or_insert(format!("{why}. No file was changed"));
                }
            }
        }
        let work = Self { place: place.clone(), steps, targets };
        (effects.into_iter().collect(), refused.map_or(Ok(work), Err))
    }
}

impl Previewed for PatchWork {
    fn edits(&self, cx: &CallContext) -> Result<Vec<FileEdit>, String> {
        let site = self.place.site(cx);
        Ok(change::edits(&site, &simulated(&self.steps, &self.targets, &site)?))
    }
}

fn unwritable(step: &Step) -> Option<String> {
    let Step::Add { content, .. } = step else { return None };
    own_words::found_in(content).map(|why| why.replace("`content`", "an added file"))
}

impl Patch {
    pub(super) fn patch(&self, work: &PatchWork, cx: &CallContext) -> Result<Value, Told> {
        let PatchWork { place, steps, targets } = work;
        let site = place.site(cx);
        let mut held: Vec<PathBuf> = targets.values().map(|target| target.real.clone()).collect();
        held.sort();
        held.dedup();
        let _held = self.0.hold(&held, cx)?;
        let planned = simulated(steps, targets, &site)?;
        let mut result = told(&site, &planned, cx);
        let told = self.0.apply(&site, &planned)?;
        verify(&site, &planned)?;
        change::note(&mut result, told);
        Ok(Value::Object(result))
    }
}

/// What every file of the patch becomes; changes nothing.
fn simulated(
    steps: &[Step],
    targets: &BTreeMap<String, EditTarget>,
    site: &Site<'_>,
) -> Result<Vec<Planned>, String> {
    let loaded: RefCell<BTreeMap<String, Loaded>> = RefCell::default();
    let outcome = v4a::simulate(steps, |path| {
        let target = targets.get(path).ok_or("it was not part of the plan")?;
        refuse_protected(site, target)?;
        let file = Changer::load(site, target)?;
        let text = file.text().map_err(|why| why.to_string())?;
        loaded.borrow_mut().insert(path.to_owned(), file);
        Ok(text)
    })
    .map_err(|fault| format!("{fault}. No file was changed"))?;
    Ok(planned(&outcome, &loaded.into_inner(), targets))
}

fn planned(
    outcome: &Outcome,
    loaded: &BTreeMap<String, Loaded>,
    targets: &BTreeMap<String, EditTarget>,
) -> Vec<Planned> {
    let mut planned = Vec::new();
    for (path, after) in &outcome.files {
        let file = loaded.get(path).cloned();
        let fresh = || Some(Loaded { target: targets.get(path)?.clone(), bytes: None });
        let Some(file) = file.or_else(fresh) else { continue };
        let before = file.text().ok().flatten();
        if before == *after {
            continue;
        }
        let like = outcome.renamed.get(path).and_then(|old| targets.get(old));
        let like = like.map(|target| target.real.clone());
        planned.push(Planned { file, after: after.clone(), like, must_parse: false });
    }
    planned
}

fn told(site: &Site<'_>, planned: &[Planned], cx: &CallContext) -> Map<String, Value> {
    let (mut shown, mut lists) = (String::new(), [Vec::new(), Vec::new(), Vec::new()]);
    for plan in planned {
        let name = site.shown(&plan.file.target.path);
        let before = plan.file.text().ok().flatten();
        let plain = |text: &Text| text.plain().to_owned();
        let (old, new) = (before.as_ref().map(plain), plan.after.as_ref().map(plain));
        shown.push_str(&diff::unified(&name, old.as_deref(), new.as_deref()));
        let [modified, created, deleted] = &mut lists;
        match (&before, &plan.after) {
            (Some(_), Some(_)) => modified.push(name),
            (None, _) => created.push(name),
            (Some(_), None) => deleted.push(name),
        }
    }
    let mut result = Map::new();
    result.insert("success".to_owned(), json!(true));
    result.insert("diff".to_owned(), json!(Redactor::of(&cx.settings).text(&shown)));
    let keys = ["files_modified", "files_created", "files_deleted"];
    for (key, list) in keys.into_iter().zip(lists).filter(|(_, list)| !list.is_empty()) {
        result.insert(key.to_owned(), json!(list));
    }
    result
}

/// A file that is not shown cannot be patched: the result would show it.
pub(super) fn refuse_protected(site: &Site<'_>, target: &EditTarget) -> Result<(), String> {
    let paths = [&target.path, &target.real];
    match paths.into_iter().find_map(|path| site.guard.refuses(path)) {
        Some(protected) => {
            let name = site.shown(&target.path);
            Err(format!("`{name}` is not shown and so not patched: {protected}"))
        }
        None => Ok(()),
    }
}

/// Reads the files again and compares them with what they should be.
pub(super) fn verify(site: &Site<'_>, planned: &[Planned]) -> Result<(), String> {
    for plan in planned {
        let name = || site.shown(&plan.file.target.path);
        let failed = |why: &str| Err(format!("`{}` was written but {why}: read it again", name()));
        let about = match (site.known(&plan.file.target.real), &plan.after) {
            (Ok(None), None) => continue,
            (Ok(Some(about)), Some(_)) => about,
            (Ok(_), _) => return failed("is not what it should be"),
            (Err(_), _) => return failed("cannot be read back"),
        };
        let wanted = plan.after.as_ref().map(Text::bytes).unwrap_or_default();
        match site.bytes(&about, wanted.len() as u64 + 1) {
            Ok(bytes) if bytes == *wanted => {}
            Ok(_) => return failed("holds another content now"),
            Err(_) => return failed("cannot be read back"),
        }
    }
    Ok(())
}
