//! `petasos provider`, `auth` and `model`: choices, their reasons, and what is kept.

use petasos_testkit::Home;
use serde_json::json;

use crate::loopback::{Loopback, Say};
use crate::petasos;

#[test]
fn nothing_configured_is_an_error_object_and_exit_code_one() {
    let finished = petasos(&Home::temp()).run(&["provider", "resolve", "--json"]);
    assert_eq!(finished.code, Some(1));
    assert_eq!(finished.json()["error"]["code"], "no_provider_configured");
}

#[test]
fn a_key_is_masked_and_its_source_is_told() {
    let resolved = petasos(&Home::temp())
        .with("OPENROUTER_API_KEY", "or-0123456789abcdef")
        .run(&["provider", "resolve", "--json"])
        .json();
    assert_eq!(resolved["provider"], "openrouter");
    assert_eq!(resolved["api_key"], "••••cdef");
    assert_eq!(resolved["source"], "env:OPENROUTER_API_KEY");
    assert!(!resolved["trace"].as_array().unwrap().is_empty());
}

#[test]
fn a_key_does_not_follow_an_address_that_only_looks_right() {
    let home = Home::temp();
    home.write(
        ".petasos/config.yaml",
        "model:\n  provider: custom\n  base_url: https://openrouter.ai.evil.com/v1\n",
    );
    let resolved = petasos(&home)
        .with("OPENROUTER_API_KEY", "or-0123456789abcdef")
        .run(&["provider", "resolve", "--json"])
        .json();
    assert_eq!(resolved["api_key"], serde_json::Value::Null, "{resolved}");
}

#[test]
fn a_kept_key_is_used_until_it_is_forgotten() {
    let home = Home::temp();
    let kept = petasos(&home).input("ds-0123456789abcdef\n").run(&[
        "auth",
        "login",
        "deepseek",
        "--key-stdin",
    ]);
    assert_eq!(kept.code, Some(0), "{}", kept.stderr);
    assert!(kept.stdout.contains("no keyring: there is no desktop session"), "{}", kept.stdout);
    let resolve =
        || petasos(&home).run(&["provider", "resolve", "--provider", "deepseek", "--json"]);
    assert_eq!(resolve().json()["api_key"], "••••cdef");
    let status = petasos(&home).run(&["auth", "status"]).stdout;
    assert!(status.contains("deepseek") && !status.contains("0123456789"), "{status}");
    let other = petasos(&home).run(&["auth", "status", "zai", "--json"]).json();
    assert_eq!(other["credentials"], json!([]));
    let woken = petasos(&home).run(&["auth", "reset", "deepseek", "--json"]).json();
    assert_eq!(woken["woken"], 0);
    assert_eq!(petasos(&home).run(&["auth", "logout", "deepseek"]).code, Some(0));
    assert_eq!(resolve().json()["error"]["code"], "missing_api_key");
}

#[test]
fn a_saved_model_is_the_choice_of_every_surface() {
    let home = Home::temp();
    let set = petasos(&home).run(&["model", "set", "some/model", "--provider", "openrouter"]);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    let resolved = petasos(&home)
        .with("OPENROUTER_API_KEY", "or-0123456789abcdef")
        .run(&["provider", "resolve", "--json"])
        .json();
    assert_eq!(resolved["model"], "some/model");
}

#[test]
fn an_unknown_role_is_bad_usage() {
    let finished = petasos(&Home::temp()).run(&["provider", "resolve", "--role", "nonsense"]);
    assert_eq!(finished.code, Some(2));
}

#[test]
fn a_test_call_tells_what_the_model_can_do() {
    let call = Say::Calls(vec![("report", json!({ "word": "ready" }))]);
    let model = Loopback::saying(vec![call]);
    let home = model.home();
    let tested = petasos(&home).run(&["provider", "test", "--json"]).json();
    assert_eq!(tested["capabilities"]["tools"], "called", "{tested}");
    assert_eq!(tested["capabilities"]["streaming"], true);
    assert!(tested["latency_ms"].is_u64());
    let used = petasos(&home).run(&["provider", "usage", "--json"]).json();
    assert_eq!(used["usage"][0]["role"], "main", "{used}");
    assert_eq!(used["usage"][0]["usage"]["requests"], 1, "{used}");
    let of_nobody = petasos(&home).run(&["provider", "usage", "--session", "nobody"]).stdout;
    assert_eq!(of_nobody.trim(), "nothing was used yet");
}

#[test]
fn a_program_that_is_not_installed_is_named() {
    let home = Home::temp();
    let asked = petasos(&home).with("PETASOS_COPILOT_ACP_COMMAND", "/nowhere/copilot").run(&[
        "provider",
        "test",
        "--provider",
        "copilot-acp",
    ]);
    assert_eq!(asked.code, Some(1));
    assert!(asked.stderr.contains("/nowhere/copilot"), "{}", asked.stderr);
}
