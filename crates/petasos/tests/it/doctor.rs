//! `petasos doctor`: true about good and bad homes.

use petasos_testkit::Home;

use crate::petasos;

#[test]
fn a_fresh_machine_is_healthy() {
    let finished = petasos(&Home::temp()).run(&["doctor", "--json"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    assert_eq!(finished.json()["healthy"], true);
}

#[test]
fn the_configured_place_is_tried_from_start_to_end() {
    let told = petasos(&Home::temp()).run(&["doctor", "--json"]).json();
    let findings = told["findings"].as_array().expect("findings");
    let tried = findings.iter().find(|finding| finding["part"] == "backend").expect("a trial");
    let what = tried["what"].as_str().expect("words");
    for word in ["local: start", "command", "file", "clean up"] {
        assert!(what.contains(word), "{word}: {what}");
    }
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_one() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "terminal:\n  timeuot: 3\n");
    let finished = petasos(&home).run(&["doctor"]);
    assert_eq!(finished.code, Some(0));
    assert!(finished.stdout.contains("timeuot"), "{}", finished.stdout);
    assert!(finished.stdout.contains("terminal.timeout"), "{}", finished.stdout);
}

#[test]
fn a_security_key_that_nobody_reads_refuses_to_start() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "approvals:\n  mdoe: manual\n");
    let finished = petasos(&home).run(&["doctor", "--json"]);
    assert_eq!(finished.code, Some(1));
    assert_eq!(finished.json()["healthy"], false);
    assert_eq!(petasos(&home).run(&["tools", "list"]).code, Some(1));
}
