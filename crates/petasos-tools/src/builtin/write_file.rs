//! `write_file`: a whole new content for one file, in one step.
//!
//! Whether the path may be written is policy's decision, from the effects stated here. How a file
//! is replaced is in `files::write`, what is checked around it in `change`.

use std::collections::BTreeSet;
use std::sync::Arc;

use petasos_contract::bridging::{PlannedTool, Planning};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::plan::FileEdit;
use petasos_contract::ports::Ports;
use petasos_contract::tool::{Concurrency, Example, FailureSign, FileChanges, Limit, Patch};
use petasos_contract::{Args, CallContext, Plan, ToolDef, ToolError, ToolName, ToolOutput};
use serde_json::{Map, Value, json};

use crate::change::{self, Changer, EditTarget, Planned, Preview, Previewed};
use crate::edit::own_words;
use crate::edit::text::{Manner, Text};
use crate::files::available::FILES;
use crate::files::site::{FilePlace, Site};
use crate::mention::{self, Mention};

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "write_file",
    toolset: "file",
    description: "Create a file or replace its whole content",
    emoji: "✍️",
    core: true,
    concurrency: Concurrency::ByPath { path: "path", alone: &[] },
    changes: FileChanges::Edits,
    failure: FailureSign::NotMade,
    result_chars_max: Limit::Chars(100_000),
    check: Some(&FILES),
    schema,
    examples: EXAMPLES,
    build: |ports| Arc::new(Planning::new(WriteFile::new(ports))),
    ..ToolDef::USUAL
};

const EXAMPLES: &[Example] = &[
    Example {
        title: "a new file in a new folder",
        args: r#"{"path":"notes/today.txt","content":"first line\n"}"#,
        shows: r#""bytes_written":11,"dirs_created":true"#,
    },
    Example {
        title: "content that does not parse",
        args: r#"{"path":"data.json","content":"{\"a\": }"}"#,
        shows: "would not be valid JSON",
    },
];

const MENTIONS: &[Mention] =
    &[Mention { words: " Use patch to change part of a file.", tools: &["patch"] }];

fn schema() -> Value {
    json!({
        "description": "Write a whole file, with its folders. Use patch to change part of a file. \
            JSON, YAML and TOML must parse.",
        "parameters": {
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "content": { "type": "string" },
                "cross_profile": {
                    "type": "boolean",
                    "default": false
                }
            },
            "required": ["path", "content"]
        }
    })
}

struct WriteFile(Changer);

/// A write that was planned; `Err` is why there is none.
type Work = Result<Arc<WriteWork>, String>;

struct WriteWork {
    place: FilePlace,
    given: String,
    target: EditTarget,
    content: String,
}

impl WriteWork {
    /// What the file becomes; changes nothing.
    fn planned(&self, site: &Site<'_>) -> Result<Planned, String> {
        let file = Changer::load(site, &self.target)?;
        // A file that is no text has no line ends to keep.
        let after = match file.bytes.as_deref().map(Manner::of) {
            Some(Ok(manner)) => manner.text(self.content.clone()),
            Some(Err(_)) | None => Text::fresh(&self.content),
        };
        Ok(Planned { file, after: Some(after), like: None, must_parse: true })
    }
}

impl Previewed for WriteWork {
    fn edits(&self, cx: &CallContext) -> Result<Vec<FileEdit>, String> {
        let site = self.place.site(cx);
        Ok(change::edits(&site, &[self.planned(&site)?]))
    }
}

impl WriteFile {
    fn new(ports: &Ports) -> Self {
        Self(Changer::new(ports))
    }

    fn write(&self, work: &WriteWork, cx: &CallContext) -> Result<Value, Told> {
        let site = work.place.site(cx);
        let (name, real) = (site.shown(&work.target.path), &work.target.real);
        let _held = self.0.hold(std::slice::from_ref(real), cx)?;
        let planned = work.planned(&site)?;
        let is_new = planned.file.bytes.is_none();
        let bytes_written = planned.after.as_ref().map_or(0, |after| after.bytes().len());
        let mut told = self.0.apply(&site, &[planned])?;
        told.warnings.extend(change::left_workspace(&work.given, real, &site));
        let mut result = Map::new();
        result.insert("bytes_written".to_owned(), json!(bytes_written));
        result.insert("dirs_created".to_owned(), json!(told.dirs_created));
        result.insert("resolved_path".to_owned(), json!(real.display().to_string()));
        let modified: &[String] = if is_new { &[] } else { &[name] };
        result.insert("files_modified".to_owned(), json!(modified));
        change::note(&mut result, told);
        Ok(Value::Object(result))
    }
}

/// The file and its new content, or what is wrong with the arguments.
fn input(args: &Args) -> Result<(String, String), String> {
    let path = args.text("path").filter(|path| !path.trim().is_empty());
    let path = path.ok_or("`path` is missing: name the file to write")?;
    let content = match args.get("content") {
        None | Some(Value::Null) => {
            return Err(
                "`content` is missing, perhaps because it was too long to send: write the \
                        file in smaller steps; for an empty file send an empty text"
                    .to_owned(),
            );
        }
        Some(Value::String(content)) => content,
        Some(_) => return Err("`content` must be text".to_owned()),
    };
    match own_words::found_in(content) {
        Some(why) => Err(why.to_owned()),
        None => Ok((path.to_owned(), content.clone())),
    }
}

/// Why there is no result: a word to the model, or a failure.
pub(super) enum Told {
    Model(String),
    Failed(ToolError),
}

impl From<String> for Told {
    fn from(text: String) -> Self {
        Self::Model(text)
    }
}

impl From<ToolError> for Told {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

impl PlannedTool for WriteFile {
    type Work = Work;

    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(mention::patch(schema, MENTIONS, granted))
    }

    fn plan(&self, args: Args, cx: &CallContext) -> Result<(Plan, Work), ToolError> {
        let (given, content) = match input(&args) {
            Ok(input) => input,
            Err(why) => return Ok((Plan::new(args), Err(why))),
        };
        let place = self.0.sites.find(cx)?;
        let site = place.site(cx);
        let plan = place.plan(args);
        match EditTarget::resolve(&site, &given) {
            Ok(target) => {
                let effects = self.0.sites.confined(target.effects().collect(), &place, cx);
                let mut plan = plan.with_effects(effects);
                let work = Arc::new(WriteWork { place, given, target, content });
                plan.edits = Some(Arc::new(Preview(Arc::clone(&work))));
                Ok((plan, Ok(work)))
            }
            Err(why) => {
                let effects = Effects::one(Effect::Write(site.resolve(&given)));
                Ok((plan.with_effects(effects), Err(why)))
            }
        }
    }

    fn call(&self, work: Work, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        match work.map_err(Told::Model).and_then(|work| self.write(&work, cx)) {
            Ok(result) => Ok(ToolOutput::json(&result)),
            Err(Told::Model(text)) => Ok(ToolOutput::plain_error(&text)),
            Err(Told::Failed(error)) => Err(error),
        }
    }
}
