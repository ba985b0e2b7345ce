//! Petasos inside another program: register a tool of your own, offer it, and run a call through
//! the one door. Run it with `cargo run --example embed`.

use std::sync::Arc;

use petasos::Host;
use petasos_contract::bridging::{Inline, SyncTool};
use petasos_contract::call::ToolCall;
use petasos_contract::context::Surface;
use petasos_contract::{Args, CallContext, SessionId, Settings, ToolError, ToolOutput};
use petasos_runtime::definitions::Wanted;
use petasos_runtime::registry::{Entry, Intent, Origin};
use serde_json::{Map, json};

struct Greet;

impl SyncTool for Greet {
    fn call(&self, args: Args, _: &CallContext) -> Result<ToolOutput, ToolError> {
        let name = args.text("name").unwrap_or("world");
        Ok(ToolOutput::json(&json!({ "greeting": format!("Hello, {name}!") })))
    }
}

fn main() -> anyhow::Result<()> {
    // An embedder decides what the settings are; nothing is read behind its back.
    let settings = Arc::new(Settings::from_values(Map::new()));
    let host = Host::with_settings(settings);

    let mut schema = Map::new();
    schema.insert("description".to_owned(), "Greets somebody by name.".into());
    schema.insert(
        "parameters".to_owned(),
        json!({ "type": "object", "properties": { "name": { "type": "string" } } }),
    );
    let entry = Entry::new("greet", "manners", schema, Arc::new(Inline::new(Greet)));
    host.catalogue().registry().register(entry, &Origin::core(), Intent::Add)?;

    let session = SessionId::new("example");
    let result = host.wait(async {
        let checks = host.check_context(Surface::Embedded, session.clone());
        let definitions = host.catalogue().define(&Wanted::default(), &checks).await;
        assert!(definitions.tools.iter().any(|tool| tool.name == "greet"));

        let dispatcher = host.dispatcher(None).map_err(|report| anyhow::anyhow!("{report}"))?;
        let cx = host.call_context(Surface::Embedded, session);
        let call = ToolCall::new("call-1", "greet", r#"{"name": "Hermes"}"#);
        anyhow::Ok(dispatcher.dispatch(call, &cx).await)
    })??;
    assert_eq!(result.content.text(), r#"{"greeting":"Hello, Hermes!"}"#);
    Ok(())
}
