//! `yb_query_group_info`: a group of Yuanbao.

use petasos_contract::tool::{Example, Provenance};
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use petasos_vendors::VendorError;
use petasos_vendors::yuanbao::Client;
use serde_json::{Value, json};

use crate::yuanbao::{YUANBAO, YuanbaoTool};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "yb_query_group_info",
    toolset: "hermes-yuanbao",
    description: "Show a Yuanbao group",
    emoji: "👥",
    provenance: Provenance::Foreign,
    check: Some(&YUANBAO),
    schema,
    examples: &[Example {
        title: "a group",
        args: r#"{"group_code":"9"}"#,
        shows: r#""group_name":"#,
    }],
    build: |_| YuanbaoTool::reading(act),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Show the name, the size and the owner of a Yuanbao group (called Pai in the app).",
        "parameters": {
            "type": "object",
            "properties": { "group_code": { "type": "string", "description": "The group" } },
            "required": ["group_code"],
        },
    })
}

fn act<'a>(
    client: &'a mut Client,
    args: Args,
    _: &'a CallContext,
) -> BoxFuture<'a, Result<Value, VendorError>> {
    Box::pin(async move {
        let code = args.text("group_code").map(str::trim).filter(|code| !code.is_empty());
        let code = code.ok_or_else(|| VendorError::argument("`group_code` is empty"))?;
        let group = client.group(code).await?;
        let (user_id, nickname) = group.owner;
        Ok(json!({
            "success": true,
            "group_code": code,
            "group_name": group.name,
            "member_count": group.members,
            "owner": { "user_id": user_id, "nickname": nickname },
        }))
    })
}
