//! `petasos demo`: works on a bare machine and leaves nothing behind.

use petasos_testkit::Home;

use crate::petasos;

#[test]
fn the_tour_runs_without_any_key_and_touches_no_home() {
    let home = Home::temp();
    let finished = petasos(&home).run(&["demo"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("TODO: fade out"));
    assert!(finished.stdout.contains("did_you_mean"));
    assert!(finished.stdout.contains("approval needed"), "{}", finished.stdout);
    assert!(finished.stdout.contains("Last time we wrote"), "{}", finished.stdout);
    assert!(!home.agent().exists());
}
