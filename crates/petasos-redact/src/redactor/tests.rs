//! Secrets are found in every form and place; what only looks like one stays.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petasos_contract::Secret;
use petasos_contract::settings::{Parts, Source, Variable};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const CANARY: &str = "hunter2-Canary/41+x";

fn redactor() -> Redactor {
    let source = Source::Environment { variable: "SERVICE_TOKEN".to_owned() };
    let variable = Variable { value: Secret::new(CANARY), source };
    let values = json!({
        "mcp_servers": {"git": {"env": {"GIT_TOKEN": "configured-canary"}}},
        "tts": {"elevenlabs": {"api_key": "voice-canary-9"}},
        "custom_providers": [{"key_env": "SOME_VARIABLE_NAME"}],
    });
    Redactor::new(&Settings::new(Parts {
        values: values.as_object().cloned().unwrap_or_default(),
        variables: BTreeMap::from([("SERVICE_TOKEN".to_owned(), variable)]),
        ..Parts::default()
    }))
}

#[test]
fn secrets_are_hidden_and_the_rest_stays() {
    let redactor = redactor();
    let digits = "a1B2".repeat(8);
    let key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----";
    for (text, shown) in [
        (format!("a = {CANARY};"), "a = [masked];".to_owned()),
        ("t configured-canary voice-canary-9".to_owned(), "t [masked] [masked]".to_owned()),
        (format!("key sk-{digits} end"), "key [masked] end".to_owned()),
        ("AKIAIOSFODNN7EXAMPLE".to_owned(), "[masked]".to_owned()),
        (format!("/v1/pts_{digits}-_{digits}?x"), "/v1/[masked]?x".to_owned()),
        (format!("x\n{key}\ny"), "x\n[masked private key]\ny".to_owned()),
        (
            format!("two {key} and {key}"),
            "two [masked private key] and [masked private key]".to_owned(),
        ),
        (
            "Authorization: Bearer abcdef123456".to_owned(),
            "Authorization: Bearer [masked]".to_owned(),
        ),
        ("postgres://me:hunter22@db/x".to_owned(), "postgres://me:[masked]@db/x".to_owned()),
        ("let sk-ip = token_count(KEY)".to_owned(), "let sk-ip = token_count(KEY)".to_owned()),
        (".sk-fading-circle-animation {".to_owned(), ".sk-fading-circle-animation {".to_owned()),
        ("SOME_VARIABLE_NAME=1".to_owned(), "SOME_VARIABLE_NAME=1".to_owned()),
        (
            "-----BEGIN CERTIFICATE-----\nMIIB\n".to_owned(),
            "-----BEGIN CERTIFICATE-----\nMIIB\n".to_owned(),
        ),
    ] {
        assert_eq!(redactor.text(&text), shown);
    }
}

#[test]
fn commands_lose_what_stands_where_secrets_stand() {
    let redactor = Redactor::by_shape();
    for (text, shown) in [
        ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: Bearer [masked]' x"),
        ("export API_KEY=abcdef && rm -r x", "export API_KEY=[masked] && rm -r x"),
        ("mysql --password hunter -e q", "mysql --password [masked] -e q"),
        ("git push https://ada:pass@host/x", "git push https://ada:[masked]@host/x"),
        ("echo pw | sudo -S rm x", "echo [masked] | sudo -S rm x"),
        ("rm -r build", "rm -r build"),
    ] {
        assert_eq!(redactor.command(text), shown);
    }
}

#[test]
fn a_private_key_is_hidden_across_the_pieces_of_a_stream() {
    let redactor = Redactor::by_shape();
    let mut state = RedactState::default();
    let pieces = [
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n",
        "abcd\n",
        "x\n-----END RSA PRIVATE KEY-----\nok\n",
    ];
    let shown: String = pieces.iter().map(|piece| redactor.piece(piece, &mut state)).collect();
    assert_eq!(shown, "[masked private key]\nok\n");
}

#[test]
fn values_inside_json_are_redacted() {
    let mut value = json!({"a": [CANARY, 1], "b": {"c": "plain"}});
    redactor().value(&mut value);
    assert_eq!(value, json!({"a": ["[masked]", 1], "b": {"c": "plain"}}));
}

#[test]
fn an_environment_dump_loses_what_its_names_give_away() {
    let dump = "HOME=/root\nMY_TOKEN=abc\ndeclare -x DB_PASSWORD=\"x\"\n";
    let expected = "HOME=/root\nMY_TOKEN=[masked]\ndeclare -x DB_PASSWORD=[masked]\n";
    assert_eq!(redact_assignments(dump), expected);
}

#[test]
fn shapes_can_be_turned_off_and_known_values_stay_hidden() {
    let values = json!({"security": {"redact_secrets": false}, "model": {"api_key": CANARY}});
    let parts =
        Parts { values: values.as_object().cloned().unwrap_or_default(), ..Parts::default() };
    let redactor = Redactor::new(&Settings::new(parts));
    let key = format!("sk-{}", "a1B2".repeat(8));
    assert_eq!(redactor.text(&format!("{CANARY} {key}")), format!("[masked] {key}"));
}

fn encoded(byte: fn(u8) -> String) -> String {
    CANARY.bytes().map(byte).collect::<Vec<_>>().concat()
}

proptest! {
    #[test]
    fn no_encoding_of_a_known_secret_passes(before in ".{0,12}", after in ".{0,12}") {
        let redactor = redactor();
        let hex = encoded(|byte| format!("{byte:02x}"));
        let percent = encoded(|byte| format!("%{byte:02X}"));
        let inside = STANDARD.encode(format!("{before}{CANARY}{after}"));
        for form in [CANARY.to_owned(), CANARY.chars().rev().collect(), hex.to_uppercase(), hex, percent] {
            let text = format!("{before}{form}{after}");
            prop_assert!(!redactor.text(&text).contains(&form), "{}", text);
        }
        let core = STANDARD.encode(CANARY);
        prop_assert!(redactor.text(&inside).contains(MARK), "{}", inside);
        prop_assert!(redactor.text(&core).contains(MARK));
    }
}
