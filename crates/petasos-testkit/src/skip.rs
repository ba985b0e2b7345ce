//! Says that a test did not run, and why.

use std::io::Write as _;

/// Prints the reason and tells `scripts/test`, which fails on it where the component must be there.
#[expect(clippy::print_stderr, reason = "a skipped test says so to whoever reads its output")]
#[expect(clippy::disallowed_methods, reason = "the harness names its log in a variable")]
pub fn skip(test: &str, component: &str, reason: &str) {
    let line = format!("SKIP {test}: {component}: {reason}");
    eprintln!("{line}");
    let Some(log) = std::env::var_os("PETASOS_SKIP_LOG") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(log);
    if let Err(error) = file.and_then(|mut file| writeln!(file, "{line}")) {
        eprintln!("the skip could not be noted: {error}");
    }
}
