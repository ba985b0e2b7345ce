//! How much a model reads, from every place that may say so, without a request.

use std::path::Path;
use std::sync::Arc;

use petasos_contract::context::Surface;
use petasos_contract::model::{Model, Prompt, Role};
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{CallContext, Secret, Settings};
use petasos_net::client::Net;
use petasos_providers::catalog::read_listing;
use petasos_providers::client::Client;
use petasos_providers::route::VaultRoutes;
use petasos_providers::table::Table;
use serde_json::{Value, json};

fn client() -> Client {
    let net = Arc::new(Net::default());
    Client::new(Arc::new(VaultRoutes::new(Arc::clone(&net))), net, Table::built_in())
}

/// A home with one key, for Anthropic.
fn context(home: &Path, config: &Value) -> CallContext {
    let name = "ANTHROPIC_API_KEY".to_owned();
    let source = Source::Environment { variable: name.clone() };
    let variable = Variable { value: Secret::new("sk-ant-api-0001"), source };
    let settings = Arc::new(Settings::new(Parts {
        home: home.to_owned(),
        user_home: home.join("user"),
        values: config.as_object().unwrap().clone(),
        variables: [(name, variable)].into(),
        ..Parts::default()
    }));
    CallContext::new(settings, Surface::Cli, "s".into())
}

async fn window(client: &Client, config: &Value, model: Option<&str>) -> Option<u64> {
    let home = tempfile::tempdir().unwrap();
    let prompt = Prompt { model: model.map(str::to_owned), ..Prompt::default() };
    client.window(&prompt, Role::Main, &context(home.path(), config)).await
}

/// An endpoint of the user's where nobody listens.
fn entry(more: &Value) -> Value {
    let mut entry = json!({"name": "box", "base_url": "http://127.0.0.1:9/v1", "api_key": "k"});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!([entry])
}

#[tokio::test]
async fn every_place_that_states_a_window_is_heard_and_the_nearest_wins() {
    let named = json!({"provider": "custom:box", "default": "mock"});
    let with = |tokens: u64| json!({"provider": "custom:box", "default": "mock", "context_length": tokens});
    let per_model = json!({"models": {"mock": {"context_length": 3}}, "context_length": 4});
    let rows = [
        ("nobody", json!({"model": named, "custom_providers": entry(&json!({}))}), None),
        (
            "the endpoint",
            json!({"model": named, "custom_providers": entry(&json!({"context_length": 4}))}),
            Some(4),
        ),
        (
            "the endpoint, in the map",
            json!({"model": named, "providers": {"box": entry(&json!({"context_length": 4}))[0]}}),
            Some(4),
        ),
        (
            "the endpoint's model",
            json!({"model": named, "custom_providers": entry(&per_model)}),
            Some(3),
        ),
        (
            "models listed by name only",
            json!({"model": named, "custom_providers":
                entry(&json!({"models": ["mock"], "context_length": 4}))}),
            Some(4),
        ),
        (
            "the model anywhere",
            json!({"model": named, "models": {"mock": {"context_length": 2}},
                "custom_providers": entry(&json!({"context_length": 4}))}),
            Some(2),
        ),
        (
            "the section of the model",
            json!({"model": with(1), "models": {"mock": {"context_length": 2}},
                "custom_providers": entry(&per_model)}),
            Some(1),
        ),
        (
            "a provider of the table",
            json!({"model": {"provider": "anthropic", "default": "claude-sonnet-4-5"},
                "providers": {"anthropic": {"context_length": 5}}}),
            Some(5),
        ),
        (
            "the table",
            json!({"model": {"provider": "anthropic", "default": "claude-sonnet-4-5"}}),
            Some(200_000),
        ),
        (
            "the table, for a provider without a key",
            json!({"model": {"provider": "gemini", "default": "gemini-2.5-pro"}}),
            Some(1_048_576),
        ),
    ];
    for (name, config, expected) in rows {
        assert_eq!(window(&client(), &config, None).await, expected, "{name}");
    }
}

#[tokio::test]
async fn the_window_of_the_configured_model_is_not_another_models() {
    let config = json!({
        "model": {"provider": "custom:box", "default": "mock", "context_length": 1},
        "custom_providers": entry(&json!({"context_length": 4})),
    });
    assert_eq!(window(&client(), &config, Some("mock")).await, Some(1));
    assert_eq!(window(&client(), &config, Some("other")).await, Some(4));
}

#[tokio::test]
async fn a_listing_beats_the_table_and_the_user_beats_the_listing() {
    let client = client();
    let model = json!({"provider": "custom:box", "default": "claude-sonnet-4-5"});
    let config = json!({"model": model, "custom_providers": entry(&json!({}))});
    assert_eq!(window(&client, &config, None).await, Some(200_000));
    let listing = json!({"data": [{"id": "claude-sonnet-4-5", "context_length": 5000}]});
    client.catalog().learn("http://127.0.0.1:9/v1", &read_listing(&listing));
    assert_eq!(window(&client, &config, None).await, Some(5000));
    let config = json!({"model": model, "custom_providers": entry(&json!({"context_length": 4}))});
    assert_eq!(window(&client, &config, None).await, Some(4));
}
