//! `patch`: a change inside one file, or a V4A patch of many files at once.
//!
//! Finding the place and applying hunks is in `edit`; writing all files or none is in `change`.
//! Whether the paths may be written is policy's decision, from the effects stated here.

mod files;
mod schema;

use std::collections::BTreeSet;
use std::sync::Arc;

use petasos_contract::bridging::{PlannedTool, Planning};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::plan::{EditPreview, FileEdit};
use petasos_contract::ports::Ports;
use petasos_contract::tool::{self, Concurrency, FailureSign, FileChanges, Limit};
use petasos_contract::{Args, CallContext, Plan, ToolDef, ToolError, ToolName, ToolOutput};
use petasos_redact::Redactor;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use files::PatchWork;

use super::write_file::Told;
use crate::change::{self, Changer, EditTarget, Planned, Preview, Previewed};
use crate::edit::fuzzy::Strategy;
use crate::edit::replace::{All, NotReplaced, Replaced, replace};
use crate::edit::{diff, own_words};
use crate::files::available::FILES;
use crate::files::site::{FilePlace, Site};
use crate::mention;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "patch",
    toolset: "file",
    description: "Change part of a file, or several files at once",
    emoji: "🔧",
    core: true,
    concurrency: Concurrency::ByPath { path: "path", alone: &["patch"] },
    changes: FileChanges::Edits,
    failure: FailureSign::NotMade,
    result_chars_max: Limit::Chars(100_000),
    check: Some(&FILES),
    schema: schema::schema,
    examples: schema::EXAMPLES,
    build: |ports| Arc::new(Planning::new(Patch::new(ports))),
    ..ToolDef::USUAL
};

/// After so many failures on one file the advice gets stronger.
const FAILURES_MANY: u32 = 3;

#[derive(Debug, Deserialize)]
struct Input {
    mode: Option<Mode>,
    path: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    #[serde(default)]
    replace_all: bool,
    patch: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Replace,
    Patch,
}

impl Input {
    fn mode(&self) -> Mode {
        let usual = if self.patch.is_some() { Mode::Patch } else { Mode::Replace };
        self.mode.unwrap_or(usual)
    }
}

struct Patch(Changer);

impl Patch {
    fn new(ports: &Ports) -> Self {
        Self(Changer::new(ports))
    }

    fn replace(&self, work: &ReplaceWork, cx: &CallContext) -> Result<Value, Told> {
        let ReplaceWork { place, given, target, old, new, all } = work;
        let site = place.site(cx);
        let (name, real) = (site.shown(&target.path), &target.real);
        let _held = self.0.hold(std::slice::from_ref(real), cx)?;
        files::refuse_protected(&site, target)?;
        let file = Changer::load(&site, target)?;
        let before = file.text().map_err(|why| format!("`{name}`: {why}"))?;
        let before = before.ok_or_else(|| missing(&site, &target.path))?;
        let Replaced { text, strategy, count } = replace(&before, old, new, *all)
            .map_err(|why| self.not_replaced(&why, &name, real, cx))?;
        let shown = diff::unified(&name, Some(before.plain()), Some(text.plain()));
        let planned = [Planned { file, after: Some(text), like: None, must_parse: false }];
        let mut told = self.0.apply(&site, &planned)?;
        files::verify(&site, &planned)?;
        told.warnings.extend(change::left_workspace(given, real, &site));
        let mut result = Map::new();
        result.insert("success".to_owned(), json!(true));
        result.insert("diff".to_owned(), json!(Redactor::of(&cx.settings).text(&shown)));
        result.insert("files_modified".to_owned(), json!([name]));
        result.insert("resolved_path".to_owned(), json!(real.display().to_string()));
        if strategy != Strategy::Exact || count > 1 {
            let hint = format!("replaced {count}, matched {}", strategy.as_str());
            result.insert("_hint".to_owned(), json!(hint));
        }
        change::note(&mut result, told);
        Ok(Value::Object(result))
    }

    fn not_replaced(
        &self,
        why: &NotReplaced,
        name: &str,
        real: &std::path::Path,
        cx: &CallContext,
    ) -> String {
        let mut told = format!("`{name}`: {why}");
        if let NotReplaced::Missing { closest } = why {
            for excerpt in closest {
                told.push_str("\nclosest:\n");
                told.push_str(&Redactor::of(&cx.settings).text(excerpt));
            }
        }
        if self.0.memory.failed(cx, real) >= FAILURES_MANY {
            told.push_str(
                "\nthis file was missed several times in a row: read it again with read_file and \
                 copy the lines exactly, or replace the whole file with write_file",
            );
        }
        told
    }
}

fn missing(site: &Site<'_>, named: &std::path::Path) -> String {
    let told = format!("`{}` does not exist: write_file makes new files", site.shown(named));
    let similar: Vec<_> = site.beside(named).iter().map(|path| site.shown(path)).collect();
    if similar.is_empty() {
        return told;
    }
    format!("{told}; there is {}", similar.join(", "))
}

/// A change that was planned.
enum Work {
    /// Nothing is changed, because of this.
    Refused(String),
    Replace(Arc<ReplaceWork>),
    Patch(Arc<PatchWork>),
}

impl Work {
    fn preview(&self) -> Option<Arc<dyn EditPreview>> {
        match self {
            Self::Refused(_) => None,
            Self::Replace(work) => Some(Arc::new(Preview(Arc::clone(work)))),
            Self::Patch(work) => Some(Arc::new(Preview(Arc::clone(work)))),
        }
    }
}

impl Previewed for ReplaceWork {
    fn edits(&self, cx: &CallContext) -> Result<Vec<FileEdit>, String> {
        let site = self.place.site(cx);
        let file = Changer::load(&site, &self.target)?;
        let before = file.text().map_err(|why| why.to_string())?.ok_or("it does not exist")?;
        let replaced = replace(&before, &self.old, &self.new, self.all);
        let after = Some(replaced.map_err(|why| why.to_string())?.text);
        let planned = Planned { file, after, like: None, must_parse: false };
        Ok(change::edits(&site, &[planned]))
    }
}

/// A replacement inside one file.
struct ReplaceWork {
    place: FilePlace,
    given: String,
    target: EditTarget,
    old: String,
    new: String,
    all: All,
}

impl ReplaceWork {
    /// The work, with what it would touch in any case; `Err` is what the model is told.
    fn plan(input: Input, place: &FilePlace, cx: &CallContext) -> (Effects, Result<Self, String>) {
        let path = input.path.filter(|path| !path.trim().is_empty());
        let Some(given) = path else {
            return (Effects::none(), Err("`path` is missing: name the file to change".to_owned()));
        };
        let site = place.site(cx);
        let named = Effects::one(Effect::Write(site.resolve(&given)));
        let Some(new) = input.new_string else {
            let why = "`new_string` is missing: to remove text send an empty one";
            return (named, Err(why.to_owned()));
        };
        if let Some(why) = own_words::found_in(&new) {
            return (named, Err(why.replace("`content`", "`new_string`")));
        }
        let target = match EditTarget::resolve(&site, &given) {
            Ok(target) => target,
            Err(why) => return (named, Err(why)),
        };
        let all = if input.replace_all { All::Places } else { All::Unique };
        let old = input.old_string.unwrap_or_default();
        let effects = target.effects().collect();
        (effects, Ok(Self { place: place.clone(), given, target, old, new, all }))
    }
}

impl PlannedTool for Patch {
    type Work = Work;

    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<tool::Patch, ToolError> {
        Ok(mention::patch(schema::schema, schema::MENTIONS, granted))
    }

    fn plan(&self, args: Args, cx: &CallContext) -> Result<(Plan, Work), ToolError> {
        let input: Input = args.clone().parse()?;
        let place = self.0.sites.find(cx)?;
        let plan = place.plan(args);
        let (effects, work) = match input.mode() {
            Mode::Replace => {
                let (effects, work) = ReplaceWork::plan(input, &place, cx);
                (effects, work.map(|work| Work::Replace(Arc::new(work))))
            }
            Mode::Patch => {
                let (effects, work) = PatchWork::plan(&input, &place, cx);
                (effects, work.map(|work| Work::Patch(Arc::new(work))))
            }
        };
        let effects = self.0.sites.confined(effects, &place, cx);
        let (mut plan, work) = (plan.with_effects(effects), work.unwrap_or_else(Work::Refused));
        plan.edits = work.preview();
        Ok((plan, work))
    }

    fn call(&self, work: Work, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let done = match &work {
            Work::Refused(why) => Err(Told::Model(why.clone())),
            Work::Replace(work) => self.replace(work, cx),
            Work::Patch(work) => self.patch(work, cx),
        };
        match done {
            Ok(result) => Ok(ToolOutput::json(&result)),
            Err(Told::Model(text)) => {
                let extra = Map::from_iter([("success".to_owned(), json!(false))]);
                Ok(ToolOutput::error(text, extra))
            }
            Err(Told::Failed(error)) => Err(error),
        }
    }
}
