//! `notify`: a word to the person, wherever they are: on the desktop, by ntfy, by mail.

use std::sync::Arc;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::ports::Ports;
use petasos_contract::processes::Processes;
use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_vendors::VendorError;
use petasos_vendors::mail::Account;
use petasos_vendors::ntfy::Topic;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::notice::{self, Channel, Notice};
use crate::post;
use crate::vendors::{self, Shape};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "notify",
    toolset: "notify",
    description: "Tell the user something wherever they are",
    emoji: "🔔",
    check: Some(&NOTICE),
    schema,
    examples: &[
        Example {
            title: "a word to the person",
            args: r#"{"message":"The build is done"}"#,
            shows: r#""success":true"#,
        },
        Example {
            title: "nothing to say",
            args: r#"{"message":" "}"#,
            shows: "`message` is empty",
        },
    ],
    build: |ports: &Ports| Arc::new(Notify(ports.processes.clone())),
    ..ToolDef::USUAL
};

/// Some channel is there.
static NOTICE: CheckDef = CheckDef {
    id: "notify",
    scope: CheckScope::Profile,
    probe: |cx| {
        let ready = notice::choose(None, &cx.settings, cx.ports.processes.is_some()).is_ok();
        Box::pin(async move { Availability::when(ready, notice::NEEDS) })
    },
};

const MESSAGE_CHARS_MAX: usize = 2000;

fn schema() -> Value {
    json!({
        "description": "Tell the user something while they may be elsewhere: on the desktop, by \
            ntfy on their phone, or by mail to themselves. For what they asked to be told, not \
            for the answer itself.",
        "parameters": {
            "type": "object",
            "properties": {
                "message": { "type": "string", "description": "What to tell, in a sentence or two" },
                "title": { "type": "string", "description": "A few words above it" },
                "urgency": { "type": "string", "enum": ["low", "normal", "critical"], "default": "normal", "description": "How urgent it is" },
                "channel": { "type": "string", "enum": ["desktop", "ntfy", "mail"], "description": "Only this way; without, the first one that is set up" }
            },
            "required": ["message"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    message: String,
    title: Option<String>,
    urgency: Option<String>,
    channel: Option<String>,
}

struct Notify(Option<Arc<dyn Processes>>);

impl Notify {
    async fn tell(&self, input: &Input, cx: &CallContext) -> Result<Value, VendorError> {
        let message = input.message.trim();
        if message.is_empty() {
            return Err(VendorError::argument("`message` is empty: say what to tell"));
        }
        if message.chars().count() > MESSAGE_CHARS_MAX {
            return Err(VendorError::new("too_large", "`message` is longer than 2,000 characters"));
        }
        let channel = notice::choose(input.channel.as_deref(), &cx.settings, self.0.is_some())?;
        let title = input.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
        let title = title.unwrap_or("Petasos");
        let urgency = input.urgency.as_deref().unwrap_or("normal");
        match channel {
            Channel::Desktop => {
                let Some(processes) = &self.0 else {
                    return Err(VendorError::new("missing_setup", notice::NEEDS));
                };
                let notice = Notice { title, message, urgency };
                notice::on_desktop(processes.as_ref(), &notice, cx).await?;
            }
            Channel::Ntfy => Topic::open(&cx.settings)?.publish(title, message, urgency).await?,
            Channel::Mail => {
                Account::open(&cx.settings)?.tell_self(title, message, &post::token(cx)).await?;
            }
        }
        Ok(json!({ "success": true, "channel": channel.name() }))
    }
}

impl Tool for Notify {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let told = vendors::until_cancelled(cx, Box::pin(self.tell(&input, cx))).await;
            Ok(vendors::told(told, Shape::Success, cx))
        })
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let wanted = args.text("channel").map(str::to_owned);
        let effects = match notice::choose(wanted.as_deref(), &cx.settings, self.0.is_some()) {
            Ok(channel) => {
                let target = format!("self:{}", channel.name());
                channel.reached(&cx.settings).and(Effect::Send { target })
            }
            Err(_) => Effects::none(),
        };
        Box::pin(std::future::ready(Ok(Plan::new(args).with_effects(effects))))
    }
}
