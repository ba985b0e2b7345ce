//! Which results count as failures, row by row.

use crate::dispatch::{Failure, failure};

#[test]
fn results_are_classified_in_order() {
    let fails = Some(Failure::Plain);
    let table = [
        ("any", "", None),
        ("write_file", r#"{"bytes_written": 3, "warning": "\"error\" in the file"}"#, None),
        ("write_file", r#"{"bytes_written": 3, "error": "disk full"}"#, fails),
        ("patch", r#"{"success": true, "error": "lint failed"}"#, None),
        ("patch", r#"{"success": false, "error": "no match"}"#, fails),
        ("terminal", r#"{"output": "", "exit_code": 1}"#, fails),
        ("terminal", r#"{"output": "\"error\"", "exit_code": 0, "error": null}"#, None),
        ("terminal", r#"{"error": "no such backend"}"#, None),
        ("terminal", "Error: plain text", None),
        ("memory", r#"{"success": false, "error": "would exceed the limit"}"#, Some(Failure::Full)),
        ("memory", r#"{"success": false, "error": "no such entry"}"#, fails),
        ("any", r#"{"error": "boom"}"#, fails),
        ("any", r#"{"success": false, "message": "boom"}"#, fails),
        ("any", r#"{"success": true, "message": "done"}"#, None),
        ("any", r#"{"message": "done"}"#, None),
        ("any", r#"{"error": null, "ok": true}"#, None),
        ("any", r#"{"status": "failed"}"#, fails),
        ("any", r#"{"results": [{"Error": "x"}]}"#, fails),
        ("any", r#"{"results": [{"error": null}, {"error" : null}]}"#, None),
        ("any", "Error: nothing there", fails),
        ("any", "an Error further in", None),
        ("any", r#"text with "FAILED" in it"#, fails),
        ("any", "a plain text", None),
    ];
    for (tool, result, wanted) in table {
        assert_eq!(failure(tool, result), wanted, "{tool}: {result}");
    }
}

#[test]
fn only_the_beginning_of_a_text_is_judged() {
    let early = format!("{}\"error\"", "é".repeat(490));
    let late = format!("{}\"error\"", "é".repeat(500));
    assert_eq!(failure("any", &early), Some(Failure::Plain));
    assert_eq!(failure("any", &late), None);
}
