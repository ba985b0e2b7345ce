//! `write_file`: a whole new content for one file, in one step.
//!
//! Whether the path may be written is policy's decision, from the effects stated here. How a file
//! is replaced is in `files::write`, what is checked around it in `change`.

use std::collections::BTreeSet;
use std::sync::Arc;

use petasos_contract::bridging::{Blocking, SyncTool};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::ports::Ports;
use petasos_contract::tool::{Concurrency, Example, Limit, Patch};
use petasos_contract::{Args, CallContext, ToolDef, ToolError, ToolName, ToolOutput};
use serde_json::{Map, Value, json};

use crate::change::{self, Changer, Planned};
use crate::edit::own_words;
use crate::edit::text::{Manner, Text};
use crate::files::available::FILES;
use crate::mention::{self, Mention};

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "write_file",
    toolset: "file",
    description: "Create a file or replace its whole content",
    emoji: "✍️",
    core: true,
    concurrency: Concurrency::ByPath,
    result_chars_max: Limit::Chars(100_000),
    check: Some(&FILES),
    schema,
    examples: EXAMPLES,
    build: |ports| Arc::new(Blocking::new(WriteFile::new(ports))),
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
        "description": "Write a whole file: creates it, with its folders, or replaces everything \
            in it in one step. Use patch to change part of a file. JSON, YAML and TOML are checked \
            first and not written when they do not parse.",
        "parameters": {
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The file: absolute, relative to the working directory, or \
                        starting with ~/"
                },
                "content": {
                    "type": "string",
                    "description": "The whole text of the file, without line numbers"
                },
                "cross_profile": {
                    "type": "boolean",
                    "description": "Set only when the user asked for a change in another profile",
                    "default": false
                }
            },
            "required": ["path", "content"]
        }
    })
}

struct WriteFile(Changer);

impl WriteFile {
    fn new(ports: &Ports) -> Self {
        Self(Changer::new(ports))
    }

    fn write(&self, path: &str, content: String, cx: &CallContext) -> Result<Value, Told> {
        if let Some(why) = own_words::found_in(&content) {
            return Err(Told::Model(why.to_owned()));
        }
        let site = self.0.sites.open(cx)?;
        let named = site.resolve(path);
        let name = site.shown(&named);
        let real = site.target(&named).map_err(|fault| format!("`{name}`: {fault}"))?;
        let _held = self.0.hold(std::slice::from_ref(&real), cx)?;
        let file = Changer::load(&site, &named, &real)?;
        let is_new = file.bytes.is_none();
        // A file that is no text has no line ends to keep.
        let after = match file.bytes.as_deref().map(Manner::of) {
            Some(Ok(manner)) => manner.text(content),
            Some(Err(_)) | None => Text::fresh(content),
        };
        let bytes_written = after.bytes().len();
        let planned = Planned { file, after: Some(after), like: None, must_parse: true };
        let mut told = self.0.apply(&site, &[planned])?;
        told.warnings.extend(change::left_workspace(path, &real, &site));
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

impl SyncTool for WriteFile {
    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(mention::patch(schema, MENTIONS, granted))
    }

    fn call(&self, args: Args, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let mut args = args.into_object();
        let content = args.remove("content");
        let path = args.get("path").and_then(Value::as_str).filter(|path| !path.trim().is_empty());
        let (path, content) = match (path, content) {
            (None, _) => return Ok(refused("`path` is missing: name the file to write")),
            (_, None | Some(Value::Null)) => {
                return Ok(refused(
                    "`content` is missing, perhaps because it was too long to send: write the \
                     file in smaller steps; for an empty file send an empty text",
                ));
            }
            (Some(path), Some(Value::String(content))) => (path, content),
            (Some(_), Some(_)) => return Ok(refused("`content` must be text")),
        };
        match self.write(path, content, cx) {
            Ok(result) => Ok(ToolOutput::json(&result)),
            Err(Told::Model(text)) => Ok(refused(&text)),
            Err(Told::Failed(error)) => Err(error),
        }
    }

    fn effects(&self, args: &Args, cx: &CallContext) -> Effects {
        let Some(path) = args.text("path") else { return Effects::none() };
        self.0.sites.touched(path, cx).into_iter().map(Effect::Write).collect()
    }
}

fn refused(why: &str) -> ToolOutput {
    ToolOutput::plain_error(why)
}
