//! `yb_send_dm`: a private message to a member of a Yuanbao group.

use std::path::Path;
use std::sync::Arc;

use petasos_contract::effect::Effect;
use petasos_contract::tool::{Example, Provenance};
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use petasos_vendors::VendorError;
use petasos_vendors::yuanbao::{Client, Part, To};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::judged;
use crate::yuanbao::{self, YUANBAO, YuanbaoTool};

/// A larger file is not sent.
const FILE_BYTES_MAX: u64 = 100 * 1024 * 1024;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "yb_send_dm",
    toolset: "hermes-yuanbao",
    description: "Send a private Yuanbao message",
    emoji: "✉️",
    provenance: Provenance::Foreign,
    check: Some(&YUANBAO),
    schema,
    examples: &[Example {
        title: "a message to a member",
        args: r#"{"user_id":"u1","message":"hello"}"#,
        shows: r#""success":true"#,
    }],
    build: |_| Arc::new(YuanbaoTool { target, reads, handle: act }),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Send a private Yuanbao message, with files if there are any, to somebody \
            by account, or by name in a group that the bot is in.",
        "parameters": {
            "type": "object",
            "properties": {
                "group_code": { "type": "string", "description": "The group where they are met" },
                "name": { "type": "string", "description": "Their name there" },
                "message": { "type": "string", "description": "The words" },
                "user_id": { "type": "string", "description": "Their account, instead of a name" },
                "media_files": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "path": { "type": "string", "description": "The file" },
                            "is_voice": { "type": "boolean", "description": "It is a voice message" },
                        },
                        "required": ["path"],
                    },
                    "description": "Files to send"
                },
            },
        },
    })
}

#[derive(Deserialize)]
struct Input {
    group_code: Option<String>,
    name: Option<String>,
    message: Option<String>,
    user_id: Option<String>,
    #[serde(default)]
    media_files: Vec<Media>,
}

#[derive(Deserialize)]
struct Media {
    path: String,
}

fn target(args: &Args) -> Option<String> {
    let said = |name: &str| args.text(name).map(str::trim).filter(|text| !text.is_empty());
    said("user_id").map(|user| format!("direct:{user}")).or_else(|| {
        // Whom the name means is found out later; the group and the name are what is agreed to.
        Some(format!("{}/{}", said("group_code").unwrap_or("?"), said("name")?))
    })
}

fn reads(args: &mut Args, cx: &CallContext) -> Vec<Effect> {
    let files = args.object_mut().get_mut("media_files").and_then(Value::as_array_mut);
    let paths = files.into_iter().flatten().filter_map(|file| file.get_mut("path"));
    paths.filter_map(|path| judged::pin(path, cx)).collect()
}

fn act<'a>(
    client: &'a mut Client,
    args: Args,
    _: &'a CallContext,
) -> BoxFuture<'a, Result<Value, VendorError>> {
    Box::pin(async move {
        let input: Input = args.parse().map_err(|error| VendorError::argument(error.message()))?;
        let words = input.message.as_deref().filter(|text| !text.trim().is_empty());
        let mut parts: Vec<Part> =
            words.map(|text| Part::Text(text.to_owned())).into_iter().collect();
        for Media { path } in &input.media_files {
            let bytes = judged::bytes(path, FILE_BYTES_MAX).await.map_err(|error| {
                let why = format!("`{path}` cannot be read ({error}); nothing was sent");
                VendorError::new("not_found", why)
            })?;
            let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
            parts.push(Part::File { name: name.unwrap_or_default(), bytes });
        }
        if parts.is_empty() {
            return Err(VendorError::argument("give `message` or `media_files`"));
        }
        let (user, nickname) = whom(client, &input).await?;
        let to = To::Person { user: user.clone(), group: input.group_code };
        let mut ids = Vec::new();
        for part in &parts {
            match client.send(&to, part, None).await {
                Ok(id) => ids.push(id),
                Err(error) => return Err(error.with("message_ids", ids)),
            }
        }
        Ok(json!({
            "success": true,
            "chat_id": to.chat(),
            "user_id": user,
            "nickname": nickname,
            "message_id": ids.last(),
            "message_ids": ids,
        }))
    })
}

/// Who is meant; several are never guessed among.
async fn whom(client: &mut Client, input: &Input) -> Result<(String, String), VendorError> {
    let said = |text: &Option<String>| {
        text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let name = said(&input.name);
    if let Some(user) = said(&input.user_id) {
        return Ok((user, name.unwrap_or_default()));
    }
    let (Some(group), Some(name)) = (said(&input.group_code), name) else {
        let why = "say who: `user_id`, or `name` with the `group_code` of a group they are in";
        return Err(VendorError::argument(why));
    };
    let members = client.members(&group).await?;
    match yuanbao::named(&members, &name)[..] {
        [one] => Ok((one.user_id.clone(), one.nickname.clone())),
        [] => {
            let why = format!("nobody in group `{group}` is called `{name}`");
            Err(VendorError::new("not_found", why))
        }
        ref many => {
            let rows: Vec<Value> = many.iter().map(|it| yuanbao::row(it)).collect();
            let why = format!("{} members are called `{name}`: give `user_id`", many.len());
            Err(VendorError::new("ambiguous", why).with("candidates", rows))
        }
    }
}
