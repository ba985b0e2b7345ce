//! `send_message`: a message to people on a chat platform, a list of whom it can reach, or a mark
//! under a message.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::context::Surface;
use petasos_contract::delivery::{
    Delivered, Deliveries, Destination, Mark, Parcel, Receipt, TargetError,
};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Heat, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_redact::Redactor;
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "send_message",
    toolset: "messaging",
    description: "Send a message to people on a chat platform",
    emoji: "📨",
    core: true,
    check: Some(&PLATFORMS),
    schema,
    examples: &[Example {
        title: "a message to a chat",
        args: r#"{"target":"telegram:7","message":"The hats are ready."}"#,
        shows: r#""success":true"#,
    }],
    build: |ports| Arc::new(SendMessage(ports.deliveries.clone())),
    ..ToolDef::USUAL
};

/// How long the outcome is waited for; a message that is planned goes on without us.
const WAIT: Duration = Duration::from_secs(20);

/// The kind of a chat with one person.
const ALONE: &str = "dm";

/// Some platform can be written to.
static PLATFORMS: CheckDef = CheckDef {
    id: "deliveries",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            match cx.ports.deliveries.as_ref().map(|deliveries| deliveries.ready()) {
                Some(Ok(())) => Availability::Ready,
                Some(Err(why)) => Availability::Missing(why),
                None => Availability::Missing(ABSENT.to_owned()),
            }
        })
    },
};

const ABSENT: &str = "no chat platform can be reached from this program";

fn schema() -> Value {
    json!({
        "description": "Send a message to people on a configured chat platform. `list` first when \
            the target is not known: names are never guessed. Markdown is shown in the platform's \
            own way; MEDIA:/path on a line of its own sends a file.",
        "parameters": {
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "enum": ["send", "list", "react", "unreact"],
                    "default": "send",
                    "description": "send a message, list the known targets, or put or take a mark"
                },
                "target": {
                    "type": "string",
                    "description": "platform (its home channel), platform:#name, platform:id[:thread], or origin for this chat"
                },
                "message": { "type": "string", "description": "The text, in Markdown" },
                "emoji": { "type": "string", "description": "The mark of react and unreact" },
                "message_id": {
                    "type": "string",
                    "description": "The message that react and unreact are about"
                }
            },
        },
    })
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    Send,
    List,
    React,
    Unreact,
}

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    action: Action,
    target: Option<String>,
    message: Option<String>,
    emoji: Option<String>,
    message_id: Option<String>,
}

struct SendMessage(Option<Arc<dyn Deliveries>>);

/// What a call comes to once its target is known.
enum Work {
    List,
    Send(Destination, String),
    Mark(Destination, String, String, Action),
    Refused(Value),
}

impl Tool for SendMessage {
    /// The target is resolved here, so that what is judged and shown is where it goes.
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(async move {
            let input: Input = args.clone().parse()?;
            let work = self.work(input, cx).await;
            let effects = self.effects_of(&work, cx);
            Ok(Plan::new(args).with_effects(effects).with_work(work))
        })
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let work: Work = cleared.into_work()?;
            let mut answer = self.answer(work, cx).await;
            Redactor::of(&cx.settings).value(&mut answer);
            Ok(ToolOutput::json(&answer))
        })
    }
}

impl SendMessage {
    async fn work(&self, input: Input, cx: &CallContext) -> Work {
        let Some(deliveries) = &self.0 else {
            return Work::Refused(error("missing_setup", ABSENT));
        };
        if let Err(why) = deliveries.ready() {
            return Work::Refused(error("missing_setup", &why));
        }
        if matches!(input.action, Action::List) {
            return Work::List;
        }
        let Some(target) = input.target.filter(|target| !target.trim().is_empty()) else {
            return Work::Refused(error(
                "invalid_arguments",
                "`target` is missing: `list` shows the targets",
            ));
        };
        let to = match deliveries.resolve(&target, &cx.address).await {
            Ok(to) => to,
            Err(why) => return Work::Refused(refused(&why)),
        };
        match input.action {
            Action::Send => match input.message.filter(|text| !text.trim().is_empty()) {
                Some(text) => Work::Send(to, text),
                None => Work::Refused(error(
                    "invalid_arguments",
                    "`message` is missing: say what to send",
                )),
            },
            action => match (input.message_id, input.emoji) {
                (Some(message), Some(emoji)) => Work::Mark(to, message, emoji, action),
                _ => Work::Refused(error(
                    "invalid_arguments",
                    "a mark needs `message_id` and `emoji`",
                )),
            },
        }
    }

    /// A message to this very chat leaves nothing behind that the reply would not, but for private
    /// text that strangers may have asked for in front of others. A person who is there owns the
    /// home channels, unless strangers' words may be speaking.
    fn effects_of(&self, work: &Work, cx: &CallContext) -> Effects {
        let (to, text) = match work {
            Work::Send(to, text) => (to, text.as_str()),
            Work::Mark(to, ..) => (to, ""),
            Work::List | Work::Refused(_) => return Effects::none(),
        };
        let files = self.0.as_ref().map(|it| it.files(text)).unwrap_or_default();
        let reads = files.into_iter().map(|path| Effect::Read(PathBuf::from(path)));
        let here = to.is_at(&cx.address) && !tells_all(to, text, cx);
        let own = here || (to.home && cx.attended && cx.words.heat() == Heat::Clean);
        let sends = (!own).then(|| Effect::Send { target: to.to_string() });
        sends.into_iter().chain(reads).collect()
    }

    async fn answer(&self, work: Work, cx: &CallContext) -> Value {
        let Some(deliveries) = &self.0 else { return error("missing_setup", ABSENT) };
        match work {
            Work::Refused(why) => why,
            Work::List => match deliveries.destinations().await {
                Ok(all) => json!({ "targets": all.iter().map(listed).collect::<Vec<_>>() }),
                Err(why) => refused(&why),
            },
            Work::Mark(to, message, emoji, action) => {
                let mark = match action {
                    Action::Unreact => Mark::Take(&emoji),
                    _ => Mark::Put(&emoji),
                };
                match deliveries.react(&to, &message, mark).await {
                    Ok(()) => {
                        json!({ "success": true, "platform": to.platform, "chat_id": to.chat, "message_id": message })
                    }
                    Err(why) => error("upstream", &why),
                }
            }
            // The reply of a scheduled run goes there anyway.
            Work::Send(to, _) if cx.surface == Surface::Cron && to.is_at(&cx.address) => json!({
                "success": true,
                "skipped": true,
                "platform": to.platform,
                "chat_id": to.chat,
                "note": "the reply of this run is delivered there: write it as the reply",
            }),
            Work::Send(to, text) => {
                let token = format!("send-{}-{}-{}", cx.session, cx.turn, cx.call);
                let parcel = Parcel { to: to.clone(), text, token, wait: WAIT };
                match deliveries.deliver(parcel).await {
                    Ok(receipt) => sent(&to, receipt),
                    Err(why) => error("upstream", &why),
                }
            }
        }
    }
}

/// Whether private text would be told to several people while strangers' words may be speaking:
/// those of this turn or, where nobody can be asked, of any. A chat of an unknown kind is a group.
fn tells_all(to: &Destination, text: &str, cx: &CallContext) -> bool {
    let close = match cx.words.heat() {
        Heat::Hot => true,
        Heat::Warm => !cx.attended,
        Heat::Clean => false,
    };
    close && to.kind != ALONE && cx.words.leaks(text)
}

fn sent(to: &Destination, receipt: Receipt) -> Value {
    let mut answer = json!({
        "success": receipt.outcome != Delivered::Failed,
        "platform": to.platform,
        "chat_id": to.chat,
        "message_ids": receipt.messages,
        "parts": receipt.parts,
        "media": receipt.media,
    });
    if let Some(thread) = &to.thread {
        answer["thread_id"] = json!(thread);
    }
    if receipt.outcome != Delivered::Sent {
        answer["outcome"] = json!(receipt.outcome);
    }
    match receipt.note {
        Some(why) if receipt.outcome == Delivered::Failed => {
            answer["error"] = json!(why);
            answer["error_type"] = json!("upstream");
        }
        Some(note) => answer["note"] = json!(note),
        None => {}
    }
    answer
}

fn listed(it: &Destination) -> Value {
    let mut line =
        json!({ "platform": it.platform, "id": it.chat, "name": it.name, "kind": it.kind });
    if let Some(thread) = &it.thread {
        line["thread"] = json!(thread);
    }
    if it.home {
        line["home"] = json!(true);
    }
    if let Some(why) = &it.unreachable {
        line["unreachable"] = json!(why);
    }
    line
}

fn error(kind: &str, why: &str) -> Value {
    json!({ "success": false, "error": why, "error_type": kind })
}

fn refused(why: &TargetError) -> Value {
    let (kind, candidates) = match why {
        TargetError::NotFound { candidates, .. } => ("not_found", candidates.as_slice()),
        TargetError::Ambiguous { candidates, .. } => ("ambiguous", candidates.as_slice()),
        TargetError::Failed(_) => ("upstream", &[] as &[String]),
    };
    let mut answer = error(kind, &why.to_string());
    answer["candidates"] = json!(candidates);
    answer
}
