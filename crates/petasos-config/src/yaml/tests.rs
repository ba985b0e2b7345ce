//! What the reader takes, and what it refuses with a place.

use super::*;

fn value(text: &str) -> Value {
    parse(text).unwrap().root.map_or(Value::Null, |root| root.value())
}

#[test]
fn ordinary_documents_become_trees() {
    let cases = [
        ("", serde_json::json!(null)),
        ("# only a comment\n", serde_json::json!(null)),
        ("---\na: 1\n...\n", serde_json::json!({"a": 1})),
        (
            "a: {b: [1, 'x']}\r\nc: |\r\n  text\r\n",
            serde_json::json!({"a": {"b": [1, "x"]}, "c": "text\n"}),
        ),
        (
            "a: &x {k: 1}\nb:\n  <<: *x\n  j: 2\n",
            serde_json::json!({"a": {"k": 1}, "b": {"j": 2, "k": 1}}),
        ),
        ("a: !!str 12\n", serde_json::json!({"a": "12"})),
        ("a:\n- b\n- c:\n    d\n", serde_json::json!({"a": ["b", {"c": "d"}]})),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text:?}");
    }
}

#[test]
fn a_repeated_key_counts_once_and_is_reported() {
    let document = parse("a:\n  b: 1\n  b: 2\n").unwrap();
    assert_eq!(document.repeated.len(), 1);
    assert_eq!(document.repeated[0].key, "a.b");
    assert_eq!(document.repeated[0].at, Position { line: 3, column: 3 });
    assert_eq!(value("a:\n  b: 1\n  b: 2\n"), serde_json::json!({"a": {"b": 2}}));
}

#[test]
fn a_fault_has_a_place() {
    let bomb = (0..20).fold("a0: &a0 [x, x, x, x]\n".to_owned(), |text, n| {
        format!("{text}a{}: &a{} [*a{n}, *a{n}, *a{n}, *a{n}]\n", n + 1, n + 1)
    });
    let deep = format!("a: {}{}", "[".repeat(200), "]".repeat(200));
    let cases: [(&str, &str); 6] = [
        ("a: [1, 2\n", "not valid YAML"),
        ("a: 1\n\tb: 2\n", "not valid YAML"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("? [1, 2]\n: x\n", "a key must be"),
        (&bomb, "more than 100000"),
        (&deep, ""),
    ];
    for (text, problem) in cases {
        let fault = parse(text).unwrap_err();
        assert!(fault.problem.contains(problem), "{fault:?}");
        assert!(fault.at.line >= 1, "{fault:?}");
    }
}

#[test]
fn a_snippet_points_at_the_column() {
    assert_eq!(snippet("a: 1\nb: [\n", Position { line: 2, column: 4 }), "2 | b: [\n  |    ^");
}
