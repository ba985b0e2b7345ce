//! `kanban_attach_url`: a file from the web for a task.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::taint::Taint;
use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use petasos_net::{Method, Net, NetOptions, Reach, Request, checked_url};
use petasos_store::{ATTACHMENT_BYTES_MAX, NewFile};
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::trouble::Trouble;
use crate::{vendors, web};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_attach_url",
    toolset: "kanban",
    description: "Attach a file from the web to a task",
    emoji: "📎",
    core: true,
    check: Some(&board::KANBAN),
    schema,
    examples: &[
        Example {
            title: "a file from the web",
            args: r#"{"task_id":"t_0a1b2c3d","url":"https://example.com/"}"#,
            shows: r#""attachment_id":"#,
        },
        Example {
            title: "an address that is none",
            args: r#"{"task_id":"t_00000000","url":"file:///etc/passwd"}"#,
            shows: "bad_argument",
        },
    ],
    build: |ports| Arc::new(BoardTool { ports: ports.clone(), effects, handle: attach }),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Attach a file of the web to a task.",
        "parameters": {
            "type": "object",
            "properties": {
                "task_id": board::task_parameter(),
                "url": { "type": "string" },
                "filename": { "type": "string" },
                "content_type": { "type": "string" },
                "board": board::board_parameter(),
            },
            "required": ["url"],
        },
    })
}

const FIRST_BYTE: Duration = Duration::from_secs(15);
const WHOLE: Duration = Duration::from_mins(1);

fn effects(args: &mut Args, _: &CallContext) -> Effects {
    let url = args.text("url").and_then(|url| checked_url(url).ok());
    let host = url.and_then(|url| url.host_str().map(str::to_owned));
    let reached = host.map_or_else(Effects::none, |host| Effects::one(Effect::Reach(host)));
    reached.and(board::kept())
}

fn attach(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let url = args.text("url").unwrap_or_default();
        web::secret_free(url, desk.cx).map_err(|why| Trouble::new("blocked_policy", why))?;
        let url = checked_url(url)
            .map_err(|error| Trouble::new("bad_argument", format!("`url`: {error}")))?;
        let on = desk.on(desk.task(&args)?)?;
        // Asked before anything is fetched for a task that is not there.
        desk.store.view_task(&on.board, &on.task).await?;
        let mut request = Request::new(Method::GET, url.clone()).first_byte(FIRST_BYTE);
        request.reach = Reach::PublicOnly;
        let net = Net::new(NetOptions::from_settings(&desk.cx.settings));
        let fetched = vendors::until_cancelled(desk.cx, Box::pin(fetch(&net, request))).await?;
        let content_type = args.text("content_type").map(str::to_owned).or(fetched.kind);
        let filename = args.text("filename").map(str::to_owned).or(fetched.name);
        let (filename, content) = (filename.unwrap_or_default(), fetched.content);
        let source = Some(desk.masked(url.as_str()));
        let file = NewFile { filename, content_type, source, content };
        let label = desk.cx.label().with(Taint::WEB);
        let kept = desk.store.attach(on, file, label).await?;
        board::noted(std::slice::from_ref(&kept), desk.cx).await;
        Ok(board::ok(json!({ "attachment_id": kept.attachment_id, "size": kept.size })))
    })
}

/// A file of the web.
struct Fetched {
    kind: Option<String>,
    name: Option<String>,
    content: Vec<u8>,
}

async fn fetch(net: &Net, request: Request) -> Result<Fetched, Trouble> {
    let host = request.url.host_str().unwrap_or_default().to_owned();
    let reply = net.send(request).await?;
    if !(200..300).contains(&reply.status) {
        let why = format!("{host} answered {}", reply.status);
        return Err(Trouble::new("upstream", why).with("status", reply.status));
    }
    let kind = reply.headers.get("content-type").and_then(|it| it.to_str().ok());
    let kind = kind.map(str::to_owned);
    let name = reply.url.path_segments().and_then(|mut parts| parts.next_back());
    let name = name.map(str::to_owned);
    let content = reply.bytes(ATTACHMENT_BYTES_MAX, WHOLE).await?.to_vec();
    Ok(Fetched { kind, name, content })
}
