//! Rows of the provider table, in a file of their own or in config.yaml.

use petasos_config::{explain, load, read};
use serde_json::json;

use crate::Setting;

const ACME: &str = "\
version: 1
providers:
  - id: acme
    base_url: https://api.acme.test/v1
    key_env: ACME_KEY
    key_hosts: [api.acme.test]
    headers: {x-team: blue}
";

#[test]
fn a_file_of_rows_becomes_a_setting_with_its_source() {
    let (_, bare) = ACME.split_once("providers:\n").unwrap();
    for text in [ACME, bare] {
        let setting = Setting::new().put("home/providers.yaml", text.as_bytes());
        let settings = load(&setting.inputs()).unwrap();
        let rows = settings.get("provider_rows").unwrap();
        assert_eq!(rows[0]["id"], "acme");
        assert_eq!(rows[0]["key_env"], json!(["ACME_KEY"]), "one name stands for a list of one");
        let answer = explain::get(&settings, "provider_rows").unwrap();
        let source = answer.source.unwrap().to_string();
        assert!(source.contains("providers.yaml"), "{source}");
        assert!(settings.notices().is_empty(), "{:?}", settings.notices());
    }
}

#[test]
fn a_row_that_is_not_one_refuses_the_start_and_names_the_place() {
    let cases = [
        ("- id: acme\n  key_hostz: [a.test]\n", "did you mean `key_hosts`?"),
        ("- base_url: https://a.test\n", "a row has no `id`"),
        ("- id: acme\n  aggregator: perhaps\n", "must be true or false"),
        ("- id: acme\n  api_mode: morse\n", "must be one of chat_completions"),
        ("- id: acme\n  headers: {a: [1]}\n", "a map of texts"),
        ("- just text\n", "a map with an `id`"),
        ("rows: []\n", "below `providers:`"),
        ("providers: 7\n", "a list of rows"),
    ];
    for (text, words) in cases {
        let setting = Setting::new().put("home/providers.yaml", text.as_bytes());
        let error = load(&setting.inputs()).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("providers.yaml:"), "{text}: {error}");
        let config =
            format!("provider_rows:\n{}", text.replace("- ", "  - ").replace("\n  k", "\n    k"));
        if text.starts_with("- id: acme\n  key") {
            let error = load(&Setting::new().user(&config).inputs()).unwrap_err().to_string();
            assert!(error.contains(words), "{config}: {error}");
        }
    }
}

#[test]
fn rows_in_config_yaml_go_first_and_the_other_file_is_told_of() {
    let setting = Setting::new()
        .user("provider_rows:\n  - id: mine\n")
        .put("home/providers.yaml", ACME.as_bytes());
    let reading = read(&setting.inputs()).unwrap();
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    assert_eq!(reading.settings.get("provider_rows").unwrap()[0]["id"], "mine");
    let told =
        reading.settings.notices().iter().any(|notice| notice.what.contains("has no effect"));
    assert!(told, "{:?}", reading.settings.notices());
}

#[test]
fn a_project_adds_no_provider() {
    let setting = Setting::new().project("provider_rows:\n  - id: acme\n");
    assert_eq!(load(&setting.inputs()).unwrap().get("provider_rows"), None);
}
