//! One suite of questions against real servers: a small model behind three dialects, and an
//! independent double of five. A server that is not there skips its test and says so.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use petasos_contract::context::Surface;
use petasos_contract::message::{Assistant, Message};
use petasos_contract::model::{
    Delta, DeltaSink, DeltaSubscriber, Finish, Model, Prompt, Reason, Reply, Role, ToolChoice,
};
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{CallContext, Secret, Settings};
use petasos_net::client::{Net, NetOptions};
use petasos_providers::catalog::{Known, Which};
use petasos_providers::client::Client;
use petasos_providers::fallback::Wanted;
use petasos_providers::route::VaultRoutes;
use petasos_providers::table::Table;
use serde_json::{Value, json};

use crate::golden::weather;

/// A service's address as `scripts/test` tells it, or a word on why the test is skipped.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
#[expect(clippy::disallowed_methods, reason = "the services tell their addresses by variables")]
fn address(test: &str, component: &str, key: &str) -> Option<String> {
    let name = format!("PETASOS_TEST_{}_{key}", component.to_uppercase());
    let found = std::env::var(&name).ok();
    if found.is_none() {
        let line = format!("SKIP {test}: {component}: {name} is not set\n");
        print!("{line}");
        if let Some(log) = std::env::var_os("PETASOS_SKIP_LOG") {
            let mut log = OpenOptions::new().create(true).append(true).open(log).unwrap();
            log.write_all(line.as_bytes()).unwrap();
        }
    }
    found
}

#[derive(Default)]
struct Heard(Mutex<Vec<Delta>>);

impl DeltaSubscriber for Heard {
    fn take(&self, _: u32, delta: &Delta) {
        self.0.lock().unwrap().push(delta.clone());
    }
}

impl Heard {
    fn text(&self) -> String {
        let deltas = self.0.lock().unwrap();
        let texts = deltas.iter().filter_map(|delta| match delta {
            Delta::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// A whole client on a configuration, as every surface builds it.
struct Desk {
    client: Client,
    settings: Arc<Settings>,
    heard: Arc<Heard>,
    _home: tempfile::TempDir,
}

impl Desk {
    fn new(values: &Value, variables: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let variables: BTreeMap<String, Variable> = variables
            .iter()
            .map(|(name, value)| {
                let source = Source::Environment { variable: (*name).to_owned() };
                ((*name).to_owned(), Variable { value: Secret::new(*value), source })
            })
            .collect();
        let settings = Settings::new(Parts {
            home: home.path().to_owned(),
            user_home: home.path().to_owned(),
            values: values.as_object().cloned().unwrap(),
            variables,
            ..Parts::default()
        });
        let net = Arc::new(Net::new(NetOptions::default()));
        let client = Client::new(Arc::new(VaultRoutes::new(net.clone())), net, Table::built_in());
        Self { client, settings: Arc::new(settings), heard: Arc::default(), _home: home }
    }

    async fn ask(&self, mut prompt: Prompt) -> Reply {
        prompt.deltas = DeltaSink::to(self.heard.clone());
        let mut cx = CallContext::new(self.settings.clone(), Surface::Cli, "s".into());
        cx.deadline = Instant::now() + Duration::from_mins(2);
        self.client.ask(&prompt, Role::Main, &cx).await.unwrap()
    }
}

/// An endpoint of the user's own, in the dialect named.
fn custom(base_url: &str, model: &str, api_mode: &str) -> Value {
    json!({"model": {"provider": "custom:box", "default": model},
        "custom_providers": [{"name": "box", "base_url": base_url, "api_key": "sk-local-0001",
            "api_mode": api_mode}]})
}

fn question(text: &str) -> Prompt {
    Prompt {
        system: "You are terse.".to_owned(),
        messages: vec![Message::user(text)],
        max_tokens: Some(256),
        ..Prompt::default()
    }
}

/// A streamed answer, a tool call, its result taken back.
async fn suite(desk: &Desk, mode: &str, is_double: bool) {
    let reply = desk.ask(question("hello")).await;
    assert!(!reply.message.text().is_empty(), "{reply:?}");
    assert_eq!(reply.served.api_mode, if mode == "gemini" { "chat_completions" } else { mode });
    assert_eq!(desk.heard.text(), reply.message.text());
    if is_double {
        assert_eq!(reply.message.text(), "Hi there!");
        assert_eq!(reply.finish, Finish::Stop);
    } else {
        assert!(reply.usage.output > 0 && reply.usage.input + reply.usage.cache_read > 0);
    }
    let asked = Prompt {
        tools: Arc::from([weather()]),
        tool_choice: ToolChoice::Required,
        temperature: Some(0.0),
        ..question("What is the weather in Paris?")
    };
    let reply = desk.ask(asked.clone()).await;
    assert_eq!(reply.finish, Finish::ToolCalls, "{reply:?}");
    let call = reply.message.tool_calls[0].clone();
    assert_eq!(call.name, "get_weather");
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    assert!(arguments["city"].is_string(), "{arguments}");
    let mut messages = asked.messages.clone();
    messages.push(Message::Assistant(Assistant { ..reply.message }));
    messages.push(Message::tool(call.id, "sunny, 21 C"));
    let back = Prompt { messages, tool_choice: ToolChoice::Auto, ..asked };
    let reply = desk.ask(back).await;
    if is_double {
        assert_eq!(reply.message.text(), "It is sunny in Paris.");
    }
}

#[tokio::test]
async fn a_real_model_passes_the_suite_in_three_dialects() {
    let Some(base) = address("a_real_model", "llm", "OPENAI_BASE_URL") else { return };
    let root = base.trim_end_matches("/v1").to_owned();
    for (url, mode) in [
        (base.clone(), "chat_completions"),
        (base.clone(), "codex_responses"),
        (root, "anthropic_messages"),
    ] {
        let desk = Desk::new(&custom(&url, "petasos-smol", mode), &[]);
        suite(&desk, mode, false).await;
    }
}

#[tokio::test]
async fn an_overflow_of_a_real_model_is_told_as_such() {
    let Some(base) = address("an_overflow", "llm", "OPENAI_BASE_URL") else { return };
    let desk = Desk::new(&custom(&base, "petasos-smol", "chat_completions"), &[]);
    let cx = CallContext::new(desk.settings.clone(), Surface::Cli, "s".into());
    let long = question(&"many words and more ".repeat(8_000));
    let error = desk.client.ask(&long, Role::Main, &cx).await.unwrap_err();
    assert_eq!(error.reason, Reason::ContextOverflow, "{error:?}");
}

#[tokio::test]
async fn the_independent_double_passes_the_suite_in_every_dialect() {
    let Some(base) = address("the_independent_double", "providers", "PROVIDERS_URL") else {
        return;
    };
    let cases = [
        (format!("{base}/v1"), "gpt-4o", "chat_completions"),
        (format!("{base}/v1"), "gpt-5", "codex_responses"),
        (base.clone(), "claude-sonnet-4-5", "anthropic_messages"),
        (format!("{base}/v1beta"), "gemini-2.5-flash", "gemini"),
        (base.clone(), "anthropic.claude-3-5-sonnet-20241022-v2:0", "bedrock_converse"),
    ];
    for (url, model, mode) in cases {
        suite(&Desk::new(&custom(&url, model, mode), &[]), mode, true).await;
    }
    let keys = [("AWS_ACCESS_KEY_ID", "AKIA0123"), ("AWS_SECRET_ACCESS_KEY", "aws-secret")];
    let claude = json!({"model": {"provider": "bedrock", "base_url": base,
        "default": "anthropic.claude-3-5-sonnet-20241022-v2:0"}});
    suite(&Desk::new(&claude, &keys), "anthropic_messages", true).await;
}

#[tokio::test]
async fn a_real_server_lists_its_models_with_their_length() {
    let Some(base) = address("a_real_server_lists", "llm", "OPENAI_BASE_URL") else { return };
    let desk = Desk::new(&custom(&base, "petasos-smol", "chat_completions"), &[]);
    let cx = CallContext::new(desk.settings.clone(), Surface::Cli, "s".into());
    let models = desk.client.models(&Wanted::default(), &cx).await.unwrap();
    assert_eq!(models[0].id, "petasos-smol");
    let which = Which { base_url: &base, model: "petasos-smol" };
    let (length, known) = desk.client.catalog().context(which, &desk.settings);
    assert!(length > 1_000 && known == Known::Listed, "{length} {known:?}");
}
