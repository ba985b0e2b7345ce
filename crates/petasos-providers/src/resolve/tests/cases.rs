//! The worked cases of the specification, with the decisions about keys applied. They are data,
//! one a line, in `cases.json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::*;

const BOX: &str = "https://box.test/v1";

/// One line of the table.
#[derive(Deserialize)]
struct Case {
    id: String,
    config: Value,
    variables: BTreeMap<String, String>,
    request: Asked,
    want: Value,
}

#[derive(Deserialize)]
struct Asked {
    provider: Option<String>,
    base_url: Option<String>,
    api_key: Option<String>,
}

impl Case {
    fn run(&self) -> Resolved {
        let variables: Vec<_> =
            self.variables.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let Asked { provider, base_url, api_key } = &self.request;
        let request = Request {
            provider: provider.clone(),
            base_url: base_url.clone(),
            api_key: api_key.as_deref().map(Secret::new),
            ..Request::default()
        };
        run(&request, &self.config, &variables)
    }
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("cases.json")).unwrap()
}

fn in_words(resolved: &Resolved) -> Value {
    match got(resolved) {
        Ok(got) => json!({"provider": got.provider, "base_url": got.base_url, "key": got.key,
            "source": got.source, "mode": got.mode}),
        Err(code) => json!({"error": code}),
    }
}

#[test]
fn every_worked_case_comes_out_as_required() {
    let mut wrong = Vec::new();
    for case in cases() {
        let resolved = case.run();
        let words = in_words(&resolved);
        if words != case.want {
            wrong.push(format!("{}: {words}\n  wanted {}", case.id, case.want));
        }
        assert!(!resolved.trace.is_empty(), "{} leaves no trace", case.id);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_strict_setting_keeps_the_openai_key_at_home() {
    let mut checked = Vec::new();
    for mut case in cases() {
        let loose = case.run();
        let Ok(runtime) = &loose.outcome else { continue };
        let away = runtime.base_url.host() != "api.openai.com";
        if runtime.source.to_string() != "env:OPENAI_API_KEY" || !away {
            continue;
        }
        let said = runtime.notices.iter().any(|notice| notice.text.contains("OPENAI_API_KEY"));
        assert!(said, "{} does not say where the key goes", case.id);
        case.config["security"] = json!({"strict_key_scope": true});
        let strict = in_words(&case.run());
        assert_eq!((&strict["key"], &strict["source"]), (&Value::Null, &json!("no-key-required")));
        checked.push(case.id);
    }
    assert_eq!(checked, ["A6", "A26", "A38"]);
}

#[test]
fn a_warning_names_what_was_passed_over() {
    let warned = |id: &str| {
        let case = cases().into_iter().find(|case| case.id == id).unwrap();
        let notices = case.run().outcome.unwrap().notices;
        notices.into_iter().map(|notice| notice.text).collect::<Vec<_>>().join("\n")
    };
    assert!(warned("A13").contains("OPENROUTER_BASE_URL"));
    assert!(warned("A33").contains("model.base_url"));
    assert!(warned("A44").contains("model.base_url"));
    assert!(warned("A47").contains("ANTHROPIC_BASE_URL"));
    assert!(warned("A82").contains("BOX_KEY"));
}

#[test]
fn an_entry_brings_its_model_and_its_changes() {
    let config = json!({"providers": {"box": {"url": BOX, "model": "m1", "extra_body": {"k": 1},
        "extra_headers": {"X-Team": "a"}, "max_tokens": 5, "api_mode": "anthropic_messages", "ssl_verify": false}}});
    let runtime = run(&Request::of("box"), &config, &[]).outcome.unwrap();
    assert_eq!((runtime.model.as_deref(), runtime.requested.as_str()), (Some("m1"), "box"));
    assert_eq!(runtime.api_mode.name(), "anthropic_messages");
    assert_eq!(runtime.base_url.as_str(), "https://box.test");
    assert_eq!(runtime.headers, [("X-Team".to_owned(), "a".to_owned())]);
    assert_eq!(runtime.overrides.extra_body["k"], 1);
    assert_eq!(
        (runtime.overrides.max_output_tokens, runtime.overrides.tls_unverified),
        (Some(5), true)
    );
}

#[test]
fn the_printed_form_masks_the_key_and_says_null_when_none_is_sent() {
    let key = ("DEEPSEEK_API_KEY", "ds-0123456789");
    let view = run(&Request::of("deepseek"), &json!({}), &[key]).to_json();
    assert_eq!((&view["api_key"], &view["provider"]), (&json!("••••6789"), &json!("deepseek")));
    assert!(!view.to_string().contains(key.1));
    assert_eq!(view["trace"][0]["verdict"], "taken");
    let config = json!({"model": {"provider": "custom", "base_url": BOX}});
    let keyless = run(&Request::default(), &config, &[]).to_json();
    assert_eq!(
        (&keyless["api_key"], &keyless["requested_provider"]),
        (&Value::Null, &json!("custom"))
    );
    let error = run(&Request::of("nopenope"), &json!({}), &[]).to_json();
    assert_eq!(error["error"]["code"], "invalid_provider");
    assert!(error["error"]["message"].as_str().unwrap().contains("nopenope"));
}

#[test]
fn the_openai_key_reaches_the_aggregator_only_when_asked_to() {
    let key = ("OPENAI_API_KEY", "oa-0123456789");
    let config = json!({"compat": {"openai_key_on_openrouter": true}});
    let asked = run(&Request::default(), &config, &[key]);
    assert_eq!(asked.outcome.unwrap().provider, "openrouter");
    let unasked = run(&Request::of("openrouter"), &json!({}), &[key]);
    assert_eq!(unasked.outcome.unwrap_err().code, "missing_api_key");
}

#[test]
fn the_trace_names_every_candidate_and_why_it_lost() {
    let config = json!({"model": {"provider": "deepseek", "base_url": "https://api.deepseek.com/beta",
        "api_key": "own-0123456789"}});
    let variables = [
        ("DEEPSEEK_API_KEY", "ds-0123456789"),
        ("DEEPSEEK_BASE_URL", "https://stale.test/v1"),
        ("HERMES_INFERENCE_PROVIDER", "openrouter"),
    ];
    let trace = run(&Request::default(), &config, &variables).trace;
    let of = |what: &str| trace.iter().find(|one| one.what.contains(what)).map(|one| one.verdict);
    assert_eq!(of("provider `deepseek`"), Some(Verdict::Taken));
    assert_eq!(of("provider `openrouter`"), Some(Verdict::Passed));
    assert_eq!(of("model.api_key"), Some(Verdict::Taken));
    assert_eq!(of("DEEPSEEK_API_KEY"), Some(Verdict::Passed));
    assert_eq!(of("DEEPSEEK_BASE_URL"), Some(Verdict::Passed));
    let key = trace.iter().find(|one| one.what.contains("model.api_key")).unwrap();
    assert!(key.why.starts_with("sha256:") && !key.why.contains("own-"), "{}", key.why);
}
