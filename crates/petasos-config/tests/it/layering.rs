//! Which layer wins, what it is masked to, and that every loser says why.

use petasos_config::explain::{explain, get};
use petasos_config::{load, read};
use petasos_contract::settings::Source;
use serde_json::json;

use crate::Setting;

#[test]
fn nothing_at_all_is_a_configuration() {
    let setting = Setting::new();
    let inputs = petasos_config::Inputs {
        environment: std::collections::BTreeMap::default(),
        ..setting.inputs()
    };
    let settings = load(&inputs).unwrap();
    assert_eq!(settings.home(), setting.path("user/.petasos"));
    assert!(!settings.home().exists() && settings.notices().is_empty());
    let answer = get(&settings, "terminal.timeout").unwrap();
    assert_eq!((answer.value, answer.source), (json!(180), Some(Source::Default)));
    assert!(get(&settings, "model.base_url").is_none());
    assert_eq!(get(&settings, "approvals").unwrap().value["mode"], json!("manual"));
}

#[test]
fn stronger_layers_win_and_the_others_stay_in_the_stack() {
    let setting = Setting::new()
        .user("agent: {max_turns: 10}\ndisplay: {skin: user}\n")
        .project("agent: {max_turns: 5}\n")
        .dotenv("PETASOS_MAX_ITERATIONS=30\n")
        .variable("HERMES_MAX_ITERATIONS", "40");
    let inputs = setting.inputs();
    let settings = load(&inputs).unwrap();
    assert_eq!(settings.get("agent.max_turns"), Some(&json!(40)));
    let all = explain(&settings, "agent.max_turns");
    let values: Vec<_> = all.candidates.iter().map(|layer| layer.value.clone()).collect();
    assert_eq!(values, [json!(40), json!(30), json!(5), json!(10), json!(90)]);
    assert!(all.candidates[0].passed_over.is_none());
    assert!(all.candidates[1..].iter().all(|layer| layer.passed_over.is_some()));
    assert_eq!(settings.text("display.skin"), Some("user"));

    let inputs = inputs.with_override("agent.max_turns", "50", "--max-turns");
    let settings = load(&inputs).unwrap();
    assert_eq!(settings.get("agent.max_turns"), Some(&json!(50)));
    let first = &settings.explain("agent.max_turns")[0];
    assert_eq!(first.source, Source::Flag { flag: "--max-turns".to_owned() });
}

#[test]
fn our_spelling_of_a_variable_goes_before_the_old_one() {
    let setting = Setting::new()
        .variable("HERMES_MAX_ITERATIONS", "1")
        .variable("PETASOS_MAX_ITERATIONS", "2");
    assert_eq!(load(&setting.inputs()).unwrap().get("agent.max_turns"), Some(&json!(2)));
}

#[test]
fn a_terminal_section_is_authoritative_over_inherited_variables() {
    let plain = Setting::new().variable("TERMINAL_ENV", "docker").variable("TERMINAL_TIMEOUT", "5");
    let settings = load(&plain.inputs()).unwrap();
    assert_eq!(settings.text("terminal.backend"), Some("docker"));
    assert_eq!(settings.get("terminal.timeout"), Some(&json!(5)));

    let with = plain.user("terminal:\n  timeout: 7\n");
    let settings = load(&with.inputs()).unwrap();
    assert_eq!(settings.get("terminal.timeout"), Some(&json!(7)));
    assert_eq!(settings.get("terminal.backend"), None);
    let stack = explain(&settings, "terminal.backend").candidates;
    assert_eq!(stack[0].source, Source::Default);
    assert!(stack[1].passed_over.as_deref().unwrap().contains("`terminal` section"));
    let told: Vec<_> = settings.notices().iter().map(|notice| notice.key.as_str()).collect();
    assert_eq!(told, ["terminal.timeout", "terminal.backend"], "what is not heard is told");

    // A project has no say over the user's variables.
    let project =
        Setting::new().project("terminal: {timeout: 9}\n").variable("TERMINAL_SANDBOX", "readonly");
    let settings = load(&project.inputs()).unwrap();
    assert_eq!(settings.text("terminal.sandbox"), Some("readonly"));
    assert_eq!(settings.get("terminal.timeout"), Some(&json!(9)));
}

#[test]
fn a_project_tightens_and_what_it_loosens_is_told() {
    let setting = Setting::new()
        .user("approvals: {mode: smart, deny: [a]}\n")
        .project(
            "approvals: {mode: off, timeout: 30, deny: [b]}\ncommand_allowlist: [x]\n\
             model: {default: m, base_url: https://elsewhere.test}\nmcp_servers: {s: {command: sh}}\n",
        );
    let settings = load(&setting.inputs()).unwrap();
    assert_eq!(settings.text("approvals.mode"), Some("smart"));
    assert_eq!(settings.get("approvals.timeout"), Some(&json!(30)));
    assert_eq!(settings.get("approvals.deny"), Some(&json!(["a", "b"])));
    assert_eq!(settings.text("model.default"), Some("m"));
    for ignored in ["command_allowlist", "model.base_url", "mcp_servers.s.command"] {
        assert_eq!(settings.get(ignored), None, "{ignored}");
        assert!(settings.notices().iter().any(|notice| notice.key == ignored), "{ignored}");
    }
    assert!(settings.notices().iter().any(|notice| notice.key == "approvals.mode"));
}

#[test]
fn a_line_in_dotenv_beats_a_stale_export_for_credentials_only() {
    let setting = Setting::new()
        .dotenv("OPENAI_API_KEY=from-file\nOPENAI_BASE_URL=https://file.test\nBOX_KEY=f\nTERMINAL_CWD=/file\n")
        .variable("OPENAI_API_KEY", "from-shell")
        .variable("OPENAI_BASE_URL", "https://shell.test")
        .variable("BOX_KEY", "s")
        .variable("TERMINAL_CWD", "/shell");
    let settings = load(&setting.inputs()).unwrap();
    let held = |name: &str| settings.variable(name).unwrap().value.expose().to_owned();
    assert_eq!(held("OPENAI_API_KEY"), "from-file");
    assert_eq!(held("OPENAI_BASE_URL"), "https://file.test");
    assert_eq!(held("BOX_KEY"), "f");
    assert_eq!(held("TERMINAL_CWD"), "/shell");
    assert_eq!(settings.text("terminal.cwd"), Some("/shell"));
    let shown = serde_json::to_string(&explain(&settings, "OPENAI_API_KEY")).unwrap();
    assert!(!shown.contains("from-file") && shown.contains("••••"), "{shown}");
}

#[test]
fn references_are_filled_in_and_secrets_never_shown() {
    let setting = Setting::new()
        .user(
            "model: {base_url: 'https://${HOST}/v1', api_key: '${BOX_TOKEN}'}\n\
             providers: {box: {api_key: sk-inline-0123456789, extra_body: {note: '${BOX_TOKEN}'}}}\n\
             custom_providers: [{name: b, api_key: sk-listed-0123456789}]\n\
             display: {skin: '${NOPE}'}\n",
        )
        .dotenv("BOX_TOKEN=tok-0123456789abcdef\nHOST=box.test\n");
    let settings = load(&setting.inputs()).unwrap();
    assert_eq!(settings.text("model.base_url"), Some("https://box.test/v1"));
    assert_eq!(settings.text("model.api_key"), Some("tok-0123456789abcdef"));
    assert_eq!(settings.text("display.skin"), Some("${NOPE}"));
    assert!(settings.notices().iter().any(|notice| notice.what.contains("${NOPE}")));
    let shown = serde_json::to_string(settings.sources()).unwrap();
    for secret in ["0123456789abcdef", "inline-0123456789", "listed-0123456789"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    for key in ["model", "providers", "custom_providers", "model.api_key"] {
        let shown = serde_json::to_string(&get(&settings, key)).unwrap();
        assert!(shown.contains("••••") && !shown.contains("0123456789a"), "{key}: {shown}");
    }
}

#[test]
fn a_bare_model_and_a_bare_tool_search_mean_their_main_key() {
    let setting = Setting::new().user("model: gpt-5\ntools: {tool_search: true}\n");
    let settings = load(&setting.inputs()).unwrap();
    assert_eq!(settings.text("model.default"), Some("gpt-5"));
    assert_eq!(settings.text("tools.tool_search.enabled"), Some("auto"));
}

#[test]
fn side_task_variables_set_their_keys_but_never_a_secret() {
    let setting = Setting::new()
        .variable("AUXILIARY_VISION_MODEL", "m")
        .variable("AUXILIARY_VISION_API_KEY", "sk-0123456789")
        .variable("AUXILIARY_VISOIN_MODEL", "m");
    let settings = load(&setting.inputs()).unwrap();
    assert_eq!(settings.text("auxiliary.vision.model"), Some("m"));
    assert_eq!(settings.get("auxiliary.vision.api_key"), None);
    assert!(settings.variable("AUXILIARY_VISION_API_KEY").is_some());
    assert!(settings.notices().iter().any(|notice| notice.key == "AUXILIARY_VISOIN_MODEL"));
}

#[test]
fn a_word_in_one_layer_and_a_map_in_another_give_the_stronger_one() {
    let setting = Setting::new()
        .user("display: {tool_progress: {cli: all}}\n")
        .project("display: {tool_progress: off}\n");
    let settings = load(&setting.inputs()).unwrap();
    assert_eq!(settings.get("display.tool_progress"), Some(&json!(false)));
    assert!(settings.explain("display.tool_progress.cli")[0].passed_over.is_some());
}

#[test]
fn the_users_own_home_is_no_project() {
    let setting = Setting::new().project("agent: {max_turns: 3}\n");
    let inputs = setting.inputs();
    assert!(load(&inputs).unwrap().get("agent.max_turns").is_some());
    let at_home = petasos_config::Inputs { user_home: Some(setting.path("work")), ..inputs };
    assert!(load(&at_home).unwrap().get("agent.max_turns").is_none());
}

#[test]
fn the_process_is_captured_once_and_whole() {
    let inputs = petasos_config::Inputs::from_process();
    assert!(inputs.environment.contains_key("PATH"));
    assert!(inputs.cwd.is_absolute() && inputs.overrides.is_empty());
}

#[test]
fn the_typical_file_has_nothing_wrong() {
    let text = include_str!("typical.yaml");
    let setting = Setting::new().user(text).variable("LINEAR_TOKEN_FOR_TESTS", "lin_0123456789");
    let reading = read(&setting.inputs()).unwrap();
    assert_eq!(reading.problems, []);
    let later: Vec<_> = reading.settings.notices().iter().map(|it| it.key.as_str()).collect();
    assert!(later.is_empty(), "{later:?}");
    let top: Vec<_> = reading.settings.values().keys().take(3).map(String::as_str).collect();
    assert_eq!(top, ["model", "fallback_providers", "providers"]);
}
