//! `patch`: a change inside one file, or a V4A patch of many files at once.
//!
//! Finding the place and applying hunks is in `edit`; writing all files or none is in `change`.
//! Whether the paths may be written is policy's decision, from the effects stated here.

mod files;
mod schema;

use std::collections::BTreeSet;
use std::sync::Arc;

use petasos_contract::bridging::{Blocking, SyncTool};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::ports::Ports;
use petasos_contract::tool::{self, Concurrency, Limit};
use petasos_contract::{Args, CallContext, ToolDef, ToolError, ToolName, ToolOutput};
use petasos_redact::Redactor;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::write_file::Told;
use crate::change::{self, Changer, Planned};
use crate::edit::fuzzy::Strategy;
use crate::edit::replace::{All, NotReplaced, Replaced, replace};
use crate::edit::v4a;
use crate::edit::{diff, own_words};
use crate::files::available::FILES;
use crate::files::site::Site;
use crate::mention;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "patch",
    toolset: "file",
    description: "Change part of a file, or several files at once",
    emoji: "🔧",
    core: true,
    concurrency: Concurrency::ByPath,
    result_chars_max: Limit::Chars(100_000),
    check: Some(&FILES),
    schema: schema::schema,
    examples: schema::EXAMPLES,
    build: |ports| Arc::new(Blocking::new(Patch::new(ports))),
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

    fn replace(&self, input: &Input, cx: &CallContext) -> Result<Value, Told> {
        let path = input.path.as_deref().filter(|path| !path.trim().is_empty());
        let path = path.ok_or_else(|| "`path` is missing: name the file to change".to_owned())?;
        let old = input.old_string.as_deref().unwrap_or_default();
        let new = input.new_string.as_deref().ok_or_else(|| {
            "`new_string` is missing: to remove text send an empty one".to_owned()
        })?;
        if let Some(why) = own_words::found_in(new) {
            return Err(why.replace("`content`", "`new_string`").into());
        }
        let site = self.0.sites.open(cx)?;
        let named = site.resolve(path);
        let name = site.shown(&named);
        let real = site.target(&named).map_err(|fault| format!("`{name}`: {fault}"))?;
        let _held = self.0.hold(std::slice::from_ref(&real), cx)?;
        files::refuse_protected(&site, &named)?;
        let file = Changer::load(&site, &named, &real)?;
        let before = file.text().map_err(|why| format!("`{name}`: {why}"))?;
        let before = before.ok_or_else(|| missing(&site, &named))?;
        let all = if input.replace_all { All::Places } else { All::Unique };
        let Replaced { text, strategy, count } = replace(&before, old, new, all)
            .map_err(|why| self.not_replaced(&why, &name, &real, cx))?;
        let shown = diff::unified(&name, Some(before.plain()), Some(text.plain()));
        let planned = [Planned { file, after: Some(text), like: None, must_parse: false }];
        let mut told = self.0.apply(&site, &planned)?;
        files::verify(&site, &planned)?;
        told.warnings.extend(change::left_workspace(path, &real, &site));
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

impl SyncTool for Patch {
    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<tool::Patch, ToolError> {
        Ok(mention::patch(schema::schema, schema::MENTIONS, granted))
    }

    fn call(&self, args: Args, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let input: Input = args.parse()?;
        let done = match input.mode() {
            Mode::Replace => self.replace(&input, cx),
            Mode::Patch => self.patch(&input, cx),
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

    fn effects(&self, args: &Args, cx: &CallContext) -> Effects {
        let touched = |path: &str| self.0.sites.touched(path, cx).into_iter().map(Effect::Write);
        // A patch that cannot be read touches nothing; running it says why.
        let steps = args.text("patch").and_then(|patch| v4a::parse(patch).ok()).unwrap_or_default();
        let named = args.text("path").into_iter().flat_map(touched);
        named.chain(steps.iter().flat_map(v4a::Step::paths).flat_map(touched)).collect()
    }
}
