//! Our server, used by our client: approval by elicitation, tokens, cancel, lists that change.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Finding, Intent, Policy, Scope, Verdict, Who,
};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::ports::Ports;
use petasos_contract::tool::{Tool, ToolError};
use petasos_contract::wait::Owned;
use petasos_contract::{Args, BoxFuture, CallContext, Cleared, Secret, ToolOutput};
use petasos_mcp::client::State;
use petasos_mcp::offer::Offer;
use petasos_mcp::server::{ByElicitation, HttpOptions, LogHead, Logs, Toolbox, bind, serve_stdio};
use petasos_net::{Method, Request, checked_url};
use petasos_runtime::availability::Checks;
use petasos_runtime::definitions::{Catalogue, Wanted};
use petasos_runtime::registry::{Entry, Intent as Adding, Origin};
use petasos_runtime::toolsets::Selection;
use petasos_runtime::{Dispatcher, Registry};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;

use crate::kit::{Kit, eventually, view};

/// Asks about everything that is called `danger`.
struct Careful;

impl Policy for Careful {
    fn judge(&self, intent: &Intent<'_>, _: &CallContext) -> Verdict {
        if intent.tool.as_str() != "danger" {
            return Verdict::Allow;
        }
        let why = "it is called danger".to_owned();
        Verdict::Ask(vec![Finding {
            key: "danger".into(),
            why,
            kind: petasos_contract::approval::FindingKind::Rule,
            span: None,
            widest: Scope::Session,
            stores: None,
        }])
    }
}

struct Says(&'static str);

impl Tool for Says {
    fn run<'a>(
        &'a self,
        _: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.0 == "waits" {
                cx.cancel.cancelled().await;
            }
            Ok(ToolOutput::Text(json!({ "said": self.0 }).to_string()))
        })
    }

    fn effects(&self, args: &Args) -> Effects {
        match (self.0, args.text("path")) {
            ("reads", Some(path)) => Effects::one(Effect::Read(path.into())),
            ("writes", Some(path)) => Effects::one(Effect::Write(path.into())),
            _ => Effects::none(),
        }
    }
}

struct OneLog;

impl Logs for OneLog {
    fn list(&self) -> BoxFuture<'_, Vec<LogHead>> {
        let (uri, name) = ("petasos://jobs/proc_1".to_owned(), "sleep 1".to_owned());
        let log = LogHead { uri, name, description: "a job".to_owned() };
        Box::pin(std::future::ready(vec![log]))
    }

    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Option<String>> {
        let found = uri.ends_with("proc_1").then(|| "line one".to_owned());
        Box::pin(std::future::ready(found))
    }
}

struct Served {
    url: String,
    registry: Arc<Registry>,
    _running: Owned<()>,
}

fn add(registry: &Registry, name: &str, toolset: &str, tool: Says) {
    let mut schema: Map<String, Value> = Map::new();
    schema.insert("description".to_owned(), "a tool".into());
    let properties = json!({ "path": { "type": "string" } });
    schema.insert("parameters".to_owned(), json!({ "type": "object", "properties": properties }));
    let mut entry = Entry::new(name, toolset, schema, Arc::new(tool));
    entry.idempotent = true;
    registry.register(entry, &Origin::core(), Adding::Add).unwrap();
}

fn toolbox(kit: &Kit) -> (Toolbox, Arc<Registry>) {
    let registry = Arc::new(Registry::new());
    add(&registry, "danger", "mine", Says("done"));
    add(&registry, "waits", "mine", Says("waits"));
    add(&registry, "other", "theirs", Says("other"));
    let approver = Arc::new(ByElicitation::new());
    let door =
        Dispatcher::new(Arc::clone(&registry), Arc::new(Careful), Arc::clone(&approver) as _);
    let catalogue = Arc::new(Catalogue::new(Arc::clone(&registry), Arc::new(Checks::default())));
    let surroundings = (Arc::clone(&kit.around.settings), Arc::new(Ports::default()));
    let selection = Selection { enabled: Some(vec!["mine".to_owned()]), ..Selection::default() };
    let toolbox = Toolbox::new(Arc::new(door), catalogue, surroundings, approver)
        .with_choice(Wanted { selection, ..Wanted::default() })
        .with_logs(Arc::new(OneLog));
    (toolbox, registry)
}

async fn serve(kit: &Kit, token: Option<&str>) -> Served {
    let (toolbox, registry) = toolbox(kit);
    let options = HttpOptions {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        token: token.map(Secret::new),
        hosts: Vec::new(),
        origins: Vec::new(),
    };
    let listening = bind(options).await.unwrap();
    let url = listening.url();
    let running = Owned::start(listening.run(Arc::new(toolbox), CancellationToken::new()));
    Served { url, registry, _running: running }
}

struct Person(bool);

impl Approver for Person {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        assert!(request.subject.contains("danger"), "{}", request.subject);
        let answer = if self.0 {
            Answer::Allowed { scope: Scope::Once, by: Who::Person(None) }
        } else {
            Answer::Denied { by: Who::Person(None), comment: None }
        };
        Box::pin(std::future::ready(answer))
    }
}

#[tokio::test]
async fn a_question_reaches_the_user_of_the_client_or_nobody() {
    for (person, expected) in [(Some(true), "done"), (Some(false), "denied"), (None, "cannot")] {
        let mut kit = Kit::new();
        let served = serve(&kit, None).await;
        kit.around.people = person.map(|yes| Arc::new(Person(yes)) as _);
        let _servers = kit.start(&[("us", json!({ "url": served.url }))]).await;
        let text = kit.call("mcp__us__danger", json!({})).await.to_lowercase();
        assert!(text.contains(expected), "{person:?}: {text}");
    }
}

#[tokio::test]
async fn only_the_chosen_toolsets_are_offered_and_changes_are_told() {
    let kit = Kit::new();
    let served = serve(&kit, None).await;
    let servers = kit.start(&[("us", json!({ "url": served.url }))]).await;
    let tools = view(&servers, "us").tools;
    assert!(
        tools.contains(&"mcp__us__danger".to_owned())
            && !tools.contains(&"mcp__us__other".to_owned())
    );
    add(&served.registry, "newcomer", "mine", Says("new"));
    let new = "mcp__us__newcomer".to_owned();
    eventually("the new tool is told", || view(&servers, "us").tools.contains(&new)).await;
    assert!(kit.call(&new, json!({})).await.contains("new"));
}

#[tokio::test]
async fn logs_are_resources() {
    let kit = Kit::new();
    let served = serve(&kit, None).await;
    let _servers = kit.start(&[("us", json!({ "url": served.url }))]).await;
    let list = kit.call("mcp__us__list_resources", json!({})).await;
    assert!(
        list.contains("petasos://jobs/proc_1") && list.contains("petasos://sessions/{id}"),
        "{list}"
    );
    let uri = json!({ "uri": "petasos://jobs/proc_1" });
    assert!(kit.call("mcp__us__read_resource", uri).await.contains("line one"));
    let uri = json!({ "uri": "petasos://jobs/other" });
    assert!(kit.call("mcp__us__read_resource", uri).await.contains("no resource"));
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_on_the_other_side() {
    let kit = Kit::new();
    let served = serve(&kit, None).await;
    let _servers = kit.start(&[("us", json!({ "url": served.url, "timeout": 1 }))]).await;
    // The tool ends only when it is cancelled; the server then answers further calls.
    let text = kit.call("mcp__us__waits", json!({})).await;
    assert!(text.contains("did not answer"), "{text}");
    let list = kit.call("mcp__us__list_resources", json!({})).await;
    assert!(list.contains("proc_1"), "{list}");
}

#[tokio::test]
async fn strangers_are_turned_away_by_token_host_and_origin() {
    let kit = Kit::new();
    let served = serve(&kit, Some("open-sesame")).await;
    let entry = json!({ "url": served.url });
    let refused = kit.start(&[("us", entry)]).await;
    assert!(matches!(view(&refused, "us").state, State::NeedsAuth(_)), "{refused:?}");
    drop(refused);
    let entry = json!({ "url": served.url, "headers": { "Authorization": "Bearer open-sesame" } });
    let let_in = kit.start(&[("us", entry)]).await;
    assert_eq!(view(&let_in, "us").state, State::Ready);
    let entry = json!({ "url": served.url, "headers": { "Authorization": "bearer open-sesame" } });
    let let_in = kit.start(&[("us", entry)]).await;
    assert_eq!(view(&let_in, "us").state, State::Ready, "the scheme in lower case");

    let open = serve(&kit, None).await;
    for (name, value, status) in [
        ("origin", "https://evil.example", 403),
        ("host", "evil.example", 403),
        ("origin", "http://localhost:3000", 200),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" },
        } });
        let request = Request::new(Method::POST, checked_url(&open.url).unwrap())
            .first_byte(Duration::from_secs(5))
            .body(body.to_string())
            .header("content-type", "application/json")
            .and_then(|request| request.header("accept", "application/json, text/event-stream"))
            .and_then(|request| request.header(name, value))
            .unwrap();
        let reply = kit.around.net.send(request).await.unwrap();
        assert_eq!(reply.status, status, "{name}: {value}");
    }
    let everywhere = HttpOptions {
        address: SocketAddr::from(([0, 0, 0, 0], 0)),
        token: None,
        hosts: Vec::new(),
        origins: Vec::new(),
    };
    assert!(bind(everywhere).await.unwrap_err().to_string().contains("set a token"));
}

#[tokio::test]
async fn clients_and_their_requests_do_not_count_against_each_other() {
    let kit = Kit::new();
    let served = serve(&kit, None).await;
    add(&served.registry, "same", "mine", Says("same"));
    // Different headers, so that the two are not one connection.
    let client = |name: &str| json!({ "url": served.url, "headers": { "X-Client": name } });
    let _servers = kit.start(&[("a", client("a")), ("b", client("b"))]).await;
    for name in ["a", "a", "a", "a", "b"] {
        let text = kit.call(&format!("mcp__{name}__same"), json!({})).await;
        assert!(text.contains("same") && !text.contains("times"), "{name}: {text}");
    }
}

#[tokio::test]
async fn a_tool_is_called_read_only_for_its_effects() {
    let kit = Kit::new();
    let (toolbox, registry) = toolbox(&kit);
    add(&registry, "reads", "mine", Says("reads"));
    add(&registry, "writes", "mine", Says("writes"));
    let tools = toolbox.tools("s").await;
    let says = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap().read_only;
    assert_eq!(
        (says("reads"), says("writes"), says("danger")),
        (Some(true), Some(false), Some(false))
    );
}

#[tokio::test]
async fn a_request_above_the_limit_is_refused_and_the_next_one_is_answered() {
    let kit = Kit::new();
    let (toolbox, _registry) = toolbox(&kit);
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(theirs);
    let _serving = Owned::start(async move {
        serve_stdio(Arc::new(toolbox), read, write, CancellationToken::new()).await.unwrap();
    });
    let (read, mut write) = tokio::io::split(ours);
    let mut lines = BufReader::new(read).lines();
    let version = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "x", "version": "1" } });
    let big = "x".repeat(17 * 1024 * 1024);
    let call = |text: &str| json!({ "name": "nothing", "arguments": { "text": text } });
    let message = |id: u64, method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let messages = [
        message(1, "initialize", version),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string(),
        message(2, "tools/call", call(&big)),
        message(3, "tools/call", call("small")),
    ];
    let mut answers = std::collections::BTreeMap::new();
    let sending = async {
        for message in messages {
            write.write_all(message.as_bytes()).await.unwrap();
            write.write_all(b"\n").await.unwrap();
        }
    };
    let reading = async {
        while answers.len() < 3 {
            let line = lines.next_line().await.unwrap().unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if let Some(id) = answer["id"].as_u64() {
                answers.insert(id, answer["error"]["message"].to_string());
            }
        }
    };
    let both = async { tokio::join!(sending, reading) };
    tokio::time::timeout(Duration::from_secs(30), both).await.unwrap();
    assert!(answers[&2].contains("larger than 16777216 bytes"), "{answers:?}");
    assert!(answers[&3].contains("no tool `nothing`"), "{answers:?}");
}
