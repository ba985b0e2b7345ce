//! `mail_draft`: a letter among the drafts, for a person to send.

use std::sync::Arc;

use petasos_contract::effect::Effect;
use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_vendors::mail::Account;
use serde_json::{Value, json};

use crate::post::{self, Written};
use crate::vendors::{self, Shape};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "mail_draft",
    toolset: "mail",
    description: "Write a draft",
    emoji: "📝",
    check: Some(&post::ACCOUNT),
    schema,
    examples: &[Example {
        title: "a letter that waits",
        args: r#"{"to":["ada@example.org"],"subject":"Lunch","body":"At noon?"}"#,
        shows: r#""success":true"#,
    }],
    build: |_| Arc::new(MailDraft),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Put a letter among the drafts of the user's mailbox, for the user to read \
            and send. Nothing is sent.",
        "parameters": { "type": "object", "properties": post::properties(), "required": ["to", "body"] },
    })
}

struct MailDraft;

impl Tool for MailDraft {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Written = cleared.into_args().parse()?;
            let (draft, token) = (input.draft(), post::token(cx));
            let work = async { Account::open(&cx.settings)?.draft(&draft, &token).await };
            let kept = vendors::until_cancelled(cx, Box::pin(work)).await;
            Ok(vendors::told(kept, Shape::Success, cx))
        })
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let keeps = Effect::Remember { store: "mail drafts".to_owned() };
        let plan = Plan::new(args).with_effects(post::reading(cx).and(keeps));
        Box::pin(std::future::ready(Ok(plan)))
    }
}
