//! The V4A mode: every file of the patch, all or none.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use petasos_contract::CallContext;
use petasos_redact::Redactor;
use serde_json::{Map, Value, json};

use super::{Input, Patch};
use crate::builtin::write_file::Told;
use crate::change::{self, Changer, Loaded, Planned};
use crate::edit::text::Text;
use crate::edit::v4a::{self, Outcome, Step};
use crate::edit::{diff, own_words};
use crate::files::open::Unreadable;
use crate::files::site::Site;

impl Patch {
    pub(super) fn patch(&self, input: &Input, cx: &CallContext) -> Result<Value, Told> {
        let text = input.patch.as_deref().filter(|patch| !patch.trim().is_empty());
        let text = text.ok_or_else(|| "`patch` is missing: send the patch's text".to_owned())?;
        let steps = v4a::parse(text).map_err(|fault| fault.to_string())?;
        for step in &steps {
            if let Step::Add { content, .. } = step
                && let Some(why) = own_words::found_in(content)
            {
                return Err(why.replace("`content`", "an added file").into());
            }
        }
        let site = self.0.sites.open(cx)?;
        let reals = reals(&site, &steps)?;
        let mut held: Vec<PathBuf> = reals.values().cloned().collect();
        held.sort();
        held.dedup();
        let _held = self.0.hold(&held, cx)?;
        let loaded: RefCell<BTreeMap<String, Loaded>> = RefCell::default();
        let outcome = v4a::simulate(&steps, |path| {
            let named = site.resolve(path);
            refuse_protected(&site, &named)?;
            let real = reals.get(path).cloned().unwrap_or_else(|| named.clone());
            let file = Changer::load(&site, &named, &real)?;
            let text = file.text().map_err(|why| why.to_string())?;
            loaded.borrow_mut().insert(path.to_owned(), file);
            Ok(text)
        })
        .map_err(|fault| format!("{fault}. No file was changed"))?;
        let planned = planned(&outcome, &loaded.into_inner(), &reals, &site);
        let mut result = told(&site, &planned, cx);
        let told = self.0.apply(&site, &planned)?;
        verify(&site, &planned)?;
        change::note(&mut result, told);
        Ok(Value::Object(result))
    }
}

/// Where every file of the patch really is.
fn reals(site: &Site<'_>, steps: &[Step]) -> Result<BTreeMap<String, PathBuf>, String> {
    let mut reals = BTreeMap::new();
    for path in steps.iter().flat_map(Step::paths) {
        let real = site
            .target(&site.resolve(path))
            .map_err(|fault| format!("`{path}`: {fault}. No file was changed"))?;
        reals.insert(path.to_owned(), real);
    }
    Ok(reals)
}

fn planned(
    outcome: &Outcome,
    loaded: &BTreeMap<String, Loaded>,
    reals: &BTreeMap<String, PathBuf>,
    site: &Site<'_>,
) -> Vec<Planned> {
    let mut planned = Vec::new();
    for (path, after) in &outcome.files {
        let named = site.resolve(path);
        let real = reals.get(path).cloned().unwrap_or_else(|| named.clone());
        let file = loaded.get(path).cloned();
        let file = file.unwrap_or(Loaded { path: named, real, bytes: None });
        let before = file.text().ok().flatten();
        if before == *after {
            continue;
        }
        let like = outcome.renamed.get(path).and_then(|old| reals.get(old)).cloned();
        planned.push(Planned { file, after: after.clone(), like, must_parse: false });
    }
    planned
}

fn told(site: &Site<'_>, planned: &[Planned], cx: &CallContext) -> Map<String, Value> {
    let (mut shown, mut lists) = (String::new(), [Vec::new(), Vec::new(), Vec::new()]);
    for plan in planned {
        let name = site.shown(&plan.file.path);
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
pub(super) fn refuse_protected(site: &Site<'_>, named: &Path) -> Result<(), String> {
    match site.look(named) {
        Err(Unreadable::Protected(protected)) => {
            Err(format!("`{}` is not shown and so not patched: {protected}", site.shown(named)))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Reads the files again and compares them with what they should be.
pub(super) fn verify(site: &Site<'_>, planned: &[Planned]) -> Result<(), String> {
    for plan in planned {
        let name = || site.shown(&plan.file.path);
        let failed = |why: &str| Err(format!("`{}` was written but {why}: read it again", name()));
        let about = match (site.known(&plan.file.real), &plan.after) {
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
