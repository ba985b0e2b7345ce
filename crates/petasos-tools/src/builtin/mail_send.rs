//! `mail_send`: a letter from the person's own address.

use std::sync::Arc;

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_vendors::VendorError;
use petasos_vendors::mail::{Account, Draft};
use serde_json::{Value, json};

use crate::post::{self, Written};
use crate::vendors::{self, Shape};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "mail_send",
    toolset: "mail",
    description: "Send a letter",
    emoji: "✉️",
    check: Some(&post::ACCOUNT),
    schema,
    examples: &[
        Example {
            title: "a letter",
            args: r#"{"to":["ada@example.org"],"subject":"Lunch","body":"At noon?"}"#,
            shows: r#""success":true"#,
        },
        Example {
            title: "nobody is written to",
            args: r#"{"to":["not an address"],"body":"At noon?"}"#,
            shows: "is no mail address",
        },
    ],
    build: |_| Arc::new(MailSend),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Send a letter from the user's own address. The user is asked about each \
            recipient first; write a draft where they should read it before.",
        "parameters": { "type": "object", "properties": post::properties(), "required": ["to", "body"] },
    })
}

struct MailSend;

impl Tool for MailSend {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let draft: Result<Draft, VendorError> = cleared.into_work()?;
            let token = post::token(cx);
            let work = async {
                let draft = draft?;
                Account::open(&cx.settings)?.send(&draft, &token).await
            };
            let sent = vendors::until_cancelled(cx, Box::pin(work)).await;
            Ok(vendors::told(sent, Shape::Success, cx))
        })
    }

    /// A letter that cannot be sent reaches nobody; the run says why.
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let planned = args.clone().parse::<Written>().map(|input| {
            let draft = input.draft();
            let (effects, work) = match Account::recipients(&draft) {
                Ok(all) => {
                    let targets =
                        all.into_iter().map(|to| Effect::Send { target: format!("mail:{to}") });
                    (targets.fold(post::sending(cx), Effects::and), Ok(draft))
                }
                Err(error) => (Effects::none(), Err(error)),
            };
            Plan::new(args).with_effects(effects).with_work::<Result<Draft, VendorError>>(work)
        });
        Box::pin(std::future::ready(planned))
    }
}
