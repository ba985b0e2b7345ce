//! What is told, what is refused, and that the words help.

use petasos_config::explain::check;
use petasos_config::{ConfigError, load};

use crate::Setting;

#[test]
fn an_unknown_key_is_told_with_the_nearest_name() {
    let setting = Setting::new().user("terminal:\n  timout: 5\nzebra: 1\nagent: {max_turn: 3}\n");
    let settings = load(&setting.inputs()).unwrap();
    let notice = |key: &str| settings.notices().iter().find(|notice| notice.key == key).unwrap();
    assert!(notice("terminal.timout").hint.contains("`terminal.timeout`"));
    assert!(notice("terminal.timout").what.contains("config.yaml:2:3"));
    assert!(notice("agent.max_turn").hint.contains("`agent.max_turns`"));
    assert!(!notice("zebra").hint.contains("did you mean"));
}

#[test]
fn a_guard_that_is_not_understood_refuses_the_start() {
    let cases = [
        ("approvals:\n  moed: off\n", "approvals.moed", "`approvals.mode`"),
        ("approvals:\n  mode: perhaps\n", "approvals.mode", "one of off, smart, manual"),
        ("approvals: yes\n", "approvals", "must be a map"),
        ("security:\n  redact: true\n", "security.redact", "security.redact_secrets"),
        ("permissions:\n  denny: []\n", "permissions.denny", "`permissions.deny`"),
        ("terminal:\n  sandbox: wrokspace\n", "terminal.sandbox", "workspace"),
        ("terminal:\n  sandbox_requires: x\n", "terminal.sandbox_requires", "sandbox_require"),
        ("terminal:\n  sandbx: workspace\n", "terminal.sandbx", "`terminal.sandbox`"),
        ("aprovals:\n  mode: manual\n", "aprovals", "`approvals`"),
        ("approvals: {mode: manual}\napprovals: {timeout: 5}\n", "approvals", "set twice"),
        ("approvals:\n  timeout: ${NOT_SET}\n", "approvals.timeout", "NOT_SET"),
    ];
    for (text, key, words) in cases {
        for setting in [Setting::new().user(text), Setting::new().project(text)] {
            let Err(ConfigError::Refused { problems }) = load(&setting.inputs()) else {
                panic!("{text:?} was taken");
            };
            assert_eq!(problems[0].key, key, "{problems:?}");
            let told = problems[0].to_string();
            assert!(told.contains(words) && told.contains("config.yaml:"), "{told}");
            let checkup = check(&setting.inputs());
            assert!(!checkup.usable && checkup.problems == problems);
        }
    }
}

#[test]
fn a_guard_in_a_variable_or_flag_must_be_right_too() {
    let setting = Setting::new().variable("TERMINAL_SANDBOX", "wrokspace");
    assert!(matches!(load(&setting.inputs()), Err(ConfigError::Refused { .. })));
    let setting = Setting::new().variable("TERMINAL_TIMEOUT", "soon");
    let settings = load(&setting.inputs()).unwrap();
    assert!(settings.notices()[0].what.contains("must be a number"));
    assert_eq!(settings.get("terminal.timeout"), None);
    let inputs = Setting::new().inputs().with_override("approvals.moed", "off", "--set");
    let error = load(&inputs).unwrap_err().to_string();
    assert!(error.contains("--set") && error.contains("approvals.mode"), "{error}");
}

#[test]
fn a_value_of_the_wrong_type_names_key_file_and_what_fits() {
    let cases = [
        ("terminal:\n  timeout: soon\n", "`terminal.timeout` must be a number, not text"),
        ("terminal:\n  timeout: [1]\n", "`terminal.timeout` must be a number, not a list"),
        ("terminal: 5\n", "`terminal` must be a map, not a number"),
        ("toolsets: [a, {b: c}]\n", "`toolsets` must be text in a list, not a map"),
        ("hooks: [a]\n", "`hooks` must be a map, not a list"),
        ("display:\n  busy_input_mode: fast\n", "one of interrupt, queue, steer"),
        ("[1, 2]\n", "the file holds a list instead of a map"),
    ];
    for (text, words) in cases {
        let error = load(&Setting::new().user(text).inputs()).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("config.yaml:"), "{text:?}: {error}");
    }
    for text in
        ["terminal: {timeout: '60'}\n", "approvals: {mode: off}\n", "model: 4.5\n", "terminal:\n"]
    {
        assert!(load(&Setting::new().user(text).inputs()).is_ok(), "{text:?}");
    }
}

#[test]
fn a_variable_that_nobody_reads_is_told() {
    let setting = Setting::new().variable("PETASOS_YOLO_MOD", "1").variable("HERMES_QQ", "1");
    let settings = load(&setting.inputs()).unwrap();
    assert_eq!(settings.notices().len(), 1, "{:?}", settings.notices());
    assert!(settings.notices()[0].hint.contains("PETASOS_YOLO_MODE"));
}

#[test]
fn a_repeated_key_is_told_and_the_later_counts() {
    let setting = Setting::new().user("agent: {max_turns: 1}\nagent: {max_turns: 2}\n");
    let settings = load(&setting.inputs()).unwrap();
    assert_eq!(settings.get("agent.max_turns"), Some(&serde_json::json!(2)));
    assert!(settings.notices()[0].what.contains("set twice"));
}
