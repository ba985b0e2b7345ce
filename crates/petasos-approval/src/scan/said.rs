//! What a scanner said: an exit code, and perhaps a report in JSON that names its rules.

use petasos_contract::approval::{Finding, Scope};
use serde_json::Value;

use super::Outcome;
use crate::policy::layers::finding;

/// A sentence for people; a scanner may quote the whole command.
const WORDS_MAX: usize = 300;

const RULE_MAX: usize = 64;

/// An answer.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) outcome: Outcome,
    pub(super) findings: Vec<Finding>,
}

/// Reads an answer. The code alone decides; a report that cannot be read takes nothing away.
pub(super) fn read(code: i32, printed: &[u8]) -> Result<Said, String> {
    let outcome = match code {
        0 => return Ok(Said { outcome: Outcome::Allow, findings: Vec::new() }),
        1 => Outcome::Block,
        // 3 is a warning that wants to be acknowledged, which is what asking is.
        2 | 3 => Outcome::Warn,
        other => return Err(format!("it ended with code {other}")),
    };
    let (does, whole) = match outcome {
        Outcome::Block => ("would block it", "block"),
        _ => ("warns", "warn"),
    };
    let report: Value = serde_json::from_slice(printed).unwrap_or_default();
    let mut findings: Vec<Finding> = Vec::new();
    for entry in report.get("findings").and_then(Value::as_array).into_iter().flatten() {
        let Some((rule, words)) = named(entry) else { continue };
        let key = format!("tirith:{}", if rule.is_empty() { whole } else { &rule });
        if findings.iter().all(|known| *known.key != key) {
            findings.push(finding(key, format!("the scanner {does}: {words}"), Scope::Session));
        }
    }
    if findings.is_empty() {
        let why = format!("the scanner {does}");
        findings.push(finding(format!("tirith:{whole}"), why, Scope::Session));
    }
    Ok(Said { outcome, findings })
}

/// The rule of one entry, if it has one, and what it says; nothing for a mere remark.
fn named(entry: &Value) -> Option<(String, String)> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("severity").eq_ignore_ascii_case("info") {
        return None;
    }
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "_-.:".contains(*letter);
    let rule: String = text("rule_id").chars().filter(is_plain).take(RULE_MAX).collect();
    let words = [text("title"), text("description")];
    let words = words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(": ");
    let shown: String =
        words.chars().filter(|letter| !letter.is_control()).take(WORDS_MAX).collect();
    let shown = if shown.is_empty() { rule.clone() } else { shown };
    Some((rule, shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(code: i32, printed: &str) -> Vec<String> {
        let said = read(code, printed.as_bytes()).unwrap();
        said.findings.iter().map(|finding| finding.key.to_string()).collect()
    }

    #[test]
    fn the_code_decides_and_the_report_names_rules() {
        let report = r#"{"findings": [
            {"rule_id": "curl_pipe_shell", "severity": "HIGH", "title": "Pipe", "description": "d"},
            {"rule_id": "curl_pipe_shell", "severity": "HIGH"},
            {"rule_id": "remark", "severity": "INFO"},
            {"rule_id": "odd\u001b[1m rule"},
            {"title": "without a name"}
        ]}"#;
        let rules = ["tirith:curl_pipe_shell", "tirith:odd1mrule"];
        assert_eq!(keys(1, report), [rules[0], rules[1], "tirith:block"]);
        assert_eq!(keys(2, report), [rules[0], rules[1], "tirith:warn"]);
        assert!(keys(0, report).is_empty());
        assert!(read(101, report.as_bytes()).is_err());
    }

    #[test]
    fn a_report_that_cannot_be_read_takes_nothing_away() {
        for printed in ["", "no json", "[]", r#"{"findings": 3}"#, r#"{"findings": [{}]}"#] {
            assert_eq!(keys(1, printed), ["tirith:block"], "{printed}");
            assert_eq!(keys(2, printed), ["tirith:warn"], "{printed}");
        }
    }
}
