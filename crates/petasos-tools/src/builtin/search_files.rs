//! `search_files`: lines by regular expression, or files by name, below one folder.
//!
//! The search itself is in `files::search`, here or where the terminal is; `shape` turns what was
//! found into one page for the model. The same search made again and again is refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::bridging::{PlannedTool, Planning};
use petasos_contract::ports::Ports;
use petasos_contract::tool::{Concurrency, Example, InPlanMode, Limit, Patch};
use petasos_contract::{Args, CallContext, Plan, ToolDef, ToolError, ToolName, ToolOutput};
use petasos_redact::Redactor;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::available::FILES;
use crate::files::open::Unreadable;
use crate::files::search::content::{self, Keep, Matches, Pattern};
use crate::files::search::elsewhere;
use crate::files::search::glob::Glob;
use crate::files::search::names::{self, Names};
use crate::files::search::walk::{Scope, Walked};
use crate::files::site::{About, FilePlace, Site, Sites, reads};
use crate::files::watch::{Ended, Watch};
use crate::memory::FileMemory;
use crate::mention::{self, Mention};

mod shape;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "search_files",
    toolset: "file",
    description: "Search file contents by regular expression, or find files by name",
    emoji: "🔎",
    core: true,
    idempotent: true,
    concurrency: Concurrency::Safe,
    result_chars_max: Limit::Chars(100_000),
    check: Some(&FILES),
    schema,
    examples: EXAMPLES,
    build: |ports| Arc::new(Planning::new(SearchFiles::new(ports))),
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

const EXAMPLES: &[Example] = &[
    Example {
        title: "lines that match",
        args: r#"{"pattern":"fn \\w+","file_glob":"*.rs"}"#,
        shows: r#""path":"src/main.rs","line":1"#,
    },
    Example {
        title: "files by name",
        args: r#"{"pattern":"*.md","target":"files"}"#,
        shows: r#""files":["README.md"]"#,
    },
    Example {
        title: "how often, file by file",
        args: r#"{"pattern":"sample","path":".","output_mode":"count"}"#,
        shows: r#""counts":{"#,
    },
];

const MENTIONS: &[Mention] =
    &[Mention { words: " Better than grep or find in the terminal.", tools: &["terminal"] }];

fn schema() -> Value {
    json!({
        "description": "Search below a folder: `content` for lines that match a regular expression \
            (Rust syntax, one line; (?i) ignores case), `files` for names such as `src/**/*.ts`, \
            newest first. Hidden and ignored files are passed over. Better than grep or find in \
            the terminal.",
        "parameters": {
            "type": "object",
            "properties": {
                "pattern": { "type": "string" },
                "target": {
                    "type": "string",
                    "enum": ["content", "files"],
                    "default": "content"
                },
                "path": { "type": "string", "default": "." },
                "file_glob": { "type": "string", "description": "Only such files: `*.py`" },
                "limit": { "type": "integer", "default": LIMIT_USUAL },
                "offset": { "type": "integer", "default": 0 },
                "output_mode": {
                    "type": "string",
                    "enum": ["content", "files_only", "count"],
                    "default": "content"
                },
                "context": {
                    "type": "integer",
                    "description": "Lines around a match",
                    "default": 0
                }
            },
            "required": ["pattern"]
        }
    })
}

const LIMIT_USUAL: usize = 50;
const LIMIT_MAX: usize = 1000;
const CONTEXT_MAX: usize = 10;

/// Everything before the page has to be kept to know where it starts.
const OFFSET_MAX: usize = 10_000;

const SEARCH_MAX: Duration = Duration::from_mins(1);

/// The same search with the same result: warned once, then refused.
const REPEATS_WARNED: u32 = 3;

#[derive(Debug, Deserialize)]
struct Input {
    pattern: String,
    target: Option<Target>,
    path: Option<String>,
    file_glob: Option<String>,
    limit: Option<i64>,
    offset: Option<i64>,
    output_mode: Option<OutputMode>,
    context: Option<i64>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Target {
    #[default]
    #[serde(alias = "grep")]
    Content,
    #[serde(alias = "find")]
    Files,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    #[default]
    Content,
    FilesOnly,
    Count,
}

/// What is asked, within bounds.
#[derive(Debug)]
struct Asked {
    limit: usize,
    offset: usize,
    keep: Keep,
    warnings: Vec<String>,
}

struct SearchFiles {
    sites: Sites,
    memory: Arc<FileMemory>,
}

impl SearchFiles {
    fn new(ports: &Ports) -> Self {
        Self { sites: Sites::new(ports), memory: FileMemory::of(ports) }
    }
}

/// A search that was planned.
struct Work {
    /// The arguments, by which a repeated search is known.
    call: String,
    input: Input,
    place: FilePlace,
    path: PathBuf,
    /// What was there.
    about: Result<About, Unreadable>,
}

impl PlannedTool for SearchFiles {
    type Work = Work;

    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(mention::patch(schema, MENTIONS, granted))
    }

    fn plan(&self, args: Args, cx: &CallContext) -> Result<(Plan, Work), ToolError> {
        let call = Value::Object(args.object().clone()).to_string();
        let input: Input = args.clone().parse()?;
        let place = self.sites.find(cx)?;
        let site = place.site(cx);
        let path = site.resolve(input.path.as_deref().unwrap_or("."));
        let about = site.look(&path);
        let plan = place.plan(args).with_effects(reads(&path, about.as_ref().ok()));
        Ok((plan, Work { call, input, place, path, about }))
    }

    fn call(&self, work: Work, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let site = work.place.site(cx);
        let (result, walked) = match search(&work, &site) {
            Ok(found) => found,
            Err(told) => return Ok(ToolOutput::plain_error(&told)),
        };
        if walked.ended == Some(Ended::Cancelled) {
            return Err(ToolError::new("Cancelled", "the call was cancelled"));
        }
        // The result belongs to the identity: new matches are progress.
        let times = self.memory.repeated(cx, (&work.call, result.to_string()));
        let mut result = result;
        match times {
            0..REPEATS_WARNED => {}
            REPEATS_WARNED => {
                result["_warning"] = json!(
                    "this is the same search for the 3rd time in a row: go on with what you have"
                );
            }
            _ => {
                return Ok(ToolOutput::plain_error(&format!(
                    "the same search was made {times} times with the same result: use what you \
                     have, or search for something else"
                )));
            }
        }
        Redactor::of(&cx.settings).value(&mut result);
        Ok(ToolOutput::json(&result))
    }
}

/// The result and how the walk went, or what the model is told instead.
fn search(work: &Work, site: &Site<'_>) -> Result<(Value, Walked), String> {
    let Work { input, path, about, .. } = work;
    if input.pattern.is_empty() {
        return Err("`pattern` is empty: say what to search for".to_owned());
    }
    let mut asked = asked(input)?;
    let target = input.target.unwrap_or_default();
    let about = about.as_ref().map_err(|why| unsearchable(path, why, site))?;
    let file_glob = input.file_glob.as_deref().map(str::trim).filter(|glob| !glob.is_empty());
    let mut globs = file_glob.map(compiled).transpose()?.into_iter().collect::<Vec<_>>();
    match target {
        Target::Files => globs.push(compiled(&input.pattern)?),
        // A file that was named itself is wanted, whatever its name.
        Target::Content if !about.is_folder => globs.clear(),
        Target::Content => {}
    }
    // Results are told by the path that was asked for, not by the one behind its links.
    let named = |inside: &Path| {
        let asked = if about.is_folder { path.join(inside) } else { path.clone() };
        site.shown(&asked)
    };
    let place = Where { site, about, globs: &globs };
    match target {
        Target::Files => {
            let found = place.names(&mut asked)?;
            note_plain_name(&input.pattern, &found, &mut asked.warnings);
            Ok((shape::names(&found, &asked, named), found.walked))
        }
        Target::Content => {
            let pattern = Pattern::new(&input.pattern).map_err(|error| {
                format!("`pattern` is no regular expression: {error}; escape what is literal")
            })?;
            let found = place.content(&input.pattern, &pattern, &mut asked)?;
            note_content(&pattern, &found, &mut asked.warnings);
            Ok((shape::matches(&found, &asked, named), found.walked))
        }
    }
}

/// What is searched.
struct Where<'a> {
    site: &'a Site<'a>,
    about: &'a About,
    globs: &'a [Glob],
}

impl Where<'_> {
    fn scope<'b>(&'b self, watch: &'b Watch<'b>) -> Scope<'b> {
        Scope {
            root: &self.about.real,
            user_home: self.site.home(),
            globs: self.globs,
            guard: &self.site.guard,
            watch,
        }
    }

    fn elsewhere(&self, keep: Keep) -> Option<elsewhere::Target<'_>> {
        Some(elsewhere::Target {
            there: self.site.there()?,
            root: &self.about.real,
            is_folder: self.about.is_folder,
            globs: self.globs,
            guard: &self.site.guard,
            context: if let Keep::Lines { context } = keep { context } else { 0 },
            until: self.site.cx.deadline,
        })
    }

    fn names(&self, asked: &mut Asked) -> Result<Names, String> {
        let needed = asked.offset + asked.limit;
        match self.elsewhere(asked.keep) {
            Some(target) => elsewhere::names(&target, needed, &mut asked.warnings),
            None => Ok(names::find(self.scope(&Watch::new(self.site.cx, SEARCH_MAX)), needed)),
        }
    }

    fn content(&self, text: &str, pattern: &Pattern, asked: &mut Asked) -> Result<Matches, String> {
        let needed = asked.offset + asked.limit;
        if let Some(target) = self.elsewhere(asked.keep) {
            return elsewhere::content(&target, text, asked.keep, needed, &mut asked.warnings);
        }
        let watch = Watch::new(self.site.cx, SEARCH_MAX);
        Ok(content::search(self.scope(&watch), pattern, asked.keep, needed))
    }
}

fn asked(input: &Input) -> Result<Asked, String> {
    let mut warnings = Vec::new();
    let mut bounded = |name: &str, asked: Option<i64>, usual: usize, (least, most)| {
        let asked = asked.map_or(usual, |asked| usize::try_from(asked).unwrap_or(0));
        if asked > most {
            warnings.push(format!("`{name}` was lowered to {most}"));
        }
        asked.clamp(least, most)
    };
    let limit = bounded("limit", input.limit, LIMIT_USUAL, (1, LIMIT_MAX));
    let context = bounded("context", input.context, 0, (0, CONTEXT_MAX));
    let offset = input.offset.map_or(0, |offset| usize::try_from(offset).unwrap_or(0));
    if offset > OFFSET_MAX {
        return Err(format!(
            "`offset` is at most {OFFSET_MAX}: narrow the search with `path` or `file_glob`"
        ));
    }
    let keep = match input.output_mode.unwrap_or_default() {
        OutputMode::Content => Keep::Lines { context },
        OutputMode::FilesOnly => Keep::Name,
        OutputMode::Count => Keep::Count,
    };
    Ok(Asked { limit, offset, keep, warnings })
}

fn compiled(glob: &str) -> Result<Glob, String> {
    Glob::new(glob).map_err(|error| format!("`{glob}` is no name pattern: {error}"))
}

fn unsearchable(path: &Path, unreadable: &Unreadable, site: &Site<'_>) -> String {
    let name = site.shown(path);
    match unreadable {
        Unreadable::Missing => format!("`{name}` does not exist"),
        Unreadable::Folder | Unreadable::Special => {
            format!("`{name}` is neither a folder nor a regular file")
        }
        Unreadable::Protected(protected) => format!("`{name}` is not searched: {protected}"),
        Unreadable::System(error) => format!("`{name}` cannot be searched: {error}"),
    }
}

fn note_plain_name(pattern: &str, found: &Names, warnings: &mut Vec<String>) {
    if found.total == 0 && !pattern.contains(['*', '?', '[', '{']) {
        warnings.push(format!("no file has exactly this name: `*{pattern}*` finds parts of names"));
    }
}

fn note_content(pattern: &Pattern, found: &Matches, warnings: &mut Vec<String>) {
    if pattern.spans_lines {
        warnings
            .push("a line end in `pattern` never matches: lines are searched one by one".into());
    }
    if let Some(byte) = found.binary_at {
        warnings
            .push(format!("the file is binary from byte {byte} on and was searched up to there"));
    }
}
