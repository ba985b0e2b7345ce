//! The conformance vectors that concern judging.

use petasos_analysis::{Facts, Verdict, judge_command};

fn verdict(command: &str) -> Verdict {
    judge_command(command, &Facts::default()).verdict
}

fn has_rule(command: &str, key: &str) -> bool {
    judge_command(command, &Facts::default()).findings.iter().any(|finding| finding.rule == key)
}

#[test]
fn v22_root_deletion_is_hardline() {
    assert_eq!(verdict("rm -rf /"), Verdict::Block);
}

#[test]
fn v24_split_names_are_recursive_deletes() {
    for command in [
        "r\\m -rf x",
        "r''m -rf x",
        "$(echo rm) -rf x",
        "${X:-rm} -rf x",
        "rm${IFS}-rf${IFS}x",
        "\u{ff52}\u{ff4d} -rf x",
    ] {
        assert!(has_rule(command, "recursive delete"), "{command}");
        assert_eq!(verdict(command), Verdict::Ask, "{command}");
    }
}

#[test]
fn v25_power_commands_are_hardline_and_their_names_are_not() {
    assert_eq!(verdict("(reboot)"), Verdict::Block);
    assert_eq!(verdict("bash -c \"reboot\""), Verdict::Block);
    assert_eq!(verdict("echo reboot"), Verdict::Allow);
}

#[test]
fn v26_writing_keys_asks_and_reading_settings_does_not() {
    assert_eq!(verdict("cp k ~/.ssh/authorized_keys"), Verdict::Ask);
    assert_eq!(verdict("cp ~/.ssh/config /tmp"), Verdict::Allow);
}

#[test]
fn v29_an_allowed_leaf_does_not_hide_another() {
    assert!(has_rule("podman ps; rm -r x", "recursive delete"));
}

#[test]
fn option_letters_keep_their_case() {
    assert_eq!(verdict("kill -1 1234"), Verdict::Allow);
    assert_eq!(verdict("kill -9 1234"), Verdict::Allow);
    assert!(
        !has_rule("sudo -s", "sudo with stdin or askpass") || verdict("sudo -s") == Verdict::Ask
    );
}

#[test]
fn a_prefix_assignment_holds_for_its_own_command_only() {
    assert_eq!(verdict("HOME=/tmp/x true; rm -rf \"$HOME\""), Verdict::Block);
    assert_eq!(verdict("rm -rf \"$VAR\"/*"), Verdict::Ask);
    assert_eq!(verdict("VAR=; rm -rf \"$VAR\"/*"), Verdict::Block);
}

#[test]
fn a_throw_away_container_softens_what_would_be_blocked() {
    assert_eq!(verdict("docker run --rm alpine rm -rf /"), Verdict::Ask);
    assert_eq!(verdict("docker run --rm -v /:/host alpine rm -rf /"), Verdict::Block);
    assert_eq!(verdict("docker exec web rm -rf /"), Verdict::Block);
}
