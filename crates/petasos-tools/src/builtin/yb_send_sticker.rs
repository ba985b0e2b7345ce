//! `yb_send_sticker`: a sticker for a chat of Yuanbao.

use std::sync::Arc;

use petasos_contract::tool::{Example, Provenance};
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use petasos_vendors::VendorError;
use petasos_vendors::yuanbao::{self, Client, Part, To};
use serde_json::{Value, json};

use crate::yuanbao::{YUANBAO, YuanbaoTool};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "yb_send_sticker",
    toolset: "hermes-yuanbao",
    description: "Send a Yuanbao sticker",
    emoji: "🎨",
    provenance: Provenance::Foreign,
    check: Some(&YUANBAO),
    schema,
    examples: &[Example {
        title: "a sticker to a member",
        args: r#"{"sticker":"ok","chat_id":"direct:u3"}"#,
        shows: r#""success":true"#,
    }],
    build: |_| Arc::new(YuanbaoTool { target, reads: |_, _| Vec::new(), handle: act }),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Send a Yuanbao sticker to a chat.",
        "parameters": {
            "type": "object",
            "properties": {
                "sticker": { "type": "string", "description": "Its name or number; one that greets without" },
                "chat_id": { "type": "string", "description": "`group:CODE` or `direct:ACCOUNT`" },
                "reply_to": { "type": "string", "description": "A message of the group that it answers" },
            },
        },
    })
}

/// The sticker of whoever names none.
const USUAL: &str = "点赞";

fn target(args: &Args) -> Option<String> {
    Some(To::parse(args.text("chat_id")?)?.chat())
}

fn act<'a>(
    client: &'a mut Client,
    args: Args,
    _: &'a CallContext,
) -> BoxFuture<'a, Result<Value, VendorError>> {
    Box::pin(async move {
        let to = args.text("chat_id").and_then(To::parse);
        let to = to.ok_or_else(|| {
            VendorError::argument("say which chat: `chat_id` is `group:CODE` or `direct:ACCOUNT`")
        })?;
        let word = args.text("sticker").map(str::trim).filter(|word| !word.is_empty());
        let word = word.unwrap_or(USUAL);
        let sticker = yuanbao::sticker(word).ok_or_else(|| {
            let near: Vec<&str> = yuanbao::search(word, 5).iter().map(|it| it.name).collect();
            let why = format!("there is no sticker `{word}`: see candidates");
            VendorError::new("not_found", why).with("candidates", near)
        })?;
        let reply_to = args.text("reply_to").filter(|id| !id.is_empty());
        let id = client.send(&to, &Part::Sticker(sticker), reply_to).await?;
        Ok(json!({
            "success": true,
            "chat_id": to.chat(),
            "message_id": id,
            "sticker": { "sticker_id": sticker.id, "name": sticker.name },
        }))
    })
}
