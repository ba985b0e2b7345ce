//! `project_create`: a workspace with a name, and the conversation moves there.

use std::path::PathBuf;
use std::sync::Arc;

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::ports::Ports;
use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_redact::Redactor;
use serde_json::{Value, json};

use crate::panel::{self, DESKTOP};
use crate::projects::{self, Project, Register};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "project_create",
    toolset: "project",
    description: "Make a workspace with a name and go there",
    check: Some(&DESKTOP),
    schema,
    examples: &[Example {
        title: "a folder with a name",
        args: r#"{"name":"Notes"}"#,
        shows: r#""slug":"notes""#,
    }],
    build: |ports| Arc::new(Create(ports.clone())),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Create a named workspace, in a folder of yours or a new one, and move the \
            conversation there when this turn ends.",
        "parameters": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "Its name" },
                "path": { "type": "string", "description": "Its folder; a new one without" },
            },
            "required": ["name"],
        },
    })
}

struct Create(Ports);

type Work = Result<(String, String, PathBuf), Trouble>;

fn resolved(args: &Args, cx: &CallContext) -> Work {
    let name = args.text("name").unwrap_or_default().trim().to_owned();
    let slug = projects::slug(&name);
    let slug =
        slug.ok_or_else(|| Trouble::new("bad_argument", "a project needs a name with a letter"))?;
    let folder = projects::folder(args.text("path").filter(|it| !it.is_empty()), &slug, cx);
    Ok((name, slug, folder))
}

impl Tool for Create {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let work = resolved(&args, cx);
        let effects = match &work {
            Ok((_, _, folder)) if !folder.is_dir() => Effects::one(Effect::Write(folder.clone())),
            _ => Effects::none(),
        };
        let plan = Plan::new(args).with_effects(effects).with_work(work);
        Box::pin(std::future::ready(Ok(plan)))
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let work: Work = cleared.into_work()?;
            let made = match work {
                Ok(work) => self.make(work, cx).await,
                Err(trouble) => Err(trouble),
            };
            let mut value = made.unwrap_or_else(Trouble::unsuccessful);
            Redactor::of(&cx.settings).value(&mut value);
            Ok(ToolOutput::json(&value))
        })
    }
}

impl Create {
    async fn make(
        &self,
        (name, slug, folder): (String, String, PathBuf),
        cx: &CallContext,
    ) -> Result<Value, Trouble> {
        let panel = panel::panel(&self.0, cx)?;
        let made = tokio::fs::create_dir_all(&folder).await;
        made.map_err(|error| {
            Trouble::new("upstream", format!("`{}` cannot be made: {error}", folder.display()))
        })?;
        let mut bits = [0_u8; 4];
        getrandom::fill(&mut bits).map_err(|error| Trouble::new("upstream", error.to_string()))?;
        let id = format!("p_{:08x}", u32::from_be_bytes(bits));
        let project = Project { id, slug, name, primary_path: folder };
        Register::open(&self.0, &cx.settings)?.add(&project).await?;
        let moved = panel.move_to(&project.primary_path, cx);
        panel::answered("a move to another workspace", moved).await?;
        let mut told = json!(project);
        told["success"] = true.into();
        Ok(told)
    }
}
