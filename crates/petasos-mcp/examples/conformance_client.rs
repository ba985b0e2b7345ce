//! The client of the official conformance suite: connects to the server at its last argument,
//! signs in when it is asked to, and calls every tool that it finds through the one door.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Intent, Policy, Scope, Verdict, Who,
};
use petasos_contract::call::ToolCall;
use petasos_contract::context::Surface;
use petasos_contract::settings::Parts;
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings};
use petasos_mcp::client::oauth::{Browser, LoginOptions, login, login_as_client};
use petasos_mcp::client::{Around, ServerSpec, Servers, State};
use petasos_net::{Follow, Method, Net, NetOptions, Request, checked_url};
use petasos_runtime::{Dispatcher, Registry};
use serde_json::{Value, json};

const METADATA: &str = "https://conformance-test.local/client-metadata.json";
const REDIRECT: &str = "http://localhost:3000/callback";
const SIGN_INS_MAX: usize = 3;

/// Agrees to everything, as the suite wants it.
struct Agreeable;

impl Policy for Agreeable {
    fn judge(&self, _: &Intent<'_>, _: &CallContext) -> Verdict {
        Verdict::Allow
    }
}

impl Approver for Agreeable {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest, _: &'a CallContext) -> BoxFuture<'a, Answer> {
        let yes = Answer::Allowed { scope: Scope::Once, by: Who::Person(None) };
        Box::pin(std::future::ready(yes))
    }
}

/// Visits a page whose server agrees at once.
struct Headless(Arc<Net>);

impl Browser for Headless {
    fn visit<'a>(&'a self, link: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let url = checked_url(link).map_err(|error| error.to_string())?;
            let mut request = Request::new(Method::GET, url);
            request.follow = Follow::Nowhere;
            let reply = self.0.send(request).await.map_err(|error| error.to_string())?;
            let target = reply.headers.get("location").and_then(|target| target.to_str().ok());
            target.map(str::to_owned).ok_or_else(|| format!("status {}", reply.status))
        })
    }
}

struct Suite {
    around: Around,
    spec: ServerSpec,
    door: Dispatcher,
    sign_ins: usize,
    as_client: bool,
}

#[expect(clippy::disallowed_methods, reason = "the suite speaks by variables")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().next_back().ok_or("the address of the server is missing")?;
    let home = tempfile::tempdir()?;
    let mut inputs = std::collections::BTreeMap::new();
    inputs.extend(std::env::vars().filter(|(name, _)| name.starts_with("MCP_CONFORMANCE_")));
    let scenario = inputs.get("MCP_CONFORMANCE_SCENARIO").cloned().unwrap_or_default();
    let context = inputs.get("MCP_CONFORMANCE_CONTEXT").cloned().unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or(Value::Null);
    let parts = Parts {
        home: home.path().join("home"),
        workspace: home.path().to_owned(),
        temp: home.path().to_owned(),
        ..Parts::default()
    };
    let settings = Arc::new(Settings::new(parts));
    let mut entry = json!({ "url": url, "connect_timeout": 15, "timeout": 20 });
    if scenario.starts_with("auth/") {
        entry["auth"] = json!("oauth");
        entry["oauth"] = json!({
            "client_id": context.get("client_id"), "client_secret": context.get("client_secret"),
        });
    }
    let registry = Arc::new(Registry::new());
    let around = Around {
        settings: Arc::clone(&settings),
        net: Arc::new(Net::new(NetOptions::default())),
        processes: None,
        registry: Arc::clone(&registry),
        session: None,
        model: None,
        people: Some(Arc::new(Agreeable)),
    };
    let spec = ServerSpec::read("suite", &entry, &settings)?;
    let door = Dispatcher::new(registry, Arc::new(Agreeable), Arc::new(Agreeable));
    let as_client = scenario.starts_with("auth/client-credentials");
    let mut suite = Suite { around, spec, door, sign_ins: 0, as_client };
    suite.run().await
}

impl Suite {
    async fn run(&mut self) -> Result<(), Box<dyn Error>> {
        loop {
            let servers = Servers::of(vec![self.spec.clone()], &self.around);
            servers.settle(Duration::from_secs(20)).await;
            let view = servers.views().into_iter().next().ok_or("no server")?;
            say(&format!("{}: {} {:?}", view.name, view.state, view.tools))?;
            match view.state {
                State::Ready => {}
                State::NeedsAuth(_) => {
                    self.sign_in(servers.challenge("suite")).await?;
                    continue;
                }
                other => return Err(other.to_string().into()),
            }
            if self.calls(&view.tools).await? {
                return Ok(());
            }
            self.sign_in(servers.challenge("suite")).await?;
        }
    }

    /// Calls every tool; false when the server wants another sign-in.
    async fn calls(&self, tools: &[String]) -> Result<bool, Box<dyn Error>> {
        let session = SessionId::new("suite");
        let cx = CallContext::new(Arc::clone(&self.around.settings), Surface::Embedded, session);
        for (number, tool) in tools.iter().enumerate() {
            let arguments = json!({ "a": 5, "b": 3 }).to_string();
            let call = ToolCall::new(format!("call-{number}"), tool.as_str(), arguments);
            let result = self.door.dispatch(call, &cx).await;
            let text = result.content.text();
            say(&format!("{tool}: {text}"))?;
            if text.contains("needs_reauth") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn sign_in(&mut self, challenge: Option<String>) -> Result<(), Box<dyn Error>> {
        self.sign_ins += 1;
        if self.sign_ins > SIGN_INS_MAX {
            return Err("the server wants ever more sign-ins".into());
        }
        if self.as_client {
            return Ok(login_as_client(&self.spec, &self.around).await?);
        }
        let options = LoginOptions {
            challenge,
            redirect: REDIRECT.to_owned(),
            metadata_url: Some(METADATA.to_owned()),
        };
        let browser = Headless(Arc::clone(&self.around.net));
        Ok(login(&self.spec, &self.around, &options, &browser).await?)
    }
}

fn say(text: &str) -> std::io::Result<()> {
    writeln!(std::io::stderr(), "{text}")
}
