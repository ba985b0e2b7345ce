//! How long a resolution takes: the budget is 50 microseconds for a typical configuration.

use divan::{Bencher, black_box};
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{Secret, Settings};
use petasos_providers::{Request, VaultView, resolve};
use serde_json::json;

fn main() {
    divan::main();
}

fn settings(config: &serde_json::Value) -> Settings {
    let names = [
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "ANTHROPIC_API_KEY",
        "DEEPSEEK_API_KEY",
        "PATH",
        "HOME",
    ];
    let variable = |name: &str| {
        let source = Source::Environment { variable: name.to_owned() };
        (name.to_owned(), Variable { value: Secret::new(format!("sk-{name}-0123456789")), source })
    };
    let variables = names.into_iter().map(variable).collect();
    let values = config.as_object().cloned().unwrap_or_default();
    Settings::new(Parts { values, variables, ..Parts::default() })
}

fn measure(bencher: Bencher<'_, '_>, config: &serde_json::Value, request: &Request) {
    let settings = settings(config);
    let vault = VaultView::empty(1_700_000_000_000);
    bencher.bench_local(|| resolve(black_box(request), black_box(&settings), black_box(&vault)));
}

/// A saved provider with its key in a variable: what nearly everybody has.
#[divan::bench]
fn saved_provider(bencher: Bencher<'_, '_>) {
    measure(
        bencher,
        &json!({"model": {"provider": "deepseek", "default": "deepseek-v4-pro"}}),
        &Request::default(),
    );
}

/// A named entry among ten.
#[divan::bench]
fn named_entry(bencher: Bencher<'_, '_>) {
    let entry = |n: usize| json!({"name": format!("box {n}"), "base_url": format!("https://box{n}.test/v1"), "api_key": "k-0123456789"});
    let list: Vec<_> = (0..10).map(entry).collect();
    measure(bencher, &json!({"custom_providers": list}), &Request::of("custom:box-9"));
}

/// Nothing chosen: the scan over every provider.
#[divan::bench]
fn automatic(bencher: Bencher<'_, '_>) {
    measure(bencher, &json!({}), &Request::default());
}

/// An endpoint of the user's own, judged against every provider's hosts.
#[divan::bench]
fn custom_endpoint(bencher: Bencher<'_, '_>) {
    let config = json!({"model": {"provider": "custom", "base_url": "https://box.test/v1"}});
    measure(bencher, &config, &Request::default());
}
