//! Findings point into the text the user typed.

use petasos_analysis::{Facts, judge_command};

fn pointed_at(command: &str) -> String {
    let judgement = judge_command(command, &Facts::default());
    judgement.findings[0].span.of(command).unwrap_or_default().to_owned()
}

#[test]
fn a_finding_points_at_what_is_deleted() {
    assert_eq!(pointed_at("ls && rm -rf build"), "build");
    assert_eq!(pointed_at("bash -c 'ls; rm -rf build'"), "build");
    assert_eq!(pointed_at("echo hi; git push --force; ls"), "git push --force");
}

#[test]
fn a_finding_in_cleaned_text_points_into_the_original() {
    assert_eq!(pointed_at("\u{1b}[31mls\u{1b}[0m; rm -rf build"), "\u{1b}[31mls");
    assert_eq!(pointed_at("echo \u{1b}[31mhi; rm -rf build"), "build");
}
