//! The stand-ins for hosted sandboxes, and what those sandboxes cannot do.

use serde_json::Value;

use crate::stage::Stage;

/// The sandbox ends with the program, and its jobs with it.
pub(crate) const DETACH: (&str, &str) =
    ("a job is found again by its handle", "a sandbox is let go of at the end, with its jobs");

/// A stage on a stand-in, or a word on why the test does not run.
#[expect(clippy::disallowed_methods, reason = "the services tell their addresses by variables")]
pub(crate) fn stand_in(
    test: &str,
    service: &str,
    terminal: &Value,
    names: &[&str],
) -> Option<Stage> {
    let mut stage = Stage::with(terminal);
    for name in names {
        let told = format!("PETASOS_TEST_{}_{name}", service.to_uppercase());
        let Ok(value) = std::env::var(&told) else {
            petasos_testkit::skip(test, service, &format!("{told} is not set"));
            return None;
        };
        stage.variable(name, &value);
    }
    Some(stage)
}
