//! Every awkward layout we know, and that everything but the change stays as it was.

use super::*;
use serde_json::json;

fn edited(text: &str, key: &str, change: &Change<'_>) -> Result<String, ConfigError> {
    let path = names(key);
    Ok(changed(text, Path::new("config.yaml"), &path, change)?.unwrap_or_else(|| text.to_owned()))
}

#[test]
fn a_text_joins_a_list_in_every_layout() {
    let key = "command_allowlist";
    let cases = [
        ("", "command_allowlist:\n  - new\n"),
        ("# only a comment\n", "# only a comment\ncommand_allowlist:\n  - new\n"),
        ("# no newline", "# no newline\ncommand_allowlist:\n  - new\n"),
        ("---\n", "---\ncommand_allowlist:\n  - new\n"),
        ("a: 1", "a: 1\ncommand_allowlist:\n  - new\n"),
        ("a: 1\r\n", "a: 1\r\ncommand_allowlist:\r\n  - new\r\n"),
        ("command_allowlist:\n- a\n# tail\n", "command_allowlist:\n- a\n- new\n# tail\n"),
        (
            "command_allowlist:\n  - a # why\n  - \"b\"\nz: 1\n",
            "command_allowlist:\n  - a # why\n  - \"b\"\n  - new\nz: 1\n",
        ),
        ("command_allowlist:\n  - a", "command_allowlist:\n  - a\n  - new\n"),
        ("command_allowlist: [a, 'b']  # flow\n", "command_allowlist: [a, 'b', new]  # flow\n"),
        (
            "command_allowlist: [\n  a,\n  b, # b\n]\n",
            "command_allowlist: [\n  a,\n  b, new, # b\n]\n",
        ),
        ("command_allowlist: []  # none\nz: 1\n", "command_allowlist:  # none\n  - new\nz: 1\n"),
        ("command_allowlist:\nz: 1\n", "command_allowlist:\n  - new\nz: 1\n"),
        ("command_allowlist: # soon\nz: 1\n", "command_allowlist: # soon\n  - new\nz: 1\n"),
        ("command_allowlist: ~\n", "command_allowlist:\n  - new\n"),
        ("command_allowlist: null # x\n", "command_allowlist: # x\n  - new\n"),
        ("command_allowlist: one\n", "command_allowlist:\n  - one\n  - new\n"),
        ("command_allowlist: &x\n  - a\nother: *x\n", ""),
        ("b: &x [a]\ncommand_allowlist: *x\n", ""),
        ("{a: 1, command_allowlist: [b]}\n", "{a: 1, command_allowlist: [b, new]}\n"),
        ("{a: 1}\n", "{a: 1, command_allowlist: [new]}\n"),
        (
            "command_allowlist:\n  - |\n    long\n    text\nz: 1\n",
            "command_allowlist:\n  - |\n    long\n    text\n  - new\nz: 1\n",
        ),
        ("command_allowlist:\n  - new\n", "command_allowlist:\n  - new\n"),
        ("a: |\n  text\n", "a: |\n  text\ncommand_allowlist:\n  - new\n"),
        ("a:\n  b:\n\n# tail\n", "a:\n  b:\ncommand_allowlist:\n  - new\n\n# tail\n"),
    ];
    for (before, after) in cases {
        match edited(before, key, &Change::Append("new")) {
            Ok(text) => assert_eq!(text, after, "{before:?}"),
            Err(error) => {
                assert_eq!(after, "", "{before:?}: {error}");
                assert!(error.to_string().contains("- new"), "{error}");
            }
        }
    }
}

#[test]
fn a_word_is_quoted_when_somebody_could_misread_it() {
    for word in [
        "y",
        "no",
        "12:30",
        "010",
        "null",
        "a: b",
        "- x",
        "#",
        "",
        "é\u{2028}",
        "'\"\\",
        "%a",
        "@b",
        "*",
        "a\nb\0\u{7f}",
    ] {
        let text = edited("", "command_allowlist", &Change::Append(word)).unwrap();
        let read = crate::yaml::parse(&text).unwrap().root.unwrap().value();
        assert_eq!(read, json!({"command_allowlist": [word]}), "{text}");
        let back: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(back, json!({"command_allowlist": [word]}), "{text}");
    }
}

#[test]
fn a_key_is_set_in_every_layout() {
    let cases = [
        ("", "terminal.timeout", json!(60), "terminal:\n  timeout: 60\n"),
        (
            "terminal:\n  timeout: 30 # s\n",
            "terminal.timeout",
            json!(60),
            "terminal:\n  timeout: 60 # s\n",
        ),
        (
            "terminal:\n    cwd: .\nz: 1\n",
            "terminal.timeout",
            json!(60),
            "terminal:\n    cwd: .\n    timeout: 60\nz: 1\n",
        ),
        (
            "terminal:\n# later\nz: 1\n",
            "terminal.timeout",
            json!(60),
            "terminal:\n  timeout: 60\n# later\nz: 1\n",
        ),
        (
            "terminal: {cwd: .}\n",
            "terminal.timeout",
            json!(60),
            "terminal: {cwd: ., timeout: 60}\n",
        ),
        ("terminal: {}\n", "terminal.timeout", json!(60), "terminal: {timeout: 60}\n"),
        (
            "model: gpt # mine\n",
            "model.provider",
            json!("openai"),
            "model: # mine\n  default: gpt\n  provider: openai\n",
        ),
        (
            "a: &x {k: 1}\nb:\n  <<: *x\n  j: 2\n",
            "b.k",
            json!(5),
            "a: &x {k: 1}\nb:\n  <<: *x\n  j: 2\n  k: 5\n",
        ),
        ("toolsets:\n  - a\n  - b # c\nz: 1\n", "toolsets", json!("x"), "toolsets: x\nz: 1\n"),
        (
            "toolsets:\n- a\nz: 1\n",
            "toolsets",
            json!(["x", "z"]),
            "toolsets:\n  - x\n  - z\nz: 1\n",
        ),
        ("t: |\n  one\n  two\nz: 1\n", "t", json!("x"), "t: x\nz: 1\n"),
        ("s:\n  t: |\n    one\n  u: # stays\n", "s.t", json!(0), "s:\n  t: 0\n  u: # stays\n"),
        ("t: \"a\n  b\"\nz: 1\n", "t", json!("x"), "t: x\nz: 1\n"),
        (
            "a: 1\n",
            "m",
            json!({"k": [1, {"x": true}], "e": {}}),
            "a: 1\nm:\n  k:\n    - 1\n    - {x: true}\n  e: {}\n",
        ),
        ("\"quoted key\": 1\n", "quoted key", json!(2), "\"quoted key\": 2\n"),
        ("a:\n", "a", json!(2.5e30), "a: 2.5e+30\n"),
        ("p:\n  gpt-4.1: 1\n", "p.gpt-4\\.1", json!(2), "p:\n  gpt-4.1: 2\n"),
    ];
    for (before, key, value, after) in cases {
        let text = edited(before, key, &Change::Set(&value)).unwrap();
        assert_eq!(text, after, "{before:?} {key}");
    }
}

#[test]
fn keys_and_items_go_without_a_trace() {
    let unset = [
        ("a: 1\nb: 2 # c\nc: 3\n", "b", "a: 1\nc: 3\n"),
        ("a:\n  b:\n    - 1\n    - 2\n  # stays\n  c: 3\n", "a.b", "a:\n  # stays\n  c: 3\n"),
        ("{a: 1, b: 2, c: 3}\n", "b", "{a: 1, c: 3}\n"),
        ("{a: 1, b: 2}\n", "a", "{b: 2}\n"),
        ("a: 1\n", "a", ""),
        ("a: 1\n", "nope.x", "a: 1\n"),
    ];
    for (before, key, after) in unset {
        assert_eq!(edited(before, key, &Change::Unset).unwrap(), after, "{before:?}");
    }
    let remove = [
        ("l:\n  - a\n  - b # c\n  - c\n", "l:\n  - a\n  - c\n"),
        ("l: [a, b, c]\n", "l: [a, c]\n"),
        ("l: [b, c]\n", "l: [c]\n"),
        ("l:\n  - b\nz: 1\n", "l: []\nz: 1\n"),
        ("l:\n  - a\n", "l:\n  - a\n"),
    ];
    for (before, after) in remove {
        assert_eq!(edited(before, "l", &Change::Remove("b")).unwrap(), after, "{before:?}");
    }
}

#[test]
fn what_cannot_be_edited_is_left_alone_and_told() {
    let cases: [(&str, &str, Change<'_>); 4] = [
        ("a: [\n", "b", Change::Unset),
        ("a: 1\n", "a.b", Change::Append("x")),
        ("command_allowlist: {a: 1}\n", "command_allowlist", Change::Append("x")),
        ("- a\n", "b", Change::Append("x")),
    ];
    for (text, key, change) in cases {
        assert!(edited(text, key, &change).is_err(), "{text:?}");
    }
    assert!(set_text(Path::new("/nonexistent"), "terminal.timout", "5").is_err());
    assert!(set_text(Path::new("/nonexistent"), "terminal.timeout", "soon").is_err());
}
