//! `yb_query_group_members`: who is in a group of Yuanbao.

use petasos_contract::tool::{Example, Provenance};
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use petasos_vendors::VendorError;
use petasos_vendors::yuanbao::{Client, Member};
use serde_json::{Value, json};

use crate::yuanbao::{self, YUANBAO, YuanbaoTool};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "yb_query_group_members",
    toolset: "hermes-yuanbao",
    description: "Find members of a Yuanbao group",
    emoji: "📋",
    provenance: Provenance::Foreign,
    check: Some(&YUANBAO),
    schema,
    examples: &[Example {
        title: "everybody in it",
        args: r#"{"group_code":"9","action":"list_all"}"#,
        shows: r#""members":["#,
    }],
    build: |_| YuanbaoTool::reading(act),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Find members of a Yuanbao group by name, list its bots, or list everybody.",
        "parameters": {
            "type": "object",
            "properties": {
                "group_code": { "type": "string", "description": "The group" },
                "action": {
                    "type": "string",
                    "enum": ["find", "list_bots", "list_all"],
                    "description": "Whom to look for"
                },
                "name": { "type": "string", "description": "Part of a name, for find" },
                "mention": { "type": "boolean", "description": "Say how to mention them" },
            },
            "required": ["group_code", "action"],
        },
    })
}

const HINT: &str = "to mention somebody write a space, @, the nickname and a space: ` @Ada `";

fn act<'a>(
    client: &'a mut Client,
    args: Args,
    _: &'a CallContext,
) -> BoxFuture<'a, Result<Value, VendorError>> {
    Box::pin(async move {
        let code = args.text("group_code").map(str::trim).filter(|code| !code.is_empty());
        let code = code.ok_or_else(|| VendorError::argument("`group_code` is empty"))?;
        let members = client.members(code).await?;
        let name = args.text("name").map(str::trim).filter(|name| !name.is_empty());
        let found: Vec<&Member> = match (args.text("action").unwrap_or("list_all"), name) {
            ("list_bots", _) => members.iter().filter(|it| it.role != "user").collect(),
            ("find", Some(name)) => yuanbao::named(&members, name),
            ("find" | "list_all", _) => members.iter().collect(),
            (other, _) => {
                let why = format!("`{other}` is no action: find, list_bots or list_all");
                return Err(VendorError::argument(why));
            }
        };
        if found.is_empty() {
            let rows: Vec<Value> = members.iter().take(20).map(yuanbao::row).collect();
            let why = format!("nobody in group `{code}` fits; see candidates");
            return Err(VendorError::new("not_found", why).with("candidates", rows));
        }
        let mut told = json!({
            "success": true,
            "msg": format!("{} of {} members", found.len(), members.len()),
            "members": found.iter().map(|it| yuanbao::row(it)).collect::<Vec<_>>(),
        });
        if args.get("mention") == Some(&Value::Bool(true)) {
            told["mention_hint"] = HINT.into();
        }
        Ok(told)
    })
}
