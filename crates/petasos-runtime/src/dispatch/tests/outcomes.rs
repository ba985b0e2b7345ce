//! Which results count as failures, row by row.

use petasos_contract::tool::FailureSign::{ExitCode, Full, NotMade, Usual};

use crate::dispatch::{Failure, failure};

#[test]
fn results_are_classified_in_order() {
    let fails = Some(Failure::Plain);
    let table = [
        (Usual, "", None),
        (NotMade, r#"{"bytes_written": 3, "warning": "\"error\" in the file"}"#, None),
        (NotMade, r#"{"bytes_written": 3, "error": "disk full"}"#, fails),
        (NotMade, r#"{"success": true, "error": "lint failed"}"#, None),
        (NotMade, r#"{"success": false, "error": "no match"}"#, fails),
        (ExitCode, r#"{"output": "", "exit_code": 1}"#, fails),
        (ExitCode, r#"{"output": "\"error\"", "exit_code": 0, "error": null}"#, None),
        (ExitCode, r#"{"error": "no such backend"}"#, None),
        (ExitCode, "Error: plain text", None),
        (Full, r#"{"success": false, "error": "would exceed the limit"}"#, Some(Failure::Full)),
        (Full, r#"{"success": false, "error": "no such entry"}"#, fails),
        (Usual, r#"{"error": "boom"}"#, fails),
        (Usual, r#"{"success": false, "message": "boom"}"#, fails),
        (Usual, r#"{"success": true, "message": "done"}"#, None),
        (Usual, r#"{"message": "done"}"#, None),
        (Usual, r#"{"error": null, "ok": true}"#, None),
        (Usual, r#"{"status": "failed"}"#, fails),
        (Usual, r#"{"results": [{"Error": "x"}]}"#, fails),
        (Usual, r#"{"results": [{"error": null}, {"error" : null}]}"#, None),
        (Usual, "Error: nothing there", fails),
        (Usual, "an Error further in", None),
        (Usual, r#"text with "FAILED" in it"#, fails),
        (Usual, "a plain text", None),
    ];
    for (sign, result, wanted) in table {
        assert_eq!(failure(sign, result), wanted, "{sign:?}: {result}");
    }
}

#[test]
fn only_the_beginning_of_a_text_is_judged() {
    let early = format!("{}\"error\"", "é".repeat(490));
    let late = format!("{}\"error\"", "é".repeat(500));
    assert_eq!(failure(Usual, &early), Some(Failure::Plain));
    assert_eq!(failure(Usual, &late), None);
}
