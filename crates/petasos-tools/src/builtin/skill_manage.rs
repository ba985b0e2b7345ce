//! `skill_manage`: making skills, changing them and putting them away.
//!
//! What may be changed and how is the library's; here are the arguments, the places found by
//! [`crate::edit`], and whether a person decides first.

use std::sync::Arc;

use petasos_contract::bridging::{PlannedTool, Planning};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::tool::{Example, FailureSign};
use petasos_contract::{Args, CallContext, Plan, ToolDef, ToolError, ToolOutput};
use petasos_skills::change::Change;
use petasos_skills::pending::Pending;
use petasos_skills::writer::{self, Wish};
use petasos_skills::{Library, SkillError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::edit::diff;
use crate::edit::replace::{All, NotReplaced, replace};
use crate::edit::text::Text;

const PREVIEW_CHARS: usize = 500;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "skill_manage",
    toolset: "skills",
    description: "Make, change and put away skills",
    emoji: "📝",
    core: true,
    failure: FailureSign::NotMade,
    schema,
    examples: &[
        Example {
            title: "a way of doing is kept",
            args: r#"{"action":"create","name":"felt-hats","content":"---\nname: felt-hats\ndescription: How felt hats are brushed\n---\n\nBrush against the clock.\n"}"#,
            shows: r#""success":true"#,
        },
        Example {
            title: "a name must keep the standard",
            args: r#"{"action":"create","name":"My Skill","content":"x"}"#,
            shows: "is no name for a skill",
        },
    ],
    build: |ports| Arc::new(Planning::new(SkillManage(Library::of(ports)))),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let plain = || json!({ "type": "string" });
    json!({
        "description": "Keep what you learned as a skill: a folder with SKILL.md (front matter \
            `name`, `description`, then instructions) and files under references/, templates/, \
            scripts/, assets/. Read one before you change it.",
        "parameters": {
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "enum": ["create", "patch", "edit", "delete", "write_file", "remove_file"],
                    "description": "edit: a whole new SKILL.md; delete: put away"
                },
                "name": text("Small letters, digits, hyphens"),
                "content": text("The whole SKILL.md"),
                "old_string": plain(),
                "new_string": plain(),
                "replace_all": { "type": "boolean" },
                "category": plain(),
                "file_path": text("scripts/run.sh"),
                "file_content": plain(),
                "absorbed_into": text("delete: who has its content now"),
            },
            "required": ["action", "name"],
        },
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Create,
    Patch,
    Edit,
    Delete,
    WriteFile,
    RemoveFile,
}

#[derive(Deserialize)]
struct Input {
    action: Action,
    name: String,
    content: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    #[serde(default)]
    replace_all: bool,
    category: Option<String>,
    file_path: Option<String>,
    file_content: Option<String>,
    absorbed_into: Option<String>,
}

struct SkillManage(Library);

/// A change that was planned, or why there is none.
type Work = Result<Change, SkillError>;

impl PlannedTool for SkillManage {
    type Work = Work;

    fn plan(&self, args: Args, cx: &CallContext) -> Result<(Plan, Work), ToolError> {
        let input: Input = args.clone().parse()?;
        let change = self.change(input, cx);
        let effects: Effects = match &change {
            Ok(change) => change.paths(&cx.settings).into_iter().map(Effect::Write).collect(),
            Err(_) => Effects::none(),
        };
        Ok((Plan::new(args).with_effects(effects), change))
    }

    fn call(&self, work: Work, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let told = work.and_then(|change| {
            if let Some(why) = writer::staged_because(&change, cx) {
                return Pending::stage(change, why, cx);
            }
            let at = change.apply(&cx.settings)?;
            Ok(writer::told(&change, &at, &cx.settings))
        });
        Ok(ToolOutput::json(&told.unwrap_or_else(SkillError::told)))
    }
}

impl SkillManage {
    fn change(&self, input: Input, cx: &CallContext) -> Work {
        let name = input.name.clone();
        let missing = |what: &str| SkillError::bad(format!("`{what}` is missing"));
        let mut before = None;
        let wish = match input.action {
            Action::Create => Wish::Create {
                content: input.content.ok_or_else(|| missing("content"))?,
                category: input.category,
            },
            Action::Edit => {
                let content = input.content.ok_or_else(|| missing("content"))?;
                before = self.0.editable(&name, None, cx)?.text;
                Wish::Put { action: "edit", file: None, content }
            }
            Action::Patch => {
                let (old, new) = (input.old_string, input.new_string);
                let old = old.ok_or_else(|| missing("old_string"))?;
                let new = new.ok_or_else(|| missing("new_string"))?;
                let all = if input.replace_all { All::Places } else { All::Unique };
                let found = self.0.editable(&name, input.file_path.as_deref(), cx)?;
                let text = found.text.ok_or_else(|| {
                    SkillError::missing(format!("skill `{name}` has no file `{}`", found.file))
                })?;
                let content = patched(&text, &old, &new, all)?;
                before = Some(text);
                Wish::Put { action: "patch", file: Some(found.file), content }
            }
            Action::WriteFile => {
                let file = input.file_path.ok_or_else(|| missing("file_path"))?;
                let content = input.file_content.ok_or_else(|| missing("file_content"))?;
                before = self.0.editable(&name, Some(&file), cx)?.text;
                Wish::Put { action: "write_file", file: Some(file), content }
            }
            Action::RemoveFile => {
                let file = input.file_path.ok_or_else(|| missing("file_path"))?;
                before = self.0.editable(&name, Some(&file), cx)?.text;
                Wish::RemoveFile { file }
            }
            Action::Delete => Wish::Delete { absorbed_into: input.absorbed_into },
        };
        let mut change = self.0.change(&name, wish, cx)?;
        if let Some(step) = change.files.last() {
            change.diff = diff::unified(&step.path, before.as_deref(), step.after.as_deref());
        }
        Ok(change)
    }
}

fn patched(text: &str, old: &str, new: &str, all: All) -> Result<String, SkillError> {
    let replaced = replace(&Text::fresh(text), old, new, all).map_err(|error| {
        let said = SkillError::bad(error.to_string());
        match error {
            NotReplaced::Missing { closest } => {
                let preview: String = text.chars().take(PREVIEW_CHARS).collect();
                said.with("file_preview", preview).with("closest", json!(closest))
            }
            _ => said,
        }
    })?;
    // Line ends stay as they were.
    Ok(String::from_utf8_lossy(&replaced.text.bytes()).into_owned())
}
